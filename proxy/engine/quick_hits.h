// Gets whose hit is the answer of one server: no coroutine runs for them.
#ifndef ERS_PROXY_ENGINE_QUICK_HITS_H_
#define ERS_PROXY_ENGINE_QUICK_HITS_H_

#include <memory>
#include <string_view>

#include "engine/context.h"
#include "protocol/reply.h"
#include "protocol/request.h"
#include "store/objects/quick_get.h"
#include "store/support/memory.h"

namespace ers::proxy {

// Begins the get, and takes memory for what it may bring; `call` as
// store::QuickGet::Begin has it. Null: not so, and nothing is begun or taken.
std::unique_ptr<store::QuickGet> BeginQuickGet(const EngineContext& context,
                                               const ClientRequest& request,
                                               store::Memory& memory,
                                               store::QuickGet::Call call,
                                               void* call_context);

// After the call: what a hit has; `value` lies in `begun`. False: none, and
// Engine::Get goes on with `begun`.
bool EndQuickGet(const EngineContext& context, const ClientRequest& request,
                 store::QuickGet& begun, ItemInfo& item,
                 std::string_view& value);

void CountHit(const EngineContext& context, const ClientRequest& request,
              Width width);

}  // namespace ers::proxy

#endif  // ERS_PROXY_ENGINE_QUICK_HITS_H_
