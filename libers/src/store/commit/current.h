// CurrentManifest: the manifest that a change of an existing object starts
// from: first the one remembered, then, if that proves old, the primary's.
#ifndef ERS_STORE_COMMIT_CURRENT_H_
#define ERS_STORE_COMMIT_CURRENT_H_

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "net/task.h"
#include "store/commit/change.h"
#include "store/replicas/replica_set.h"

namespace ers::store {

// One operation's; loop thread only. `key` outlives it.
class CurrentManifest {
 public:
  // `reads` is how the primary is read; the rest is of `replicas`.
  CurrentManifest(Session& session, std::string_view key, StepTimer* steps,
                  PrimaryTerms reads = {}, const ChangeTerms& changes = {});

  // Checks the key and makes sure that a view is in force; before all else.
  net::Task<Status> Begin();
  // The same, and takes the key's turn (KeyTurn::Take): for what makes a
  // new value of the old one.
  net::Task<Status> BeginInTurn();
  // The manifest for the next try. kNotFound: no object. kUnavailable: it
  // changes without end.
  net::Task<Result<std::shared_ptr<const Manifest>>> Next();
  // A change was planned on another manifest than it met: the next try starts
  // with that one.
  void Restart(ChangeOutcome outcome) { met_ = std::move(outcome.met); }
  // What the replicas show where the last one is of them all; empty otherwise.
  std::optional<ReplicasRead> TakeReplicas() {
    return std::exchange(replicas_, {});
  }
  // Whether the last one was only remembered.
  [[nodiscard]] bool remembered() const { return remembered_; }
  // After a try failed for want of blocks: true while it may be because the
  // manifest was old (remembered, or changed since it was read).
  [[nodiscard]] bool MayRetry(const Status& failure);
  ReplicaSet& replica_set();

 private:
  Session& session_;
  std::string_view key_;
  StepTimer* const steps_;
  const PrimaryTerms reads_;
  const ChangeTerms changes_;
  std::unique_ptr<ReplicaSet> replica_set_;
  std::optional<ReplicasRead> met_;
  std::optional<ReplicasRead> replicas_;
  bool remembered_ = false;
  int tries_ = 0;
  net::TimePoint until_;  // it is tried, however often
  ChangeId shown_;        // by the primary
  ChangeId short_;        // what it showed when blocks were short
  StatusCode failure_ = StatusCode::kOk;  // of that try
};

}  // namespace ers::store

#endif  // ERS_STORE_COMMIT_CURRENT_H_
