#include "bench/own_network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace ers::bench {
namespace {

// A network other than the first one may not set its default, but its routes
// may have a congestion control of their own.
constexpr const char* kSetUp =
    "exec 2>/dev/null; ip link set lo up && "
    "for to in 127.0.0.0/8 127.0.0.1; do "
    "ip route change table local local $to dev lo proto kernel scope host "
    "src 127.0.0.1 congctl cubic || exit 1; done";

bool Enter() {
  const int before = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (before < 0) return false;
  bool entered = unshare(CLONE_NEWNET) == 0;
  if (entered && std::system(kSetUp) != 0) {
    (void)setns(before, CLONE_NEWNET);
    entered = false;
  }
  close(before);
  return entered;
}

// As a connection has it.
std::string CongestionControl() {
  std::array<char, 16> name{};
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = name.size() - 1;
  const bool known =
      server >= 0 && client >= 0 && bind(server, any, size) == 0 &&
      listen(server, 1) == 0 && getsockname(server, any, &size) == 0 &&
      connect(client, any, size) == 0 &&
      getsockopt(client, IPPROTO_TCP, TCP_CONGESTION, name.data(), &length) ==
          0;
  if (client >= 0) close(client);
  if (server >= 0) close(server);
  return known ? name.data() : "unknown";
}

}  // namespace

std::string EnterOwnNetwork() {
  const bool own = Enter();
  return fmt::format("{}, in {}", CongestionControl(),
                     own ? "a network of its own"
                         : "this machine's network (another one takes root, "
                           "and iproute2)");
}

}  // namespace ers::bench
