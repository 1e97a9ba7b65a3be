#include "store/blocks/object_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "ers/options.h"
#include "plan/plan_cache.h"
#include "store/format/expiry.h"

namespace ers::store {
namespace {

using layout::BlockId;
using net::Task;

// Groups under way at a time: one is filled while another is sent.
constexpr std::size_t kWriteAtOnce = 2;
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

// One group of the value: its blocks given, parity computed, all staged.
struct GroupWrite {
  int group = 0;
  std::shared_ptr<const ObjectMap> map;
  std::unique_ptr<PlanExecutor> run;
  std::span<const std::byte> bytes;
  std::size_t given = 0;        // blocks
  std::vector<std::byte> tail;  // the padded end of the value
  Status status;
  bool done = false;
};

// Gives the blocks whose content is among the first `filled` bytes. Those that
// lie whole in the value are taken from there; the rest are padded with zeros.
void GiveBlocks(GroupWrite& write, std::size_t filled) {
  const std::span<const std::byte> bytes = write.bytes;
  const std::size_t block = write.run->block_bytes();
  const auto blocks =
      static_cast<std::size_t>(write.map->geometry().data_blocks());
  const auto give = [&](const std::byte* content) {
    write.run->Give(static_cast<BlockId>(write.given++), content);
  };
  while (write.given < blocks && (write.given + 1) * block <= filled) {
    give(bytes.data() + write.given * block);
  }
  if (filled < bytes.size() || write.given == blocks) return;
  const std::size_t whole = write.given * block;
  write.tail.resize(2 * block);
  if (whole < bytes.size()) {
    std::memcpy(write.tail.data(), bytes.data() + whole, bytes.size() - whole);
  }
  give(write.tail.data());
  while (write.given < blocks) give(write.tail.data() + block);
}

Task<void> RunWrite(GroupWrite& write, const Staging& staging) {
  const Scheme scheme = write.map->manifest().scheme;
  const Width width = write.map->width();
  const layout::Geometry& geometry = write.map->geometry();
  const PlanExecutor::Planner planner =
      [&](const plan::Missing& missing) -> std::optional<plan::Plan> {
    if (missing.dead_nodes.empty()) return *plan::CachedPutPlan(scheme, width);
    return plan::PlanPut(geometry, width, missing);
  };
  write.status = co_await write.run->Run(planner, &staging);
}

// The content's next part, and how much of it is there.
struct NextPart {
  std::span<const std::byte> bytes;
  std::size_t filled = 0;
};

// Whole where nobody knows how long it is: that decides what its blocks are.
Task<Result<NextPart>> TakePart(Content& content, std::size_t max_bytes) {
  const std::optional<std::uint64_t> left = content.Left();
  if (!left) {
    const Result<std::span<const std::byte>> bytes =
        co_await content.Next(max_bytes);
    if (!bytes) co_return Fail(bytes.error());
    co_return NextPart{*bytes, bytes->size()};
  }
  if (*left == 0) co_return NextPart();
  const Result<std::span<const std::byte>> bytes = content.Open(max_bytes);
  if (!bytes) co_return Fail(bytes.error());
  const Result<std::size_t> filled = co_await content.Fill();
  if (!filled) co_return Fail(filled.error());
  co_return NextPart{*bytes, *filled};
}

// The groups under way. Each lets go of its content as soon as it and those
// before it are staged: whoever reads the next one may wait for that memory.
class GroupWrites {
 public:
  GroupWrites(Session& session, Content& content, const Staging& staging,
              Manifest& manifest, StepTimer* steps)
      : session_(session),
        content_(content),
        staging_(staging),
        manifest_(manifest),
        steps_(steps) {}

  // `bytes` are of the content's newest part, the first `filled` are there;
  // the manifest has the group already.
  void Start(int group, std::span<const std::byte> bytes, std::size_t filled) {
    GroupWrite& write = writes_.emplace_back();
    write.group = group;
    // The map of this group alone looks at the manifest as it is now.
    write.map = std::make_shared<const ObjectMap>(
        std::make_shared<const Manifest>(manifest_));
    write.run = std::make_unique<PlanExecutor>(session_, *write.map, group,
                                               /*writing=*/true, steps_);
    write.bytes = bytes;
    if (filled < bytes.size()) write.run->AwaitGiven();
    Fill(write, filled);
    net::Spawn(Run(write));
  }
  // Gives the group started last what is to come of it.
  Task<Status> FillLast(std::size_t filled) {
    GroupWrite& write = writes_.back();
    while (filled < write.bytes.size()) {
      const Result<std::size_t> now = co_await content_.Fill();
      if (!now || *now == filled) {
        write.run->Abandon();
        co_return now ? Status(StatusCode::kInvalidArgument,
                               "the value is shorter than it was said to be")
                      : now.error();
      }
      filled = *now;
      Fill(write, filled);
    }
    co_return Status();
  }
  // Until fewer are under way.
  Task<void> AwaitFewer(std::size_t count) {
    while (writes_.size() >= count) {
      net::Latch latch(session_.runtime(), 1);
      waiter_ = &latch;
      co_await latch;
    }
  }
  // Of those that have ended.
  WriteOutcome& outcome() { return outcome_; }
  // Who gave the value may have taken long over it: blocks of members that died
  // meanwhile count as never stored.
  void ForgetLost(int first_group) {
    std::set<int> lost;
    for (const std::uint16_t member : manifest_.nodes) {
      if (!session_.Writable(member)) lost.insert(member);
    }
    if (lost.empty()) return;
    const ObjectMap map(std::make_shared<const Manifest>(manifest_));
    for (int group = first_group; group < map.groups(); ++group) {
      for (const BlockId block : map.geometry().StoredBlocks(map.width())) {
        if (!lost.contains(map.MemberOf(group, block))) continue;
        ForgetBlock(map.geometry(), group, block);
      }
    }
    outcome_.failed_members.merge(lost);
  }

 private:
  void ForgetBlock(const layout::Geometry& geometry, int group, BlockId block) {
    SetGeneration(geometry, group, block, ChangeId{}, manifest_);
  }
  void Fill(GroupWrite& write, std::size_t filled) {
    const InStep split(steps_, Step::kSplit);
    GiveBlocks(write, filled);
  }
  Task<void> Run(GroupWrite& write) {
    co_await RunWrite(write, staging_);
    write.done = true;
    while (!writes_.empty() && writes_.front().done) FinishOldest();
    if (waiter_ != nullptr) std::exchange(waiter_, nullptr)->CountDown();
  }
  void FinishOldest() {
    const GroupWrite& write = writes_.front();
    if (outcome_.status.ok()) outcome_.status = write.status;
    outcome_.traffic += write.run->traffic();
    outcome_.failed_members.insert(write.run->failed_members().begin(),
                                   write.run->failed_members().end());
    for (const BlockId block : write.run->unstaged()) {
      ForgetBlock(write.map->geometry(), write.group, block);
    }
    writes_.pop_front();
    content_.Release();
  }

  Session& session_;
  Content& content_;
  const Staging staging_;
  Manifest& manifest_;
  StepTimer* const steps_;
  std::deque<GroupWrite> writes_;
  WriteOutcome outcome_;
  net::Latch* waiter_ = nullptr;
};

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

Status CheckParity(Session& session, const Scheme& scheme) {
  const int most = session.view()->max_failures;
  if (scheme.m <= most) return {};
  return {StatusCode::kInvalidArgument,
          fmt::format("scheme {} has m = {}, and this cluster was set up for "
                      "at most {} (max_failures): choose a smaller m",
                      FormatScheme(scheme), scheme.m, most)};
}

Status CheckServers(Session& session, const Scheme& scheme) {
  const int needed = NodeCount(scheme);
  if (session.members() < needed) {
    return {StatusCode::kInvalidArgument,
            fmt::format("scheme {} needs {} servers and the cluster has {}: "
                        "choose a narrower scheme",
                        FormatScheme(scheme), needed, session.members())};
  }
  return CheckParity(session, scheme);
}

Status PlaceObject(Session& session, Manifest& manifest) {
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
  const std::size_t block =
      SmallestItemLimit(session) -
      std::min(SmallestItemLimit(session) / 2, kItemOverhead);
  manifest.group_bytes = std::min<std::uint64_t>(
      kMaxGroupBytes,
      block * static_cast<std::uint64_t>(GroupDataBlocks(scheme)));
  return {};
}

bool FitsInline(Session& session, const Manifest& manifest,
                std::uint64_t length, std::size_t inline_below) {
  if (length == 0) return true;
  return length < inline_below &&
         length + manifest.key.size() + kItemOverhead <=
             SmallestItemLimit(session);
}

Task<WriteOutcome> WriteGroups(Session& session, Content& content,
                               int first_group, Manifest& manifest,
                               StepTimer* steps) {
  const Staging staging{manifest.id,
                        BlockExptime(manifest.expiry, session.WallMicros())};
  const auto geometry = layout::GetGeometry(manifest.scheme);
  const auto data = static_cast<std::uint32_t>(geometry->data_blocks());
  const auto parity =
      static_cast<std::uint32_t>(geometry->parity_blocks(manifest.width));
  GroupWrites writes(session, content, staging, manifest, steps);
  WriteOutcome& outcome = writes.outcome();
  outcome.epoch = session.view()->epoch;
  std::uint64_t length =
      static_cast<std::uint64_t>(first_group) * manifest.group_bytes;
  for (int group = first_group; outcome.status.ok(); ++group) {
    const Result<NextPart> part =
        co_await TakePart(content, manifest.group_bytes);
    if (!part) outcome.status = part.error();
    if (!part || part->bytes.empty()) break;
    length += part->bytes.size();
    if (length > kMaxValueBytes) {
      outcome.status =
          Status(StatusCode::kTooLarge,
                 fmt::format("the value is over {} MiB, the largest there is",
                             kMaxValueBytes >> 20));
      break;
    }
    const auto groups = static_cast<std::uint32_t>(group) + 1;
    manifest.length = length;
    manifest.data.Resize(groups * data, manifest.id);
    manifest.parity.Resize(groups * parity, manifest.id);
    writes.Start(group, part->bytes, part->filled);
    Status filled = co_await writes.FillLast(part->filled);
    if (!filled.ok()) outcome.status = std::move(filled);
    if (part->bytes.size() < manifest.group_bytes) break;
    co_await writes.AwaitFewer(kWriteAtOnce);
  }
  co_await writes.AwaitFewer(1);
  if (outcome.status.ok()) {
    writes.ForgetLost(first_group);
    const auto final_manifest = std::make_shared<const Manifest>(manifest);
    const ObjectMap map(final_manifest);
    for (int group = first_group; outcome.status.ok() && group < map.groups();
         ++group) {
      outcome.status = CheckRedundancy(
          session, map, group, session.cluster().options.min_redundancy);
    }
  }
  co_return std::move(outcome);
}

}  // namespace ers::store
