// Confirming: a mark on copies of a change that is known to be committed, by
// which one replica's word is enough for a reader of any process. Nothing
// depends on whether it is there.
#ifndef ERS_STORE_REPLICAS_CONFIRM_H_
#define ERS_STORE_REPLICAS_CONFIRM_H_

#include <string>

#include "net/task.h"
#include "store/membership/session.h"
#include "store/replicas/replica_copy.h"

namespace ers::store {

// Marks the copies of `key` as they were read, which all show one manifest, for
// a read that servers take for an access: as such it counts afterwards, too.
// The session outlives the task.
net::Task<void> ConfirmCopies(Session& session, std::string key,
                              ReplicasRead read);

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_CONFIRM_H_
