// Going on without servers that do not answer, where a person says that they
// are dead.
#ifndef ERS_STORE_MEMBERSHIP_ACCEPT_LOSS_H_
#define ERS_STORE_MEMBERSHIP_ACCEPT_LOSS_H_

#include <functional>
#include <vector>

#include "ers/rebuild.h"
#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

// As ers::Client::Recover (docs/internals/return-and-garbage.md, When more than
// f are lost): the new servers get the slots, and count as servers that have
// lost their memory.
net::Task<Status> AcceptLoss(Session& session,
                             std::vector<Successor> successors,
                             std::function<bool(const Loss&)> agree);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_ACCEPT_LOSS_H_
