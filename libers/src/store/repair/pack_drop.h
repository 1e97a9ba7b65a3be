// Packs that no manifest names any more (docs/internals/packs.md).
#ifndef ERS_STORE_REPAIR_PACK_DROP_H_
#define ERS_STORE_REPAIR_PACK_DROP_H_

#include <memory>

#include "net/task.h"
#include "store/format/manifest.h"
#include "store/membership/session.h"

namespace ers::store {

// The pack is so old that no change begins any more that names it for the first
// time. Where no manifest names it, the keys of all values that were in it are
// fenced, and it ends: true. False: some manifest may name it still.
net::Task<Result<bool>> DropUnnamedPack(Session& session,
                                        std::shared_ptr<const Manifest> pack);

}  // namespace ers::store

#endif  // ERS_STORE_REPAIR_PACK_DROP_H_
