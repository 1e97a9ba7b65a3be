// Packs that no manifest names any more (docs/internals/packs.md).
#ifndef ERS_STORE_REPAIR_PACK_DROP_H_
#define ERS_STORE_REPAIR_PACK_DROP_H_

#include <functional>
#include <memory>
#include <string_view>

#include "net/task.h"
#include "store/format/manifest.h"
#include "store/format/view.h"
#include "store/membership/session.h"
#include "store/support/pace.h"
#include "store/support/stop_token.h"

namespace ers::store {

// The pack is so old that no change begins any more that names it for the first
// time. Where no manifest names it, the keys of all values that were in it are
// fenced, and it ends: true. False: some manifest may name it still.
// Failed, it stays. `pace` counts keys; kUnavailable: `stop` (null: never).
net::Task<Result<bool>> DropUnnamedPack(Session& session,
                                        std::shared_ptr<const Manifest> pack,
                                        Pace& pace, const StopToken* stop);

// Would it end, by what the servers show under `view`? Nothing is written.
// What is over names no pack where `ends` says of its key that it is ended
// before. Failures as above.
net::Task<Result<bool>> WouldDropPack(
    Session& session, std::shared_ptr<const View> view,
    std::shared_ptr<const Manifest> pack,
    const std::function<bool(std::string_view key)>& ends, Pace& pace,
    const StopToken* stop);

}  // namespace ers::store

#endif  // ERS_STORE_REPAIR_PACK_DROP_H_
