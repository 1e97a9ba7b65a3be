// Listening sockets: one per worker and address, so that the kernel shares out
// the clients (SO_REUSEPORT); one for all workers where it is a unix socket.
#ifndef ERS_PROXY_SHARED_LISTENER_H_
#define ERS_PROXY_SHARED_LISTENER_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ers/status.h"

namespace ers::proxy {

// A file descriptor that is closed with its owner. -1: none.
class Socket {
 public:
  explicit Socket(int number = -1) : number_(number) {}
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();
  [[nodiscard]] int get() const { return number_; }
  // From now on it is the caller's.
  [[nodiscard]] int Release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// The sockets of one address.
struct Listener {
  std::string name;  // as bound: with the port that was chosen for 0
  std::vector<Socket> sockets;
};

// "host:port", "[IPv6]:port" or "/unix/path"; port 0 takes any free one.
// `workers` sockets (a unix path: one). An old unix socket that nothing listens
// on is replaced. kInvalidArgument names the address and what is wrong.
// Those of `inherited` that listen at the address already are taken from there
// and are all that it gets; port 0 takes the first that are at the host.
Result<Listener> Listen(std::string_view address, int workers,
                        std::vector<Socket>& inherited);

// Where it listens.
std::string NameOf(const Socket& listening);

}  // namespace ers::proxy

#endif  // ERS_PROXY_SHARED_LISTENER_H_
