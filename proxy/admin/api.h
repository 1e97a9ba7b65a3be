// The /v1/ part of the admin port: transitions and jobs, as JSON
// (docs/protocol.md). It knows no HTTP library.
#ifndef ERS_PROXY_ADMIN_API_H_
#define ERS_PROXY_ADMIN_API_H_

#include <functional>
#include <string>
#include <string_view>

#include "jobs/jobs.h"

namespace ers::proxy {

// Longer ones are refused.
inline constexpr std::size_t kMaxApiBody = 64 << 10;

struct ApiRequest {
  std::string_view method;  // GET, HEAD, POST, DELETE
  std::string_view path;    // with its "/v1/"
  std::string_view body;
  std::string_view content_type;
  bool has_origin = false;  // a browser sent it
};

struct ApiReply {
  int code = 200;
  std::string body;   // JSON
  std::string allow;  // of a 405: what is allowed
};

// Called once: before ServeApi returns, or later on another thread.
using ApiAnswer = std::function<void(ApiReply)>;

// Any thread. What the request points to is not needed any more when it
// returns.
void ServeApi(Jobs& jobs, const ApiRequest& request, ApiAnswer answer);

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_API_H_
