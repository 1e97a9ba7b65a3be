// MemcachedProcess: a real memcached that a test starts, hurts and stops.
#ifndef TESTS_CLUSTER_MEMCACHED_PROCESS_H_
#define TESTS_CLUSTER_MEMCACHED_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "net/endpoint.h"

namespace ers::test {

// Listens on a free loopback port, or on a unix socket in a folder of its own.
// Killed and waited for by the destructor. A test that cannot start it fails:
// it throws std::runtime_error. Thread-compatible; movable.
class MemcachedProcess {
 public:
  enum class Listen { kTcp, kUnix };

  // Starts it with `arguments` (beside its address) and waits until it takes
  // connections.
  explicit MemcachedProcess(std::vector<std::string> arguments = {},
                            Listen listen = Listen::kTcp);
  ~MemcachedProcess();
  MemcachedProcess(MemcachedProcess&& other) noexcept;
  MemcachedProcess& operator=(MemcachedProcess&&) = delete;

  const net::Endpoint& endpoint() const { return endpoint_; }
  pid_t pid() const { return pid_; }
  bool running() const { return pid_ > 0; }

  // kill -9, and waits for its end. No-op if it does not run.
  void Kill();
  // Starts it again at the same address, empty.
  void Restart();
  // SIGSTOP, and waits until it has stopped; SIGCONT.
  void Pause();
  void Resume();

  // Sends `text` on a connection of its own and returns what is answered, up
  // to and with the first line that is `last` ("" for any line).
  std::string Ask(const std::string& text, const std::string& last = "") const;

 private:
  void Start();
  bool TryStart();
  int Connect() const;

  std::vector<std::string> arguments_;
  net::Endpoint endpoint_;
  std::string folder_;  // of the unix socket
  int held_ = -1;       // a socket that keeps the port
  pid_t pid_ = -1;
};

}  // namespace ers::test

#endif  // TESTS_CLUSTER_MEMCACHED_PROCESS_H_
