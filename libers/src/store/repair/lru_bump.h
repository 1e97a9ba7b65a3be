// LRU bumps: servers that evict let go first what is not read. A GET reads
// data and the primary's manifest alone, so parity and the other manifests
// would go long before them (docs/internals/return-and-garbage.md, Eviction).
#ifndef ERS_STORE_REPAIR_LRU_BUMP_H_
#define ERS_STORE_REPAIR_LRU_BUMP_H_

#include <memory>

#include "ers/status.h"
#include "net/task.h"
#include "store/format/manifest.h"
#include "store/membership/session.h"

namespace ers::store {

// Is what this session reads to be kept warm: do servers evict? Asks them now
// and then, in the background; seldom where the process rests.
bool MayBumpLru(Session& session);

// `current` was read. In the background, where it is time: an access to its
// parity and to the replicas that the read itself did not ask. What they lack
// is stored again. `again`: it was read before, too.
void BumpLru(Session& session, std::shared_ptr<const Manifest> current,
             bool again);

// A read failed with `why`, by `current` alone. In the background, where
// servers evict and too many blocks are gone: the object ends, so that what is
// left of it makes room for others.
void DropUnreadable(Session& session, std::shared_ptr<const Manifest> current,
                    const Status& why);

// Ends an object of which too many blocks are gone for good, or a pack that is
// not named; its other blocks go with it. False: a change of it came first.
net::Task<Result<bool>> EndUnreadable(
    Session& session, std::shared_ptr<const Manifest> unreadable);

}  // namespace ers::store

#endif  // ERS_STORE_REPAIR_LRU_BUMP_H_
