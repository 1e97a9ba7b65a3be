#include "store/format/view.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "ers/options.h"
#include "store/format/record.h"

namespace ers {

std::string_view MemberStateName(MemberState state) {
  switch (state) {
    case MemberState::kInSync:
      return "in_sync";
    case MemberState::kBackfilling:
      return "backfilling";
    case MemberState::kDown:
      return "down";
  }
  return "unknown";
}

}  // namespace ers

namespace ers::store {
namespace {

using nlohmann::json;

constexpr std::uint64_t kFormat = 6;
// Of a view whose keys lie otherwise than by libmemcached's ketama.
constexpr std::uint64_t kPlacedFormat = 7;

bool IsPlaced(const View& view) {
  return view.placement != net::Placement() ||
         std::any_of(
             view.members.begin(), view.members.end(),
             [](const Member& member) { return !member.label.empty(); });
}

Result<MemberState> ParseState(const std::string& text) {
  for (const MemberState state :
       {MemberState::kInSync, MemberState::kBackfilling, MemberState::kDown}) {
    if (text == MemberStateName(state)) return state;
  }
  return Fail(StatusCode::kCorruption, "unknown member state " + text);
}

json ToJson(const View& view) {
  const bool placed = IsPlaced(view);
  json members = json::array();
  for (const Member& member : view.members) {
    json& entry =
        members.emplace_back(json{{"id", members.size()},
                                  {"name", member.name},
                                  {"weight", member.weight},
                                  {"incarnation", member.incarnation},
                                  {"state", MemberStateName(member.state)},
                                  {"joined", member.joined},
                                  {"boot_mark", member.boot_mark},
                                  {"since", member.since}});
    if (placed) entry["position"] = member.position;
    if (!member.label.empty()) entry["label"] = member.label;
    if (member.lacking) entry["lacking"] = true;
    if (!member.address.empty()) entry["address"] = member.address;
    if (!member.previous.empty()) entry["previous"] = member.previous;
  }
  json root = {{"epoch", view.epoch},
               {"max_failures", view.max_failures},
               {"flushed_before", view.flushed_before},
               {"members", std::move(members)}};
  if (placed) {
    root["placement"] = {
        {"distribution", net::NameOf(view.placement.distribution)},
        {"hash", net::NameOf(view.placement.hash)},
        {"hash_tag", view.placement.hash_tag}};
  }
  if (!view.flush_at.empty()) root["flush_at"] = view.flush_at;
  if (view.flush_mark != 0) {
    root["flush_mark"] = view.flush_mark;
    root["flushes"] = view.flushes;
  }
  return root;
}

// Of a server, in the form that its name has; empty where there is none.
Result<std::string> ParseAddress(const json& entry, const char* name) {
  if (!entry.contains(name)) return std::string();
  std::string text = entry.at(name);
  const Result<net::Endpoint> endpoint = net::ParseEndpoint(text + ":1");
  if (endpoint && endpoint->name() == text) return text;
  return Fail(StatusCode::kCorruption, "the view record names no server");
}

// What another distribution than libmemcached's needs.
Status ReadPlacement(const json& root, View& view) {
  if (!root.contains("placement")) return {};
  const json& entry = root.at("placement");
  const bool has_hash =
      entry.at("distribution") != net::NameOf(net::Distribution::kCh3);
  const std::string distribution = entry.at("distribution");
  const std::string hash = entry.at("hash");
  const std::string hash_tag = entry.at("hash_tag");
  Result<net::Placement> placement =
      net::ParsePlacement(distribution, has_hash ? hash : "", hash_tag);
  if (!placement) return {StatusCode::kCorruption, placement.error().message()};
  view.placement = std::move(*placement);
  std::set<std::uint64_t> positions;
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    const json& member = root.at("members")[i];
    const std::uint64_t position = UnsignedOf(member, "position");
    if (position >= view.members.size() || !positions.insert(position).second) {
      return {StatusCode::kCorruption, "two servers have one position"};
    }
    view.members[i].position = static_cast<int>(position);
    if (!member.contains("label")) continue;
    member.at("label").get_to(view.members[i].label);
    if (!net::IsLabel(view.members[i].label)) {
      return {StatusCode::kCorruption, "a server's label makes no sense"};
    }
  }
  return {};
}

Result<View> FromJson(const json& root) {
  View view;
  view.epoch = UnsignedOf(root, "epoch");
  const std::uint64_t max_failures = UnsignedOf(root, "max_failures");
  view.flushed_before = UnsignedOf(root, "flushed_before");
  if (root.contains("flush_at")) {
    for (const json& flush : root.at("flush_at")) {
      view.flush_at.push_back(flush.get_ref<const json::number_unsigned_t&>());
    }
  }
  if (root.contains("flushes")) {
    for (const json& flush : root.at("flushes")) {
      view.flushes.push_back(flush.get_ref<const json::number_unsigned_t&>());
    }
  }
  const std::uint64_t flush_mark =
      root.contains("flush_mark") ? UnsignedOf(root, "flush_mark") : 0;
  bool sane = view.epoch > 0 && max_failures > 0 &&
              max_failures < kMaxMembers && flush_mark <= kMaxFlushMark;
  view.flush_mark = sane ? static_cast<FlushMark>(flush_mark) : 0;
  view.max_failures = sane ? static_cast<int>(max_failures) : 0;
  for (const json& entry : root.at("members")) {
    Member member;
    sane = sane && UnsignedOf(entry, "id") == view.members.size();
    entry.at("name").get_to(member.name);
    Result<std::string> address = ParseAddress(entry, "address");
    Result<std::string> previous = ParseAddress(entry, "previous");
    if (!address) return Fail(address.error());
    if (!previous) return Fail(previous.error());
    member.address = std::move(*address);
    member.previous = std::move(*previous);
    const std::uint64_t weight = UnsignedOf(entry, "weight");
    sane = sane && weight > 0 && weight <= std::numeric_limits<int>::max();
    member.weight = sane ? static_cast<int>(weight) : 0;
    member.incarnation = UnsignedOf(entry, "incarnation");
    Result<MemberState> state = ParseState(entry.at("state"));
    if (!state) return Fail(state.error());
    member.state = *state;
    if (entry.contains("lacking")) entry.at("lacking").get_to(member.lacking);
    sane = sane && (!member.lacking || member.state == MemberState::kInSync);
    member.joined = UnsignedOf(entry, "joined");
    entry.at("boot_mark").get_to(member.boot_mark);
    member.since = static_cast<std::int64_t>(UnsignedOf(entry, "since"));
    view.members.push_back(std::move(member));
  }
  if (!sane || view.members.empty() || view.members.size() > kMaxMembers ||
      view.Quorum() < 1) {
    return Fail(StatusCode::kCorruption, "the view record makes no sense");
  }
  Status status = ReadPlacement(root, view);
  if (!status.ok()) return Fail(std::move(status));
  return view;
}

}  // namespace

int View::NotInSync() const {
  return static_cast<int>(
      std::count_if(members.begin(), members.end(), [](const Member& member) {
        return member.state != MemberState::kInSync;
      }));
}

bool View::AllInSync() const {
  return std::all_of(members.begin(), members.end(),
                     [](const Member& member) { return member.InSync(); });
}

bool View::IsFlushed(const ChangeId& change, std::int64_t now_us) const {
  if (flush_mark != 0 && change.flush_mark() != flush_mark) return true;
  const auto by = [&](std::uint64_t flush) {
    return change.time_us < flush &&
           flush <= static_cast<std::uint64_t>(now_us);
  };
  return by(flushed_before) ||
         std::any_of(flush_at.begin(), flush_at.end(), by);
}

bool View::IsBehind(const ChangeId& generation, std::int64_t now_us) const {
  // Marks go round.
  const FlushMark ahead =
      (generation.flush_mark() - flush_mark) & kMaxFlushMark;
  const bool later = ahead != 0 && ahead <= kMaxFlushMark / 2;
  return !later && IsFlushed(generation, now_us);
}

void View::FlushAll(std::uint64_t number, std::int64_t now_us) {
  if (std::find(flushes.begin(), flushes.end(), number) != flushes.end()) {
    return;
  }
  flushes.insert(flushes.begin(), number);
  if (flushes.size() > kFlushesKept) flushes.pop_back();
  flush_mark = flush_mark % kMaxFlushMark + 1;
  // What that would have been is flushed now; so nothing later can be.
  std::erase_if(flush_at, [now_us](std::uint64_t flush) {
    return flush <= static_cast<std::uint64_t>(now_us);
  });
  if (flushed_before > static_cast<std::uint64_t>(now_us)) return;
  flushed_before = flush_at.empty() ? 0 : flush_at.front();
  if (!flush_at.empty()) flush_at.erase(flush_at.begin());
}

Status View::Flush(std::uint64_t time_us, std::int64_t now_us) {
  constexpr std::size_t kMaxToCome = 16;
  View with = *this;
  with.AddFlushes({time_us}, now_us);
  const auto now = static_cast<std::uint64_t>(now_us);
  const bool first_to_come = with.flushed_before > now;
  if (with.flush_at.size() + (first_to_come ? 1 : 0) > kMaxToCome) {
    return {StatusCode::kUnavailable,
            "too many flushes are to come: try again behind the next"};
  }
  *this = std::move(with);
  return {};
}

void View::AddFlushes(const std::vector<std::uint64_t>& times_us,
                      std::int64_t now_us) {
  const auto now = static_cast<std::uint64_t>(now_us);
  std::set<std::uint64_t> to_come(flush_at.begin(), flush_at.end());
  to_come.insert(flushed_before);
  to_come.insert(times_us.begin(), times_us.end());
  std::uint64_t in_effect = 0;
  while (!to_come.empty() && *to_come.begin() <= now) {
    in_effect = *to_come.begin();
    to_come.erase(to_come.begin());
  }
  if (in_effect == 0 && !to_come.empty()) {
    in_effect = *to_come.begin();
    to_come.erase(to_come.begin());
  }
  flushed_before = in_effect;
  flush_at.assign(to_come.begin(), to_come.end());
}

std::string EncodeView(const View& view) {
  return SealRecord(ToJson(view), IsPlaced(view) ? kPlacedFormat : kFormat);
}

Result<View> DecodeView(std::string_view text) {
  Result<View> view = Fail(StatusCode::kCorruption, "");
  const Status status = OpenRecord(
      text, "view record",
      [&view](const json& root) {
        view = FromJson(root);
        return view ? Status() : view.error();
      },
      kPlacedFormat, kFormat);
  if (!status.ok()) return Fail(status);
  return view;
}

Replicas ReplicasOf(const View& view, const net::Ring& ring,
                    std::string_view key) {
  Replicas replicas;
  replicas.members = ring.Walk(key, view.max_failures + 1);
  std::erase_if(replicas.members, [&view](int member) {
    return view.members[member].state == MemberState::kDown;
  });
  // Latest returned first, then by walk: an insertion keeps the walk's order,
  // and there are only f+1 of them.
  for (std::size_t i = 1; i < replicas.members.size(); ++i) {
    for (std::size_t j = i;
         j > 0 && view.members[replicas.members[j]].joined >
                      view.members[replicas.members[j - 1]].joined;
         --j) {
      std::swap(replicas.members[j], replicas.members[j - 1]);
    }
  }
  replicas.primary_in_sync =
      !replicas.members.empty() &&
      view.members[replicas.members.back()].state == MemberState::kInSync;
  return replicas;
}

}  // namespace ers::store
