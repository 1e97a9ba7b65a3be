// append and prepend.
#ifndef ERS_PROXY_ENGINE_APPEND_H_
#define ERS_PROXY_ENGINE_APPEND_H_

#include "engine/context.h"
#include "net/task.h"
#include "protocol/request.h"
#include "store/support/content.h"
#include "store/support/memory.h"

namespace ers::proxy {

// A kStore of kAppend or kPrepend. Arguments outlive the task.
net::Task<Done> AppendOrPrepend(const EngineContext& context,
                                const ClientRequest& request,
                                store::Content& content, store::Memory& memory);

}  // namespace ers::proxy

#endif  // ERS_PROXY_ENGINE_APPEND_H_
