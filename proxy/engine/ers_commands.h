// The commands of the line "ers": transition, stat and list.
#ifndef ERS_PROXY_ENGINE_ERS_COMMANDS_H_
#define ERS_PROXY_ENGINE_ERS_COMMANDS_H_

#include <functional>
#include <string_view>

#include "engine/context.h"
#include "ers/object_info.h"
#include "ers/status.h"
#include "net/task.h"
#include "protocol/request.h"
#include "store/support/memory.h"

namespace ers::proxy {

// Arguments outlive the tasks.
net::Task<Done> TransitionObject(const EngineContext& context,
                                 const ClientRequest& request,
                                 store::Memory& memory);
net::Task<Done> InspectObject(const EngineContext& context,
                              const ClientRequest& request);

// False ends the listing.
using Listing = std::function<bool(std::string_view, const ObjectInfo&)>;
// The objects that a kList asks for. One that is not ended publishes a census.
net::Task<Done> ListObjects(const EngineContext& context,
                            const ClientRequest& request, const Listing& visit);
// Publishes one, too, unless `goes_on` has said no.
net::Task<Status> CountObjects(const EngineContext& context,
                               const std::function<bool()>& goes_on);

}  // namespace ers::proxy

#endif  // ERS_PROXY_ENGINE_ERS_COMMANDS_H_
