// Stores of short values that end with one answer of each replica: no coroutine
// runs for them.
#ifndef ERS_PROXY_ENGINE_QUICK_STORES_H_
#define ERS_PROXY_ENGINE_QUICK_STORES_H_

#include <memory>
#include <string_view>

#include "engine/context.h"
#include "ers/options.h"
#include "protocol/reply.h"
#include "protocol/request.h"
#include "store/objects/quick_put.h"
#include "store/objects/store.h"

namespace ers::proxy {

// How the value of a store, which extends none, is to be put.
struct StoreTerms {
  PutOptions options;
  store::PutTerms terms;
};
StoreTerms StoreTermsOf(const EngineContext& context,
                        const ClientRequest& request);

// Begins it; `call` as store::QuickPut::Begin has it. Null: not so, and nothing
// is begun.
std::unique_ptr<store::QuickPut> BeginQuickStore(const EngineContext& context,
                                                 const ClientRequest& request,
                                                 std::string_view value,
                                                 store::QuickPut::Call call,
                                                 void* call_context);

// After the call: what is stored now. False: not yet, and Engine::Store goes on
// with `begun`.
bool EndQuickStore(const EngineContext& context, store::QuickPut& begun,
                   ItemInfo& item);

}  // namespace ers::proxy

#endif  // ERS_PROXY_ENGINE_QUICK_STORES_H_
