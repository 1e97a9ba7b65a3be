// What the admin port's requests and replies are to their handlers.
#ifndef ERS_PROXY_ADMIN_HTTP_H_
#define ERS_PROXY_ADMIN_HTTP_H_

#include <functional>
#include <string>
#include <string_view>

#include "metrics/event_log.h"
#include "shared/listener.h"

namespace ers::proxy {

struct HttpRequest {
  std::string method;  // "GET"
  // Without what follows a '?', not decoded; of CONNECT the server's name.
  std::string path;
  std::string body;
  std::string content_type;
  std::string host;  // as the client calls us
  // Of CONNECT: what it has for a proxy. A secret: not for the log.
  std::string authorization;
  // Of browsers: the page that had it send this, and what that page is to us.
  std::string origin;
  std::string fetch_site;
  Asker sender;
};

// Codes of replies. The token is missing or wrong: 401, and 407 of CONNECT.
inline constexpr int kBadRequest = 400;
inline constexpr int kUnauthorized = 401;
inline constexpr int kProxyUnauthorized = 407;
inline constexpr int kForbidden = 403;
inline constexpr int kBadGateway = 502;
inline constexpr int kUnavailable = 503;
inline constexpr int kGatewayTimeout = 504;

struct HttpReply {
  int code = 200;
  std::string body;
  std::string allow;  // of a 405: what is allowed
  std::string type = "application/json";
  std::string content_security_policy;  // of a page
  // Gets the connection in place of a reply, if its client is there still, and
  // has sent nothing behind the request.
  std::function<void(Socket client)> take_over = {};
};

// {"error": message}, and "code" where one is given: a StatusCodeName.
HttpReply HttpError(int code, std::string_view message,
                    std::string_view status = {});

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_HTTP_H_
