#include "ctl/support/proxy_address.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "ctl/support/files.h"
#include "shared/token.h"

namespace ers::ctl {
namespace {

// "timed out" in place of what the socket's own time-out calls itself.
std::string Reason(int error) {
  const bool late =
      error == EAGAIN || error == EINPROGRESS || error == ETIMEDOUT;
  return late ? "no answer in time (--timeout gives it longer)"
              : std::strerror(error);
}

Status Unreachable(const std::string& address, const std::string& why) {
  return {StatusCode::kUnavailable,
          fmt::format("{}: {}: is an ersproxy running there? --proxy takes "
                      "its admin address (its option --admin)",
                      address, why)};
}

// Also bounds the time that connecting takes.
void SetTimeout(int socket, double seconds) {
  double whole = 0;
  const double part = std::modf(seconds, &whole);
  timeval time = {};
  time.tv_sec = static_cast<time_t>(whole);
  time.tv_usec = static_cast<suseconds_t>(part * 1e6);
  (void)setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  (void)setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

// errno, or 0.
int Connect(int family, const sockaddr* to, socklen_t bytes, double timeout,
            Descriptor& made) {
  made = Descriptor(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (made.get() < 0) return errno;
  SetTimeout(made.get(), timeout);
  return connect(made.get(), to, bytes) == 0 ? 0 : errno;
}

}  // namespace

Result<proxy::Address> ParseProxy(const std::string& address) {
  Result<proxy::Address> where = proxy::ParseTcpAddress(address);
  std::string why;
  if (!where) {
    why = where.error().message();
  } else if (where->port == "0") {
    why =
        "nothing listens on port 0: give the port that the ersproxy wrote to "
        "its log or --port-file";
  }
  if (why.empty()) return where;
  return Fail(StatusCode::kInvalidArgument,
              fmt::format("--proxy {}: {}", address, why));
}

Result<std::string> ReadTokenFile(const std::string& path) {
  Result<std::string> token = proxy::ReadToken(path);
  if (token) return token;
  return Fail(StatusCode::kInvalidArgument,
              fmt::format("--token-file {}", token.error().message()));
}

Status TryProxy(const std::string& address, double timeout_seconds) {
  const Result<proxy::Address> where = ParseProxy(address);
  if (!where) return where.error();
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const std::string host = where->host.empty() ? "localhost" : where->host;
  const int unknown =
      getaddrinfo(host.c_str(), where->port.c_str(), &hints, &list);
  if (unknown != 0) return Unreachable(address, gai_strerror(unknown));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list,
                                                                 &freeaddrinfo);
  int error = 0;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    Descriptor made;
    error = Connect(at->ai_family, at->ai_addr, at->ai_addrlen, timeout_seconds,
                    made);
    if (error == 0) return {};
  }
  return Unreachable(address, Reason(error));
}

}  // namespace ers::ctl
