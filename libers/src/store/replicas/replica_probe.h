// A probe of the replicas of a key that changes nothing: no lease is needed,
// no member leaves the view, and replicas that differ are left so.
#ifndef ERS_STORE_REPLICAS_REPLICA_PROBE_H_
#define ERS_STORE_REPLICAS_REPLICA_PROBE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/task.h"
#include "store/replicas/replica_copy.h"
#include "store/replicas/replica_set.h"

namespace ers::store {

// What the replicas show, under `view`; empty where one did not answer. Fails
// where no replica is in sync, or an item makes no sense. Items of plain
// clients are taken, too. `key` outlives the task.
net::Task<Result<std::optional<ReplicasRead>>> PeekAtReplicas(
    Session& session, std::shared_ptr<const View> view, const std::string& key);

// What the replicas would show once they were reconciled.
struct Foreseen {
  // One, or none; beside an item of a plain client all that there are, as
  // nothing is reconciled then.
  std::vector<ShownManifest> shown;
  // It is over: flushed or expired.
  bool ended = false;
};
// kUnavailable: one did not answer; other failures as above.
net::Task<Result<Foreseen>> ForeseeReplicas(Session& session,
                                            std::shared_ptr<const View> view,
                                            const std::string& key);

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_REPLICA_PROBE_H_
