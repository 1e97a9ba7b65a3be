// Relay: listens for each of its servers, and passes on what clients and
// servers send, by the rules of each.
#ifndef ERS_EVAL_TAILS_RELAY_H_
#define ERS_EVAL_TAILS_RELAY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "net/event_loop.h"
#include "tails/session.h"

namespace ers::eval {

// Servers are numbered from 0 on. One thread.
class Relay final : public Session::Owner {
 public:
  // `ports`: of 127.0.0.1. Throws std::system_error.
  Relay(net::EventLoop& loop, const std::vector<int>& ports);
  ~Relay() override;
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Where it listens, a free port for each server.
  [[nodiscard]] std::vector<int> Ports() const;
  [[nodiscard]] std::size_t Count() const { return servers_.size(); }
  Rules& RulesOf(std::size_t server);
  // From now on nothing passes between the process and the server: neither on
  // the connections that there are, nor on new ones.
  void CutOff(std::size_t server, int pid);
  // Ends that for all processes.
  void Heal(std::size_t server);

  [[nodiscard]] const Counts& CountsOf(std::size_t server) const;
  void Reset();

  void WakeAt(net::TimePoint due) override;
  void Ended(Session& session) override;
  std::uint64_t& Depth() override { return depth_; }

 private:
  struct Connection {
    std::unique_ptr<Session> session;
    int peer_port = 0;
  };
  // The relay before one server.
  struct Server {
    int port = 0;
    int listener = -1;
    int listens_on = 0;
    std::unique_ptr<net::Watch> watch;
    Traffic traffic;
    std::set<int> cut_off;  // processes
    std::map<Session*, Connection> connections;
  };

  void Listen(Server& server);
  void Accept(Server& server);
  void Wake();

  net::EventLoop& loop_;
  std::uint64_t depth_ = 0;
  // libevent's own timers are some milliseconds coarse.
  int timer_ = -1;
  net::TimePoint wakes_at_ = net::TimePoint::max();
  std::vector<std::unique_ptr<Server>> servers_;
  std::unique_ptr<net::Watch> timer_watch_;
};

}  // namespace ers::eval

#endif  // ERS_EVAL_TAILS_RELAY_H_
