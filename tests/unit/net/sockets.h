// A socket that listens, and a handler that notes what a stream does.
#ifndef TESTS_UNIT_NET_SOCKETS_H_
#define TESTS_UNIT_NET_SOCKETS_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "net/endpoint.h"
#include "net/runtime.h"

namespace ers::test {

// A listening socket on a free loopback port or a unix path of its own.
class Listener {
 public:
  enum class Kind { kIpv4, kIpv6, kUnix };

  explicit Listener(Kind kind, int backlog = 16) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (kind == Kind::kUnix) {
      // mkdtemp fills in the Xs.
      char folder[] = "/tmp/event-loop-test-XXXXXX";
      REQUIRE(mkdtemp(folder) != nullptr);
      folder_ = folder;
      endpoint.path = folder_ + "/socket";
      sockaddr_un local{};
      local.sun_family = AF_UNIX;
      std::strncpy(local.sun_path, endpoint.path.c_str(),
                   sizeof local.sun_path - 1);
      std::memcpy(&address, &local, sizeof local);
      size = sizeof local;
    } else if (kind == Kind::kIpv6) {
      sockaddr_in6 local{};
      local.sin6_family = AF_INET6;
      local.sin6_addr = in6addr_loopback;
      std::memcpy(&address, &local, sizeof local);
      size = sizeof local;
    } else {
      sockaddr_in local{};
      local.sin_family = AF_INET;
      local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      std::memcpy(&address, &local, sizeof local);
      size = sizeof local;
    }
    fd_ = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (fd_ < 0 || bind(fd_, any, size) != 0) return;
    REQUIRE(listen(fd_, backlog) == 0);
    size = sizeof address;
    REQUIRE(getsockname(fd_, any, &size) == 0);
    if (kind == Kind::kIpv4) {
      sockaddr_in local{};
      std::memcpy(&local, &address, sizeof local);
      endpoint.host = "127.0.0.1";
      endpoint.port = ntohs(local.sin_port);
    } else if (kind == Kind::kIpv6) {
      sockaddr_in6 local{};
      std::memcpy(&local, &address, sizeof local);
      endpoint.host = "::1";
      endpoint.port = ntohs(local.sin6_port);
    }
    usable = true;
  }
  ~Listener() {
    Close();
    if (folder_.empty()) return;
    unlink(endpoint.path.c_str());
    rmdir(folder_.c_str());
  }
  int Accept() const { return accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC); }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  net::Endpoint endpoint;
  bool usable = false;  // false where this machine has no such addresses

 private:
  int fd_ = -1;
  std::string folder_;
};

struct Handler : net::StreamHandler {
  void OnConnected() override { ++connected; }
  void OnReadable() override {
    char buffer[1000];
    const iovec piece{buffer, sizeof buffer};
    const ssize_t moved = stream->ReadV(&piece, 1);
    if (moved > 0) {
      received.append(buffer, static_cast<std::size_t>(moved));
    } else {
      ended = true;
      stream.reset();
    }
  }
  void OnWritable() override {
    ++writable;
    if (on_writable) on_writable();
  }
  void OnFailed(const std::string& reason) override {
    failure = reason;
    stream.reset();
  }

  std::unique_ptr<net::Stream> stream;
  int connected = 0;
  int writable = 0;
  bool ended = false;
  std::string received;
  std::string failure;
  std::function<void()> on_writable;
};

}  // namespace ers::test

#endif  // TESTS_UNIT_NET_SOCKETS_H_
