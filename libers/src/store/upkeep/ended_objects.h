// Objects that were flushed or have expired, whose manifests and blocks still
// take memory.
#ifndef ERS_STORE_UPKEEP_ENDED_OBJECTS_H_
#define ERS_STORE_UPKEEP_ENDED_OBJECTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "net/task.h"
#include "store/format/manifest.h"
#include "store/membership/session.h"
#include "store/replicas/replica_set.h"

namespace ers::store {

// Does such a manifest take memory for what is absent already?
bool HasEnded(Session& session, const Manifest& manifest);

// A tombstone lets the space of what has ended go, by the rules of every
// change: a process in the midst of one learns what came of it. kConflict: the
// key is in use again. What is named here outlives it. Loop thread only.
net::Task<Status> Bury(Session& session, ReplicaSet& replicas,
                       std::string_view key);

// Drops what is left of those of these objects that have ended. What cannot be
// decided is left to the next collection. `session` outlives it. Loop thread
// only.
net::Task<void> DropEndedObjects(Session& session,
                                 std::vector<std::string> keys);

}  // namespace ers::store

#endif  // ERS_STORE_UPKEEP_ENDED_OBJECTS_H_
