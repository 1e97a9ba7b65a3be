// Handover: how a daemon gives its place to a new process of its program, with
// every client.
//
//   the old one                          the new one
//   starts it, with its listening
//   sockets                 ---------->  settings, servers: can it serve?
//   ends its jobs           <----------  kMayServe
//   kPlaceIsFree            ---------->  goes on with the jobs, takes clients
//   takes no more clients   <----------  kServes
//   kClient, each between
//   two of its requests     ---------->  serves it
//   ends
//
// The sockets are the same in both: no client is refused in between, and none
// waits in a queue that is thrown away.
#ifndef ERS_PROXY_DAEMON_HANDOVER_H_
#define ERS_PROXY_DAEMON_HANDOVER_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ers/status.h"
#include "shared/listener.h"

namespace ers::proxy {

// One end of what the two say to each other. Send: any thread; the rest: one.
class HandoverChannel {
 public:
  enum class Word : char {
    kMayServe = 'm',
    kPlaceIsFree = 'p',
    kServes = 's',
    kClient = 'c',  // with its socket, and what it has sent of a request
  };
  struct Message {
    Word word = Word::kMayServe;
    std::string unread = {};
    Socket client = Socket();
  };

  explicit HandoverChannel(Socket socket) : socket_(std::move(socket)) {}

  // Waits where the other one takes nothing, for some seconds. False: it is
  // gone, or takes nothing. `client` stays the caller's.
  bool Send(Word word, std::string_view unread = {}, int client = -1) const;
  // Waits. Nothing: the other one is gone.
  [[nodiscard]] std::optional<Message> Receive() const;
  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  Socket socket_;
};

// A new process that is to take over from this one.
struct Successor {
  pid_t pid = -1;
  std::shared_ptr<const HandoverChannel> channel;
};
// Runs `command`, its program first, with these listening sockets; `kept`, as
// in an Inheritance. kUnavailable: it cannot be.
Result<Successor> StartSuccessor(const std::vector<std::string>& command,
                                 const std::vector<int>& listening, bool kept);

// What this process was started with.
struct Inheritance {
  std::vector<Socket> listening;  // from systemd, or from the process before
  // systemd keeps them as well, for another process: they may not be shut down.
  bool kept = false;
  std::optional<HandoverChannel> before;  // the process that it is to replace
};
// Once, before threads are started: later calls, and programs that this one
// starts, find nothing. kInvalidArgument: the process before is of a version
// that says other things.
Result<Inheritance> TakeInheritance();

}  // namespace ers::proxy

#endif  // ERS_PROXY_DAEMON_HANDOVER_H_
