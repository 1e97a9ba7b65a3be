#include "store/blocks/object_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ers/inline_limit.h"
#include "ers/options.h"
#include "store/membership/view_checks.h"

namespace ers::store {
namespace {

using layout::BlockId;

// An item is its value, its key (60 bytes) and memcached's header (under 100),
// and must stay within the item limit with room to spare.
constexpr std::size_t kItemOverhead = 512;

std::size_t SmallestItemLimit(Session& session) {
  std::size_t limit = kMaxGroupBytes;
  for (int i = 0; i < session.members(); ++i) {
    const net::ServerLink& link = session.link(i);
    using State = net::ServerLink::State;
    if (link.state() == State::kFailed || link.state() == State::kRefused) {
      continue;
    }
    // Before there is a connection: memcached's default, the least that most
    // servers take. A loop may have none yet when its first value comes.
    limit = std::min<std::size_t>(limit, link.facts().item_size_max);
  }
  return limit;
}

template <typename Members>
std::string DescribeSilent(Session& session, const Members& members) {
  std::string silent;
  for (const int member : members) {
    if (session.Writable(member)) continue;
    silent += (silent.empty() ? "" : "; ") + session.Describe(member);
  }
  return silent;
}

constexpr std::string_view kComeBack =
    "start what does not answer; what answers again is let in by itself, or by "
    "`ersctl rebuild`";

}  // namespace

Status CheckRedundancy(Session& session, const ObjectMap& map, int group,
                       int least) {
  const int m = map.manifest().scheme.m;
  const int may_lack = m - std::min(m, least);
  const layout::Geometry& geometry = map.geometry();
  const Width width = map.width();
  for (int stripe = 0; stripe < geometry.stripe_count(width); ++stripe) {
    int absent = 0;
    for (const BlockId block : geometry.StripeData(width, stripe)) {
      absent += map.GenerationOf(group, block) ? 0 : 1;
    }
    for (int p = 0; p < geometry.scheme().m; ++p) {
      const BlockId block = geometry.ParityId(width, stripe, p);
      absent += map.GenerationOf(group, block) ? 0 : 1;
    }
    if (absent <= may_lack) continue;
    const std::string silent = DescribeSilent(session, map.manifest().nodes);
    return {StatusCode::kUnavailable,
            fmt::format("{} blocks of a stripe have no server to go to, and "
                        "the scheme{} can do without {} ({}): {}",
                        absent, least > 0 ? ", with min_redundancy," : "",
                        may_lack, silent, kComeBack)};
  }
  return {};
}

Status CheckCopies(Session& session, std::string_view key,
                   const Scheme& scheme) {
  const std::shared_ptr<const View> view = session.view();
  const std::vector<int> walk =
      session.ring().Walk(key, view->max_failures + 1);
  const int copies =
      static_cast<int>(std::count_if(walk.begin(), walk.end(), [&](int member) {
        return view->members[member].state != MemberState::kDown;
      }));
  const int least =
      std::min(scheme.m, session.cluster().options.min_redundancy);
  if (copies > least) return {};
  return {StatusCode::kUnavailable,
          fmt::format("{} of the {} servers for a copy are left, and "
                      "min_redundancy asks for {} ({}): {}",
                      copies, walk.size(), least + 1,
                      DescribeSilent(session, walk), kComeBack)};
}

Status CheckServers(Session& session, const Scheme& scheme) {
  Status enough = CheckMemberCount(session, scheme);
  const int most = session.view()->max_failures;
  if (!enough.ok() || scheme.m <= most) return enough;
  return {StatusCode::kInvalidArgument,
          fmt::format("scheme {} has m = {}, and this cluster was set up for "
                      "at most {} (max_failures): choose a smaller m",
                      FormatScheme(scheme), scheme.m, most)};
}

namespace {

// Bytes of a full group. In columns the narrow parity columns are the largest
// items: a cell of each narrow stripe.
std::uint64_t GroupBytes(Session& session, const Scheme& scheme, Unit unit) {
  const std::size_t limit = SmallestItemLimit(session);
  const std::uint64_t item = limit - std::min(limit / 2, kItemOverhead);
  const auto cells = static_cast<std::uint64_t>(GroupDataBlocks(scheme));
  const std::uint64_t in_an_item =
      unit == Unit::kBlocks ? 1 : cells / static_cast<std::uint64_t>(scheme.k);
  return std::min<std::uint64_t>(kMaxGroupBytes, item / in_an_item * cells);
}

Unit UnitFor(Session& session, const Manifest& manifest, std::uint64_t length,
             std::size_t column_below) {
  if (column_below == 0 && manifest.unit == Unit::kColumns) {
    column_below = kMaxColumnBelow;
  }
  const Scheme& scheme = manifest.scheme;
  const bool in_columns = scheme.elastic() && length < column_below &&
                          length < GroupBytes(session, scheme, Unit::kColumns);
  return in_columns ? Unit::kColumns : Unit::kBlocks;
}

std::size_t InlineBelow(const Session& session, const Manifest& manifest,
                        Unit unit, const ClientOptions& options) {
  if (options.inline_below != kInlineAuto) return options.inline_below;
  return WorthCoding(manifest.scheme, manifest.width, unit,
                     session.view()->max_failures, manifest.key.size());
}

}  // namespace

void ChooseUnit(Session& session, Manifest& manifest, std::uint64_t length,
                std::size_t column_below) {
  const Unit unit = UnitFor(session, manifest, length, column_below);
  if (unit == manifest.unit) return;
  manifest.unit = unit;
  manifest.group_bytes = GroupBytes(session, manifest.scheme, unit);
}

Status PlaceObject(Session& session, Manifest& manifest, std::uint64_t length,
                   std::size_t column_below) {
  const Scheme& scheme = manifest.scheme;
  Status fits = CheckServers(session, scheme);
  if (!fits.ok()) return fits;
  const int needed = NodeCount(scheme);
  const std::vector<int> ring =
      session.ring().Walk(manifest.key, session.members());
  std::vector<int> walk;
  for (const int member : ring) {
    if (session.Writable(member)) walk.push_back(member);
  }
  for (const int member : ring) {
    if (static_cast<int>(walk.size()) >= needed) break;
    if (!session.Writable(member)) walk.push_back(member);
  }
  manifest.nodes.assign(walk.begin(), walk.end());
  manifest.ring = static_cast<std::uint16_t>(walk.size());
  manifest.unit = UnitFor(session, manifest, length, column_below);
  manifest.group_bytes = GroupBytes(session, scheme, manifest.unit);
  return {};
}

bool RidesInManifest(Session& session, const Manifest& manifest,
                     std::uint64_t length, const ClientOptions& options) {
  if (length == 0) return true;
  const Unit unit = UnitFor(session, manifest, length, options.column_below);
  return length < InlineBelow(session, manifest, unit, options) &&
         length + manifest.key.size() + kItemOverhead <=
             SmallestItemLimit(session);
}

std::size_t LongestChosenFor(const Session& session, const Manifest& manifest,
                             const ClientOptions& options) {
  const std::size_t columns =
      manifest.unit == Unit::kColumns ? kMaxColumnBelow : options.column_below;
  return std::max<std::size_t>(
      {1, columns, InlineBelow(session, manifest, Unit::kBlocks, options),
       InlineBelow(session, manifest, Unit::kColumns, options)});
}

}  // namespace ers::store
