#include "admin/gate.h"

#include <arpa/inet.h>
#include <strings.h>

#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "shared/token.h"

namespace ers::proxy {
namespace {

// "Bearer TOKEN"; empty where it is anything else.
std::string_view BearerOf(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  if (authorization.size() < kScheme.size() ||
      strncasecmp(authorization.data(), kScheme.data(), kScheme.size()) != 0) {
    return {};
  }
  return authorization.substr(kScheme.size());
}

// "host", "host:port" or "[IPv6]:port".
std::string HostOf(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    return std::string(text.substr(1, end == text.npos ? end : end - 1));
  }
  return std::string(text.substr(0, text.find(':')));
}

// A page may have a browser ask its own name, and have that name lead here a
// moment later; but not a number, nor localhost. Programs that send no name are
// no browsers.
bool IsOwnName(const std::string& host) {
  in6_addr number{};
  return host.empty() || strcasecmp(host.c_str(), "localhost") == 0 ||
         inet_pton(AF_INET, host.c_str(), &number) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &number) == 1;
}

}  // namespace

void Gate::SetToken(std::string token) {
  const MutexLock lock(mutex_);
  token_ = std::move(token);
}

std::string Gate::token() const {
  const MutexLock lock(mutex_);
  return token_;
}

std::optional<HttpReply> Gate::Refuse(const HttpRequest& request) const {
  if (request.method == "CONNECT") return RefuseConnect(request);
  if (request.path == "/healthz" || request.path == "/readyz" ||
      request.path == "/") {
    return std::nullopt;
  }
  return RefuseStranger(request);
}

// A browser sends it for no page, and not with a page's headers. Host is the
// server's name there.
std::optional<HttpReply> Gate::RefuseConnect(const HttpRequest& request) const {
  if (!request.origin.empty() || !request.fetch_site.empty()) {
    return HttpError(kForbidden, "pages may not connect to servers");
  }
  HttpRequest nameless = request;
  nameless.host.clear();
  std::optional<HttpReply> refused = RefuseStranger(nameless);
  if (refused && refused->code == kUnauthorized) {
    refused->code = kProxyUnauthorized;
    refused->body = HttpError(kProxyUnauthorized,
                              "send the token of this port: "
                              "Proxy-Authorization: Bearer TOKEN (--token-file "
                              "of ersctl)")
                        .body;
  }
  return refused;
}

std::optional<HttpReply> Gate::RefuseStranger(
    const HttpRequest& request) const {
  const std::string token = this->token();
  if (token.empty()) {
    if (IsOwnName(HostOf(request.host))) return std::nullopt;
    return HttpError(kForbidden,
                     "not by this name: ask localhost or an address, or use a "
                     "token (admin_token_file)");
  }
  if (SameToken(token, BearerOf(request.authorization))) return std::nullopt;
  if (!request.authorization.empty()) {
    return HttpError(kUnauthorized, "that is not the token of this port");
  }
  return HttpError(kUnauthorized,
                   "send the token of this port: Authorization: Bearer TOKEN");
}

}  // namespace ers::proxy
