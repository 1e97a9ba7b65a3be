// One object made whole again, and the walk over all keys of the cluster. Entry
// points: RepairObject, KeyWalk, CheckGroup. No loop that goes on by itself may
// come in.
#ifndef ERS_STORE_REPAIR_REPAIR_H_
#define ERS_STORE_REPAIR_REPAIR_H_

#include <string_view>
#include <vector>

#include "net/task.h"
#include "store/blocks/object_repair.h"

namespace ers::store {

// Checks for the blocks that these members should have, by size alone.
// `members` outlive the finder.
FindLacking LackingOn(Session& session, const std::vector<int>& members);

// What became of one object, and what moved for it.
struct RepairedObject {
  bool reconciled = false;  // its manifest was not on all its replicas
  int blocks = 0;           // stored
  BlockTraffic traffic;
};

// Reconciles the object's replicas and stores what `terms.find` says is
// lacking: under the generation that it has, or, where it was never stored, by
// a change that keeps client CAS, flags and expiry. A change by others that
// comes in between is never harmed: it is begun anew. Where there is no object
// nothing is lacking; kNotFound: too many blocks are gone. `terms` outlive the
// task.
net::Task<Result<RepairedObject>> RepairObject(Session& session,
                                               std::string_view key,
                                               const RepairTerms& terms);

}  // namespace ers::store

#endif  // ERS_STORE_REPAIR_REPAIR_H_
