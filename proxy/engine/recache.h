// Which one of several clients puts a new value: of an item that is missing,
// stale or near its end (memcached's protocol.txt, "Stale items").
#ifndef ERS_PROXY_ENGINE_RECACHE_H_
#define ERS_PROXY_ENGINE_RECACHE_H_

#include <cstdint>
#include <optional>

#include "engine/context.h"
#include "ers/object_info.h"
#include "net/task.h"
#include "protocol/reply.h"
#include "protocol/request.h"

namespace ers::proxy {

// A miss leaves an empty item behind, which the client is to fill. Nothing: a
// rival made it first, and there is something to get. Arguments outlive the
// tasks.
net::Task<std::optional<Gotten>> Vivify(const EngineContext& context,
                                        const ClientRequest& request);
// The client wins where it sees the item stale or near its end, and no other
// has won; `expiry` is what it goes by. Sets the marks of `item`.
net::Task<void> Judge(const EngineContext& context,
                      const ClientRequest& request, const ObjectInfo& info,
                      std::int64_t expiry, ItemInfo& item);

}  // namespace ers::proxy

#endif  // ERS_PROXY_ENGINE_RECACHE_H_
