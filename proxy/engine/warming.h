// Warming: what a miss, and a change, mean while values of an old pool are
// taken over.
#ifndef ERS_PROXY_ENGINE_WARMING_H_
#define ERS_PROXY_ENGINE_WARMING_H_

#include <functional>
#include <string_view>

#include "engine/context.h"
#include "engine/done.h"
#include "net/runtime.h"
#include "net/task.h"
#include "protocol/request.h"
#include "store/support/memory.h"
#include "warm/flights.h"
#include "warm/old_pool.h"

namespace ers::proxy {

// Of one loop; all that it refers to outlives the commands.
struct Warming {
  net::Runtime& runtime;
  OldPool& pool;
  WarmFlights& flights;  // shared by all engines of the daemon
};

// A command that is no get, which `run` does here: what goes by the value that
// is there sees the old one, and what changes it takes the old one out. All
// that `run` refers to outlives the task.
net::Task<Done> RunWarming(const EngineContext& context,
                           const ClientRequest& request, store::Memory& memory,
                           std::function<net::Task<Done>()> run);

// After a miss: the old pool's value is stored here, with its flags and time to
// live, unless there is one by then. False: nothing has come of it. Several
// that miss a key wait for the one that asks.
//
// A value that is deleted meanwhile does not come back: every delete reaches
// the old pool before this cluster, so what is gone there once the value is
// stored here is taken out again.
net::Task<bool> WarmKey(const EngineContext& context, std::string_view key,
                        store::Memory& memory);

}  // namespace ers::proxy

#endif  // ERS_PROXY_ENGINE_WARMING_H_
