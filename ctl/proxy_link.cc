#include "ctl/proxy_link.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

namespace ers::ctl {
namespace {

constexpr std::size_t kReadBytes = 16 << 10;
// No answer of a proxy has a longer one.
constexpr std::size_t kMaxLine = 64 << 10;

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
                      "its listen address, or for jobs its admin address",
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

Result<Descriptor> ConnectPath(const std::string& path, double timeout) {
  sockaddr_un to = {};
  to.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(to.sun_path), sizeof to.sun_path - 1);
  Descriptor made;
  const int error = Connect(AF_UNIX, reinterpret_cast<const sockaddr*>(&to),
                            sizeof to, timeout, made);
  if (error != 0) return Fail(Unreachable(path, Reason(error)));
  return made;
}

}  // namespace

Result<proxy::Address> ParseProxy(const std::string& address) {
  Result<proxy::Address> where = proxy::ParseAddress(address);
  const std::string why = !where ? where.error().message()
                          : where->port == "0"
                              ? "nothing listens on port 0: give the port that "
                                "the ersproxy wrote to its log or --port-file"
                              : "";
  if (why.empty()) return where;
  return Fail(StatusCode::kInvalidArgument,
              fmt::format("--proxy {}: {}", address, why));
}

Result<ProxyLink> ProxyLink::Open(const std::string& address,
                                  double timeout_seconds) {
  const Result<proxy::Address> where = ParseProxy(address);
  if (!where) return Fail(where.error());
  if (!where->path.empty()) {
    Result<Descriptor> made = ConnectPath(where->path, timeout_seconds);
    if (!made) return Fail(made.error());
    return ProxyLink(address, std::move(*made));
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const std::string host = where->host.empty() ? "localhost" : where->host;
  const int unknown =
      getaddrinfo(host.c_str(), where->port.c_str(), &hints, &list);
  if (unknown != 0) return Fail(Unreachable(address, gai_strerror(unknown)));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list,
                                                                 &freeaddrinfo);
  int error = 0;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    Descriptor made;
    error = Connect(at->ai_family, at->ai_addr, at->ai_addrlen, timeout_seconds,
                    made);
    if (error == 0) return ProxyLink(address, std::move(made));
  }
  return Fail(Unreachable(address, Reason(error)));
}

Status ProxyLink::Cut(std::string_view doing, int error) const {
  const std::string why =
      error == 0 ? "it closed the connection" : Reason(error);
  return {StatusCode::kOutcomeUnknown,
          fmt::format("{}: {} {}: see its log, then try again", address_, doing,
                      why)};
}

Status ProxyLink::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return Cut("while the command was sent:", errno);
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<std::string> ProxyLink::Line() {
  std::array<char, kReadBytes> buffer;
  for (;;) {
    const std::size_t end = rest_.find('\n');
    if (end != std::string::npos) {
      std::string line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      if (line.ends_with('\r')) line.pop_back();
      return line;
    }
    if (rest_.size() > kMaxLine) {
      return Fail(StatusCode::kIncompatible,
                  fmt::format("{} does not answer as an ersproxy: is it its "
                              "listen address?",
                              address_));
    }
    const ssize_t got = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return Fail(Cut("the answer did not come:", got < 0 ? errno : 0));
    rest_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace ers::ctl
