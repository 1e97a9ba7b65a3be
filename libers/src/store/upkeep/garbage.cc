#include "store/upkeep/garbage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/micros.h"
#include "store/format/expiry.h"
#include "store/format/object_map.h"
#include "store/format/planted_bug.h"
#include "store/membership/batch.h"
#include "store/membership/ensure_lease.h"
#include "store/membership/view_changer.h"
#include "store/membership/view_loader.h"
#include "store/membership/view_probe.h"
#include "store/repair/key_dump.h"
#include "store/repair/pack_drop.h"
#include "store/replicas/replica_copy.h"
#include "store/replicas/replica_probe.h"
#include "store/replicas/replica_set.h"
#include "store/support/pace.h"
#include "store/upkeep/ended_objects.h"
#include "store/upkeep/garbage_names.h"

namespace ers::store {
namespace {

using net::Task;
using ManifestPtr = std::shared_ptr<const Manifest>;
using Blocks = std::vector<const FoundBlock*>;

constexpr std::size_t kDropsAtOnce = 256;
// What a replaced object's blocks live on for readers under way, at most, and
// the difference of two clocks.
constexpr std::int64_t kExpiringSeconds = 120;

// Is there such a block of the object's, on that member?
bool Names(const ObjectMap& map, const FoundBlock& found) {
  const std::optional<ObjectMap::Place> place = map.PlaceOf(found.name.number);
  return place && map.MemberOf(place->group, place->block) == found.member &&
         map.GenerationOf(place->group, place->block) == found.name.generation;
}

// Takes the blocks out that the manifest names; how many there were.
std::size_t TakeNamed(const ManifestPtr& manifest, Blocks& blocks) {
  if (!manifest || manifest->tombstone || manifest->is_inline) return 0;
  const ObjectMap map(manifest);
  return std::erase_if(
      blocks, [&map](const FoundBlock* block) { return Names(map, *block); });
}

// The whole of one collection.
class Collection {
 public:
  // There is a view.
  Collection(Session& session, const GarbageTerms& terms)
      : session_(session),
        terms_(terms),
        view_(session.view()),
        now_us_(session.WallMicros()),
        pace_(session.runtime(), terms.options.objects_per_second),
        youngest_us_(now_us_ -
                     std::chrono::duration_cast<std::chrono::microseconds>(
                         2 * terms.options.grace)
                         .count()) {}

  Task<Result<GarbageReport>> Run() {
    for (std::uint64_t first = 0;;) {
      GarbageNames names(first, terms_.names_bytes);
      Status status = co_await ReadView();
      if (!status.ok()) co_return Fail(std::move(status));
      const KeyDump dump = co_await List(names, first == 0);
      NoteSilent(dump);
      for (const int member : dump.refused) {
        if (dry_run()) break;
        // Beyond f it stays, and says so each time.
        (void)co_await MarkDown(session_, member, "it was restarted");
      }
      if (!Stopped()) co_await CheckAll(names);
      if (Stopped()) break;
      if (names.last() == std::numeric_limits<std::uint64_t>::max()) {
        co_return std::move(report_);
      }
      first = names.last() + 1;
    }
    co_return Fail(StatusCode::kUnavailable,
                   "the garbage collection was stopped");
  }

 private:
  // Changes nothing: not the view, not what replicas show.
  [[nodiscard]] bool dry_run() const { return terms_.options.dry_run; }
  Task<Status> ReadView() {
    view_ = session_.view();
    if (!dry_run()) co_return Status();
    const Result<std::shared_ptr<const View>> newest =
        co_await ReadNewestView(session_);
    if (!newest) co_return newest.error();
    Result<std::shared_ptr<const View>> view = WithoutSilent(session_, *newest);
    if (!view) co_return view.error();
    view_ = std::move(*view);
    co_return Status();
  }
  bool Stopped() const {
    return terms_.stop != nullptr && terms_.stop->stopped();
  }
  bool IsYoung(const ChangeId& generation) const {
    return static_cast<std::int64_t>(generation.time_us) > youngest_us_ &&
           !Planted(PlantedBug::kDropsYoung);
  }
  void Skip(const Blocks& blocks, const Status& why) {
    report_.skipped += blocks.size();
    if (report_.why.ok()) report_.why = why;
  }

  void NoteSilent(const KeyDump& dump) {
    all_listed_ = dump.why.empty();
    if (all_listed_) return;
    silent_ = Status(StatusCode::kUnavailable,
                     fmt::format("servers cannot list their keys ({})",
                                 fmt::join(dump.why, "; ")));
    report_.silent = std::max<std::uint64_t>(report_.silent, dump.why.size());
    if (report_.why.ok()) report_.why = silent_;
  }

  // What the servers hold of the names' range; all of it is counted, once.
  Task<KeyDump> List(GarbageNames& names, bool counted) {
    const std::function<void(const DumpedItem&)> note =
        [this, &names, counted](const DumpedItem& item) {
          Note(item, counted, names);
        };
    co_return co_await DumpKeys(session_, view_, session_.members(),
                                terms_.stop, note);
  }
  void Note(const DumpedItem& item, bool counted, GarbageNames& names) {
    if (const std::optional<BlockName> block = ParseBlockKey(item.key)) {
      NoteBlock(item, *block, counted, names);
    } else if (!item.key.starts_with(kReservedPrefix)) {
      NoteManifest(item, HashKey(item.key), -1, names);
    } else if (const auto hash = HashOfHashedName(item.key)) {
      NoteManifest(item, *hash, item.member, names);
    }
  }
  void NoteManifest(const DumpedItem& item, const KeyHash& hash, int member,
                    GarbageNames& names) {
    if (!names.Covers(hash)) return;
    names.Add({hash, std::string(item.key), member,
               MayHaveEnded(item.expiry, now_us_)});
  }
  void NoteBlock(const DumpedItem& item, const BlockName& block, bool counted,
                 GarbageNames& names) {
    const bool expiring =
        item.expiry >= 0 &&
        item.expiry < now_us_ / kMicrosPerSecond + kExpiringSeconds;
    // The space of what was flushed is wanted at once.
    const bool young = IsYoung(block.generation) &&
                       !view_->IsBehind(block.generation, now_us_) &&
                       !Planted(PlantedBug::kPackDroppedYoung);
    if (counted) {
      ++report_.listed;
      report_.expiring += expiring ? 1 : 0;
      report_.young += young && !expiring ? 1 : 0;
    }
    if (expiring || young || !names.Covers(block.hash)) return;
    names.Add(
        FoundBlock{block, item.member, static_cast<std::uint32_t>(item.bytes)});
  }

  // Packs come last: what has ended by then names none of them any more.
  Task<void> CheckAll(GarbageNames& names) {
    names_ = &names;
    co_await Check(names.Groups());
    packs_turn_ = true;
    co_await Check(std::exchange(packs_, {}));
    packs_turn_ = false;
  }
  Task<void> Check(std::vector<GarbageNames::Group> groups) {
    groups_ = std::move(groups);
    next_ = 0;
    net::Latch latch(session_.runtime(), terms_.parallel);
    for (int i = 0; i < terms_.parallel; ++i) net::Spawn(Work(latch));
    co_await latch;
    groups_.clear();
  }
  // Small values have no blocks, and those of others may be too young.
  // Servers drop by themselves what expires, but not what was flushed, or had
  // its life changed.
  [[nodiscard]] bool IsWorthACheck(const GarbageNames::Group& group) const {
    const bool flushed = view_->flush_mark != 0 || view_->flushed_before != 0;
    return !group.blocks.empty() || (terms_.small_values && flushed) ||
           std::any_of(group.manifests.begin(), group.manifests.end(),
                       [](const FoundManifest& manifest) {
                         return manifest.may_have_ended;
                       });
  }
  Task<void> Work(net::Latch& latch) {
    for (;;) {
      (void)co_await pace_.Await(terms_.stop);
      while (next_ < groups_.size() && !IsWorthACheck(groups_[next_])) ++next_;
      if (next_ >= groups_.size() || Stopped()) break;
      pace_.Spend(1);
      const GarbageNames::Group& group = groups_[next_++];
      Blocks blocks;
      for (const FoundBlock& block : group.blocks) blocks.push_back(&block);
      if (group.manifests.empty()) {
        co_await DropOrphans(std::move(blocks));
      } else {
        co_await Examine(group, std::move(blocks));
      }
    }
    latch.CountDown();
  }

  // No server had a manifest under any key of this hash. A replica that came
  // since may have one, and so may a replica that did not list its keys.
  Task<void> DropOrphans(Blocks blocks) {
    if (!all_listed_ && !Planted(PlantedBug::kSilentListsNothing)) {
      Skip(blocks, silent_);
      co_return;
    }
    if (dry_run()) {
      co_await Drop(std::move(blocks));
      co_return;
    }
    // Another process may have changed it; none does while this one's lease
    // under it holds.
    const Status leave = co_await EnsureLease(session_);
    if (!leave.ok()) {
      Skip(blocks, leave);
      co_return;
    }
    if (session_.view()->epoch != view_->epoch) {
      Skip(blocks, Status(StatusCode::kUnavailable,
                          "servers left or came back meanwhile"));
      co_return;
    }
    co_await Drop(std::move(blocks));
  }

  // Most often all are named by what the primary shows, and nothing is written.
  Task<void> Examine(const GarbageNames::Group& group, Blocks blocks) {
    const std::set<std::string> keys = co_await KeysOf(group.manifests);
    if (keys.empty()) {
      Skip(blocks, Status(StatusCode::kUnavailable,
                          fmt::format("{} is being written",
                                      group.manifests.front().item_key)));
      co_return;
    }
    const bool may_go =
        std::any_of(keys.begin(), keys.end(),
                    [this](const std::string& key) { return IsOldPack(key); });
    if (may_go && !packs_turn_) {
      packs_.push_back(group);
      co_return;
    }
    const bool all_named = co_await NamesAll(keys, blocks);
    if (all_named) co_return;
    // Reconciling may bring another manifest: all are checked anew.
    for (const std::string& key : keys) {
      Task<Status> decide =
          dry_run() ? Foresee(key, blocks) : Decide(key, blocks);
      Status status = co_await std::move(decide);
      if (status.ok()) continue;
      Skip(blocks, status);
      co_return;
    }
    co_await Drop(std::move(blocks));
  }
  // By what the primaries show; what has ended goes, with its blocks. A dry run
  // asks all replicas at once instead.
  Task<bool> NamesAll(const std::set<std::string>& keys, Blocks& blocks) {
    if (dry_run()) co_return false;
    Blocks left = blocks;
    for (const std::string& key : keys) {
      ReplicaSet replicas(session_, key);
      const Result<ManifestPtr> shown =
          co_await replicas.ReadPrimary(kAsItLies);
      if (!shown) NoteUnknown(shown.error());
      if (!shown || !*shown) continue;
      if (!HasEnded(session_, **shown)) {
        TakeNamed(*shown, left);
        const bool dropped = co_await DropIfUnnamedPack(*shown);
        if (dropped) CountPack(*shown, blocks);
        continue;
      }
      const Status ended = co_await Bury(session_, replicas, key);
      if (!ended.ok()) {
        NoteUnknown(ended);
        continue;
      }
      CountEnded(*shown, blocks);
      TakeNamed(*shown, left);
    }
    if (!left.empty()) co_return false;
    report_.live += blocks.size();
    co_return true;
  }
  // Of one that no change begins to name any more.
  bool IsOldPack(std::string_view key) const {
    const std::optional<ChangeId> pack = PackOfKey(key);
    return pack && (!IsYoung(*pack) || Planted(PlantedBug::kPackDroppedYoung));
  }
  Task<bool> DropIfUnnamedPack(const ManifestPtr& shown) {
    const bool may_go =
        IsOldPack(shown->key) && !shown->tombstone && !shown->is_inline;
    if (!may_go) co_return false;
    const std::function<bool(std::string_view)> ends =
        [this](std::string_view key) { return names_->Covered(HashKey(key)); };
    Task<Result<bool>> drop =
        dry_run()
            ? WouldDropPack(session_, view_, shown, ends, pace_, terms_.stop)
            : DropUnnamedPack(session_, shown, pace_, terms_.stop);
    const Result<bool> dropped = co_await std::move(drop);
    if (!dropped && !Stopped()) Skip({}, dropped.error());
    co_return dropped && *dropped;
  }
  // Whether it has ended is unknown; in use again it has not, nor has
  // what is none of this library's.
  void NoteUnknown(const Status& why) {
    const bool unknown = why.code() == StatusCode::kUnavailable ||
                         why.code() == StatusCode::kNoMemory;
    if (unknown) Skip({}, why);
  }
  Task<std::set<std::string>> KeysOf(std::span<const FoundManifest> manifests) {
    std::set<std::string> keys;
    for (const FoundManifest& manifest : manifests) {
      std::string key = manifest.item_key;
      if (manifest.member >= 0) {
        const Result<std::string> behind =
            co_await KeyBehind(session_, manifest.member, manifest.item_key);
        key = behind ? *behind : std::string();
      }
      if (!key.empty()) keys.insert(std::move(key));
    }
    co_return keys;
  }

  // Takes the blocks out that the key's manifest names. What is left it will
  // never name: nothing that was sent before lands after this, and no change
  // of that age commits.
  Task<Status> Decide(const std::string& key, Blocks& blocks) {
    ReplicaSet replicas(session_, key);
    const Result<ReplicasRead> read = co_await replicas.reconciler().Fence();
    if (!read) co_return read.error();
    for (const ReplicaCopy& copy : read->copies) {
      report_.live += TakeNamed(copy.manifest, blocks);
    }
    co_return Status();
  }

  // The same without a write: what would be shown once the replicas were
  // reconciled.
  Task<Status> Foresee(const std::string& key, Blocks& blocks) {
    const Result<Foreseen> foreseen =
        co_await ForeseeReplicas(session_, view_, key);
    if (!foreseen) co_return foreseen.error();
    for (const ManifestPtr& shown : foreseen->shown) {
      if (foreseen->ended) CountEnded(shown, blocks);
      const bool dropped = co_await DropIfUnnamedPack(shown);
      if (dropped) CountPack(shown, blocks);
      report_.live += TakeNamed(shown, blocks);
    }
    co_return Status();
  }

  // These take its blocks out: they are gone by now.
  void CountEnded(const ManifestPtr& ended, Blocks& blocks) {
    ++report_.flushed;
    CountBlocksOf(ended, blocks);
  }
  void CountPack(const ManifestPtr& pack, Blocks& blocks) {
    ++report_.packs;
    CountBlocksOf(pack, blocks);
  }
  void CountBlocksOf(const ManifestPtr& ended, Blocks& blocks) {
    Blocks of_it = blocks;
    TakeNamed(ended, blocks);
    std::erase_if(of_it, [&blocks](const FoundBlock* block) {
      return std::find(blocks.begin(), blocks.end(), block) != blocks.end();
    });
    for (const FoundBlock* block : of_it) CountDropped(*block);
  }

  void CountDropped(const FoundBlock& block) {
    ++report_.dropped;
    report_.dropped_bytes += block.bytes;
  }

  // Garbage, but what is young of it: it was checked as it may be flushed.
  Task<void> Drop(Blocks blocks) {
    report_.young += std::erase_if(blocks, [this](const FoundBlock* block) {
      return IsYoung(block->name.generation);
    });
    if (dry_run()) {
      for (const FoundBlock* block : blocks) CountDropped(*block);
      co_return;
    }
    for (std::size_t at = 0; at < blocks.size(); at += kDropsAtOnce) {
      const std::size_t end = std::min(at + kDropsAtOnce, blocks.size());
      const Blocks some(blocks.begin() + static_cast<std::ptrdiff_t>(at),
                        blocks.begin() + static_cast<std::ptrdiff_t>(end));
      co_await DropSome(some);
    }
  }
  Task<void> DropSome(const Blocks& blocks) {
    struct Delete {
      const FoundBlock* block;
      std::string key;
      net::Request request;
    };
    std::deque<Delete> deletes;
    Batch batch(session_.runtime());
    for (const FoundBlock* block : blocks) {
      Delete& one = deletes.emplace_back();
      one.block = block;
      one.key = BlockKey(block->name.hash, block->name.generation,
                         block->name.number);
      one.request.verb = net::Verb::kDelete;
      one.request.key = one.key;
      batch.Send(SendStep::kDropGarbage, session_.link(block->member),
                 one.request);
    }
    co_await batch;
    for (const Delete& one : deletes) {
      if (one.request.outcome == net::Outcome::kOk) CountDropped(*one.block);
      if (Answered(one.request.outcome)) continue;
      Skip({one.block}, Status(StatusCode::kUnavailable,
                               session_.Describe(one.block->member)));
    }
  }

  Session& session_;
  const GarbageTerms terms_;
  std::shared_ptr<const View> view_;  // that the servers were listed in
  const std::int64_t now_us_;
  Pace pace_;  // of objects
  const std::int64_t youngest_us_;
  bool all_listed_ = false;
  Status silent_;
  std::vector<GarbageNames::Group> groups_;
  std::size_t next_ = 0;
  const GarbageNames* names_ = nullptr;     // that are being checked
  std::vector<GarbageNames::Group> packs_;  // old ones, left for the end
  bool packs_turn_ = false;
  GarbageReport report_;
};

}  // namespace

Task<Result<GarbageReport>> CollectGarbage(Session& session,
                                           GarbageTerms terms) {
  Status status;
  if (!terms.options.dry_run) status = co_await EnsureView(session);
  // In a cluster that was never used there is nothing.
  if (status.code() == StatusCode::kNotFound) co_return GarbageReport();
  if (!status.ok()) co_return Fail(status);
  Collection collection(session, terms);
  Result<GarbageReport> report = co_await collection.Run();
  const bool unused = !report && report.error().code() == StatusCode::kNotFound;
  if (unused) co_return GarbageReport();
  co_return report;
}

}  // namespace ers::store
