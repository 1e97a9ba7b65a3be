#include "shared/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "shared/address.h"

namespace ers::proxy {
namespace {

constexpr int kBacklog = 1024;

tl::unexpected<Status> Refuse(std::string_view address, std::string_view why) {
  return Fail(StatusCode::kInvalidArgument,
              fmt::format("listen: {}: {}", address, why));
}

tl::unexpected<Status> RefuseErrno(std::string_view address) {
  const int error = errno;
  const char* advice =
      error == EADDRINUSE      ? "; another program listens there: stop it, or "
                                 "choose another port"
      : error == EACCES        ? "; choose a port above 1023, or a folder that "
                                 "can be written to"
      : error == EADDRNOTAVAIL ? "; this machine does not have that address"
                               : "";
  return Refuse(address, std::strerror(error) + std::string(advice));
}

// As the kernel has it; of no family: it is no socket.
sockaddr_storage BoundTo(const Socket& socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  return bound;
}

int PortOf(const sockaddr_storage& at) {
  if (at.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(at).sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in&>(at).sin_port);
}

bool SameHost(const sockaddr_storage& a, const sockaddr_storage& b) {
  if (a.ss_family != b.ss_family) return false;
  if (a.ss_family == AF_INET6) {
    return std::memcmp(&reinterpret_cast<const sockaddr_in6&>(a).sin6_addr,
                       &reinterpret_cast<const sockaddr_in6&>(b).sin6_addr,
                       sizeof(in6_addr)) == 0;
  }
  return a.ss_family == AF_INET &&
         reinterpret_cast<const sockaddr_in&>(a).sin_addr.s_addr ==
             reinterpret_cast<const sockaddr_in&>(b).sin_addr.s_addr;
}

// All of `inherited` that are at one address, which `fits` says of the first
// and `same` of the others.
template <typename Fits, typename Same>
std::vector<Socket> TakeFrom(std::vector<Socket>& inherited, const Fits& fits,
                             const Same& same) {
  std::vector<Socket> taken;
  std::optional<sockaddr_storage> first;
  for (Socket& socket : inherited) {
    const sockaddr_storage bound = BoundTo(socket);
    if (first ? !same(*first, bound) : !fits(bound)) continue;
    first = bound;
    fcntl(socket.get(), F_SETFL, fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
    taken.push_back(std::move(socket));
  }
  std::erase_if(inherited,
                [](const Socket& socket) { return socket.get() < 0; });
  return taken;
}

std::vector<Socket> TakeTcp(std::vector<Socket>& inherited,
                            const addrinfo& where) {
  sockaddr_storage asked{};
  std::memcpy(&asked, where.ai_addr, where.ai_addrlen);
  const auto same = [](const sockaddr_storage& a, const sockaddr_storage& b) {
    return SameHost(a, b) && PortOf(a) == PortOf(b);
  };
  const auto fits = [&](const sockaddr_storage& bound) {
    return PortOf(asked) == 0 ? SameHost(asked, bound) : same(asked, bound);
  };
  return TakeFrom(inherited, fits, same);
}

std::vector<Socket> TakeUnix(std::vector<Socket>& inherited,
                             std::string_view path) {
  const auto fits = [path](const sockaddr_storage& bound) {
    return bound.ss_family == AF_UNIX &&
           reinterpret_cast<const sockaddr_un&>(bound).sun_path == path;
  };
  return TakeFrom(inherited, fits, [](const auto&, const auto&) {
    return false;  // there is one at a path
  });
}

std::string NameOf(const Socket& socket, const Address& asked) {
  const sockaddr_storage bound = BoundTo(socket);
  const int port = PortOf(bound);
  return bound.ss_family == AF_INET6 ? fmt::format("[{}]:{}", asked.host, port)
                                     : fmt::format("{}:{}", asked.host, port);
}

Socket OpenTcp(const addrinfo& where) {
  Socket opened(
      socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (opened.get() < 0 ||
      setsockopt(opened.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(opened.get(), where.ai_addr, where.ai_addrlen) != 0) {
    return Socket();
  }
  return opened;
}

// The first socket does not share its port: so another program's is noticed.
// Once it is bound, it and the others do. Empty, with errno: it cannot be.
std::vector<Socket> OpenAt(addrinfo& where, int workers) {
  {
    // A probe: bind without sharing fails where another socket listens.
    const Socket probe = OpenTcp(where);
    if (probe.get() < 0) return {};
    const sockaddr_storage bound = BoundTo(probe);
    std::memcpy(where.ai_addr, &bound, where.ai_addrlen);
  }
  const int on = 1;
  std::vector<Socket> sockets;
  for (int i = 0; i < workers; ++i) {
    Socket opened(
        socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (opened.get() < 0 ||
        setsockopt(opened.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) !=
            0 ||
        setsockopt(opened.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) !=
            0 ||
        bind(opened.get(), where.ai_addr, where.ai_addrlen) != 0 ||
        listen(opened.get(), kBacklog) != 0) {
      return {};
    }
    sockets.push_back(std::move(opened));
  }
  return sockets;
}

Result<Listener> ListenTcp(std::string_view address, const Address& parts,
                           int workers, std::vector<Socket>& inherited) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(parts.host.empty() ? nullptr : parts.host.c_str(),
                  parts.port.c_str(), &hints, &found);
  if (error != 0) return Refuse(address, gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found,
                                                             freeaddrinfo);
  Listener listener;
  for (addrinfo* i = found; i != nullptr; i = i->ai_next) {
    listener.sockets = TakeTcp(inherited, *i);
    if (!listener.sockets.empty()) break;
  }
  for (addrinfo* i = found; i != nullptr && listener.sockets.empty();
       i = i->ai_next) {
    listener.sockets = OpenAt(*i, workers);
    // "localhost" is also ::1 where the machine has no IPv6.
    const bool lacks_it = errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT;
    if (!listener.sockets.empty() || !lacks_it) break;
  }
  if (listener.sockets.empty()) return RefuseErrno(address);
  listener.name = NameOf(listener.sockets.front(), parts);
  return listener;
}

// A socket that a process has left behind when it died.
bool IsStale(const sockaddr_un& where) {
  struct stat about{};
  if (lstat(where.sun_path, &about) != 0 || !S_ISSOCK(about.st_mode)) {
    return false;
  }
  // Not to wait for a process that listens and does not accept.
  const Socket probe(
      socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return probe.get() >= 0 &&
         connect(probe.get(), reinterpret_cast<const sockaddr*>(&where),
                 sizeof where) != 0 &&
         errno == ECONNREFUSED;
}

tl::unexpected<Status> RefusePath(const std::string& path, int error) {
  struct stat about{};
  if (error == EADDRINUSE && lstat(path.c_str(), &about) == 0 &&
      !S_ISSOCK(about.st_mode)) {
    return Refuse(path,
                  "a file that is no socket is there: move it away, or choose "
                  "another path");
  }
  if (error == ENOENT || error == ENOTDIR) {
    const std::string folder = path.substr(0, path.rfind('/'));
    return Refuse(path, fmt::format("there is no folder {}/: make it, or "
                                    "choose another path",
                                    folder));
  }
  errno = error;
  return RefuseErrno(path);
}

Result<Listener> ListenUnix(const std::string& path,
                            std::vector<Socket>& inherited) {
  Listener listener;
  listener.name = path;
  listener.sockets = TakeUnix(inherited, path);
  if (!listener.sockets.empty()) return listener;
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::memcpy(where.sun_path, path.data(), path.size());
  Socket opened(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto bind_it = [&] {
    return bind(opened.get(), reinterpret_cast<const sockaddr*>(&where),
                sizeof where) == 0;
  };
  if (opened.get() < 0) return RefuseErrno(path);
  if (!bind_it()) {
    const int error = errno;
    if (error != EADDRINUSE || !IsStale(where)) return RefusePath(path, error);
    unlink(where.sun_path);
    if (!bind_it()) return RefusePath(path, errno);
  }
  if (listen(opened.get(), kBacklog) != 0) return RefuseErrno(path);
  listener.sockets.push_back(std::move(opened));
  return listener;
}

}  // namespace

Socket::Socket(Socket&& other) noexcept
    : number_(std::exchange(other.number_, -1)) {}
Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}
Socket::~Socket() {
  if (number_ >= 0) close(number_);
}

Result<Listener> Listen(std::string_view address, int workers,
                        std::vector<Socket>& inherited) {
  const Result<Address> parts = ParseAddress(address);
  if (!parts) return Refuse(address, parts.error().message());
  return parts->path.empty() ? ListenTcp(address, *parts, workers, inherited)
                             : ListenUnix(parts->path, inherited);
}

std::string NameOf(const Socket& listening) {
  const sockaddr_storage bound = BoundTo(listening);
  if (bound.ss_family == AF_UNIX) {
    return reinterpret_cast<const sockaddr_un&>(bound).sun_path;
  }
  std::array<char, NI_MAXHOST> host{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&bound), sizeof bound,
                  host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "no address";
  }
  Address parts;
  parts.host = host.data();
  return NameOf(listening, parts);
}

}  // namespace ers::proxy
