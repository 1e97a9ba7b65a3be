// ReplicaKey: the key whose replicas an operation deals with.
#ifndef ERS_STORE_REPLICAS_REPLICA_KEY_H_
#define ERS_STORE_REPLICAS_REPLICA_KEY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "net/task.h"
#include "store/membership/session.h"
#include "store/support/step_timer.h"

namespace ers::store {

// What the parts of a replica set have in common; it outlives them. Loop thread
// only.
struct ReplicaKey {
  ReplicaKey(Session& at, std::string_view key, StepTimer* timer);

  // The members that have its manifests under `view`.
  [[nodiscard]] Result<Replicas> ReplicasUnder(const View& view) const;
  // A replica did not answer: it leaves the view, unless its connection only
  // broke and is being made again.
  [[nodiscard]] net::Task<Status> OnSilent(int member) const;

  Session& session;
  const std::string name;
  const std::string item;  // of its manifests
  StepTimer* const steps;  // null: nothing is timed

 private:
  // As they were under the view of that epoch: a walk of the ring takes an MD5.
  mutable std::uint64_t known_epoch_ = 0;
  mutable Replicas known_;
};

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_REPLICA_KEY_H_
