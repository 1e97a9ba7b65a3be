// Attendant: what the main thread of a running daemon waits for: signals, and
// what is said by the process that takes over from it or that it took over
// from.
#ifndef ERS_PROXY_DAEMON_ATTENDANT_H_
#define ERS_PROXY_DAEMON_ATTENDANT_H_

#include <signal.h>
#include <sys/signalfd.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "config/arguments.h"
#include "config/options.h"
#include "daemon/daemon.h"
#include "daemon/handover.h"

namespace ers::proxy {

// Main thread only.
class Attendant {
 public:
  // `running` are the options of the daemon, which serves. `before`: where it
  // took over, and that process has not ended yet. All outlive this.
  Attendant(const Arguments& arguments, ServerOptions& running, Daemon& daemon,
            int signals, std::optional<HandoverChannel> before);
  // Until its workers have ended. False: it had to end.
  bool Run();

 private:
  void OnSignal(const signalfd_siginfo& info);
  void OnSuccessor();
  void OnSuccessorGone();
  void OnBefore();
  void OnHandoverLate();
  void Reload();
  void BeginHandover();
  void Stop();
  void EndSoon();
  [[nodiscard]] int WaitMs() const;

  const Arguments& arguments_;
  ServerOptions& running_;
  Daemon& daemon_;
  const int signals_;
  std::optional<HandoverChannel> before_;
  int taken_over_ = 0;  // clients

  std::optional<Successor> successor_;
  bool gave_way_ = false;     // jobs are the successor's
  bool handed_over_ = false;  // so are the clients
  // When the successor is given up; once it serves: when clients are cut off
  // that could not be handed over.
  std::optional<std::chrono::steady_clock::time_point> patience_ends_;

  int stops_ = 0;
  bool ended_ = false;
  bool well_ = true;
  std::thread joiner_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_DAEMON_ATTENDANT_H_
