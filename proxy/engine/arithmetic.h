// incr and decr: decimal numbers of 64 bits, as memcached's protocol.txt has
// them (section "Increment/Decrement").
#ifndef ERS_PROXY_ENGINE_ARITHMETIC_H_
#define ERS_PROXY_ENGINE_ARITHMETIC_H_

#include "engine/context.h"
#include "net/task.h"
#include "protocol/request.h"
#include "store/support/memory.h"

namespace ers::proxy {

// A kArithmetic. Arguments outlive the task.
net::Task<Done> Arithmetic(const EngineContext& context,
                           const ClientRequest& request, store::Memory& memory);

}  // namespace ers::proxy

#endif  // ERS_PROXY_ENGINE_ARITHMETIC_H_
