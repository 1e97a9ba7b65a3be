// The /v1/ part of the admin port: transitions, jobs and servers, as JSON
// (docs/reference/protocol.md).
#ifndef ERS_PROXY_ADMIN_API_H_
#define ERS_PROXY_ADMIN_API_H_

#include <functional>

#include "admin/http.h"
#include "admin/tunnels.h"
#include "jobs/jobs.h"

namespace ers::proxy {

// Called once: before ServeApi returns, or later on another thread.
using ApiAnswer = std::function<void(HttpReply)>;

// Any thread. What the request points to is not needed any more when it
// returns.
void ServeApi(Jobs& jobs, Tunnels& tunnels, const HttpRequest& request,
              ApiAnswer answer);

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_API_H_
