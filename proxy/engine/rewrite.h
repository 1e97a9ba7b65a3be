// Rewrite: the memory of what rewrites a value.
#ifndef ERS_PROXY_ENGINE_REWRITE_H_
#define ERS_PROXY_ENGINE_REWRITE_H_

#include <cstdint>

#include "engine/context.h"
#include "ers/object_info.h"
#include "ers/status.h"
#include "net/task.h"
#include "protocol/request.h"
#include "store/objects/store.h"
#include "store/support/memory.h"

namespace ers::proxy {

// What a value takes while it is rewritten: the old one, and the new one twice
// (its blocks are staged from one of them).
struct RewriteRoom {
  std::uint64_t old_most = 0;  // bytes of the old value
  std::uint64_t added = 0;
  [[nodiscard]] std::uint64_t bytes() const { return 3 * (old_most + added); }
};

// Gives back the memory for `room`, which the caller has taken. Arguments
// outlive the task.
net::Task<Result<ObjectInfo>> Rewrite(const EngineContext& context,
                                      const ClientRequest& request,
                                      store::Memory& memory, RewriteRoom room,
                                      const store::Store::Rewriter& rewriter);

// How long the value is, as far as is known: to be checked again.
net::Task<Result<std::uint64_t>> LengthOf(const EngineContext& context,
                                          const ClientRequest& request);

}  // namespace ers::proxy

#endif  // ERS_PROXY_ENGINE_REWRITE_H_
