// What the admin port's requests and replies are to their handlers.
#ifndef ERS_PROXY_ADMIN_HTTP_H_
#define ERS_PROXY_ADMIN_HTTP_H_

#include <string>
#include <string_view>

#include "metrics/event_log.h"

namespace ers::proxy {

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // without what follows a '?', not decoded
  std::string body;
  std::string content_type;
  std::string host;           // as the client calls us
  std::string authorization;  // a secret: not for the log
  // Of browsers: the page that had it send this, and what that page is to us.
  std::string origin;
  std::string fetch_site;
  Asker sender;
};

// The reply to a request whose token is missing or wrong.
inline constexpr int kUnauthorized = 401;

struct HttpReply {
  int code = 200;
  std::string body;
  std::string allow;  // of a 405: what is allowed
  std::string type = "application/json";
  std::string content_security_policy;  // of a page
};

// {"error": message}, and "code" where one is given: a StatusCodeName.
HttpReply HttpError(int code, std::string_view message,
                    std::string_view status = {});

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_HTTP_H_
