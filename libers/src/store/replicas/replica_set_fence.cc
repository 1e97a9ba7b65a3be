// New tokens for what is at the replicas of a key.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/format/planted_bug.h"
#include "store/replicas/replica_set.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

bool IsPlain(const ReplicaCopy& copy) {
  return copy.kind == ReplicaCopy::Kind::kPlain;
}

bool IsCorrupt(const ReplicaCopy& copy) {
  return copy.kind == ReplicaCopy::Kind::kCorrupt;
}

}  // namespace

// All replicas with tokens, reconciled if there is no plain item: reconciling
// would write over it.
Task<Result<ReplicasRead>> ReplicaSet::ReadToFence() {
  const bool before = std::exchange(replaces_plain_, true);
  Result<ReplicasRead> read = co_await Collect(SendStep::kReconcileRead);
  replaces_plain_ = before;
  if (!read) co_return read;
  if (std::none_of(read->copies.begin(), read->copies.end(), IsPlain)) {
    if (read->Agreed()) co_return read;
    co_return co_await Reconcile();
  }
  if (std::any_of(read->copies.begin(), read->copies.end(), IsCorrupt)) {
    co_return Fail(StatusCode::kCorruption,
                   fmt::format("key '{}' holds a plain item and a manifest "
                               "that is corrupted",
                               key_));
  }
  co_return read;
}

// The copy's own content in its place.
Task<ReplicaSet::CasResult> ReplicaSet::WriteBack(const View& view,
                                                  const ReplicaCopy& replica) {
  if (IsPlain(replica)) return CasPlain(SendStep::kFence, view, replica);
  return Cas(SendStep::kFence, view, replica, replica.manifest.get());
}

Task<Result<ReplicasRead>> ReplicaSet::Fence() {
  while (!Expired()) {
    Result<ReplicasRead> read = co_await ReadToFence();
    if (!read || Planted(PlantedBug::kNoFence)) co_return read;
    bool all = true;
    for (std::size_t i = read->copies.size(); i > 0 && all; --i) {
      const ReplicaCopy& replica = read->copies[i - 1];
      const CasResult result = co_await WriteBack(*read->view, replica);
      all = result.outcome == Outcome::kOk;
      if (result.outcome == Outcome::kNoMemory) {
        co_return Fail(StatusCode::kNoMemory,
                       fmt::format("{} has no memory to write key '{}' again",
                                   session_.member_name(replica.member), key_));
      }
      if (!result.view_changed && !Answered(result.outcome)) {
        Status status = co_await ReplicaFailed(replica.member);
        if (!status.ok()) co_return Fail(std::move(status));
      }
    }
    if (all) co_return read;
  }
  co_return Fail(ChangedWithoutEnd());
}

}  // namespace ers::store
