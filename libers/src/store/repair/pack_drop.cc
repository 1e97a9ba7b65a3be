#include "store/repair/pack_drop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "store/blocks/pack_reader.h"
#include "store/format/keys.h"
#include "store/format/planted_bug.h"
#include "store/repair/lru_bump.h"
#include "store/replicas/replica_probe.h"
#include "store/replicas/replica_set.h"

namespace ers::store {
namespace {

using net::Task;
using ManifestPtr = std::shared_ptr<const Manifest>;

constexpr int kFencesAtOnce = 8;

Status Stopped() {
  return {StatusCode::kUnavailable, "the garbage collection was stopped"};
}

Status DirectoryLost(const Manifest& pack, const Status& why) {
  return {why.code(), fmt::format("which values are in '{}' cannot be read, so "
                                  "it stays: {}",
                                  pack.key, why.message())};
}

bool NamesPack(const ManifestPtr& manifest, const ChangeId& pack) {
  return manifest && !manifest->tombstone && manifest->pack == pack;
}

class PackDrop {
 public:
  PackDrop(Session& session, ManifestPtr pack, std::vector<PackEntry> entries,
           Pace& pace, const StopToken* stop)
      : session_(session),
        pack_(std::move(pack)),
        id_(*PackOfKey(pack_->key)),
        entries_(std::move(entries)),
        pace_(pace),
        stop_(stop) {}

  Task<Result<bool>> Run() {
    // Most often one of the first still names it, and nothing is written.
    for (const PackEntry& entry : entries_) {
      const bool goes_on = co_await pace_.Await(stop_);
      if (!goes_on) co_return Fail(Stopped());
      pace_.Spend(1);
      const bool named = co_await IsNamed(entry);
      if (named) co_return false;
    }
    net::Latch latch(session_.runtime(), kFencesAtOnce);
    for (int i = 0; i < kFencesAtOnce; ++i) net::Spawn(FenceSome(latch));
    co_await latch;
    if (!status_.ok()) co_return Fail(status_);
    if (named_ && !Planted(PlantedBug::kPackDroppedNamed)) co_return false;
    co_return co_await End();
  }

 private:
  Task<bool> IsNamed(const PackEntry& entry) {
    if (Planted(PlantedBug::kPackDroppedNamed)) co_return false;
    ReplicaSet replicas(session_, entry.key);
    const Result<ManifestPtr> shown = co_await replicas.ReadPrimary(kAsItLies);
    co_return shown&& NamesPack(*shown, id_);
  }

  // Nothing that was sent before lands after this, and no change that begins
  // names what the replicas do not show.
  Task<void> FenceSome(net::Latch& latch) {
    while (next_ < entries_.size() && status_.ok() && !named_) {
      const PackEntry& entry = entries_[next_++];
      const bool goes_on = co_await pace_.Await(stop_);
      if (!goes_on) {
        status_ = Stopped();
        break;
      }
      pace_.Spend(1);
      ReplicaSet replicas(session_, entry.key);
      const Result<ReplicasRead> read = co_await replicas.reconciler().Fence();
      if (!read) {
        status_ = read.error();
        break;
      }
      named_ = named_ || std::any_of(read->copies.begin(), read->copies.end(),
                                     [this](const ReplicaCopy& copy) {
                                       return NamesPack(copy.manifest, id_);
                                     });
    }
    latch.CountDown();
  }

  // A transition of it meanwhile comes first.
  Task<Result<bool>> End() {
    Result<bool> ended = co_await EndUnreadable(session_, pack_);
    if (!ended || !*ended) co_return ended;
    session_.counters().packs_dropped.Add();
    co_return true;
  }

  Session& session_;
  const ManifestPtr pack_;
  const ChangeId id_;
  const std::vector<PackEntry> entries_;
  Pace& pace_;
  const StopToken* const stop_;
  std::size_t next_ = 0;
  bool named_ = false;
  Status status_;
};

}  // namespace

Task<Result<bool>> DropUnnamedPack(Session& session, ManifestPtr pack,
                                   Pace& pace, const StopToken* stop) {
  Result<std::vector<PackEntry>> entries =
      co_await ReadPackDirectory(session, pack);
  if (!entries) co_return Fail(DirectoryLost(*pack, entries.error()));
  PackDrop drop(session, std::move(pack), std::move(*entries), pace, stop);
  co_return co_await drop.Run();
}

Task<Result<bool>> WouldDropPack(
    Session& session, std::shared_ptr<const View> view, ManifestPtr pack,
    const std::function<bool(std::string_view key)>& ends, Pace& pace,
    const StopToken* stop) {
  const ChangeId id = *PackOfKey(pack->key);
  const Result<std::vector<PackEntry>> entries =
      co_await PeekAtPackDirectory(session, pack);
  if (!entries) co_return Fail(DirectoryLost(*pack, entries.error()));
  for (const PackEntry& entry : *entries) {
    const bool goes_on = co_await pace.Await(stop);
    if (!goes_on) co_return Fail(Stopped());
    pace.Spend(1);
    const Result<Foreseen> value =
        co_await ForeseeReplicas(session, view, entry.key);
    if (!value) co_return Fail(value.error());
    if (value->ended && ends(entry.key)) continue;
    const bool named = std::any_of(
        value->shown.begin(), value->shown.end(),
        [&id](const ManifestPtr& shown) { return NamesPack(shown, id); });
    if (named) co_return false;
  }
  co_return true;
}

}  // namespace ers::store
