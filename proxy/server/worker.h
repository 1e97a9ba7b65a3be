// Worker: one thread with a loop, a session, an engine and its clients.
#ifndef ERS_PROXY_SERVER_WORKER_H_
#define ERS_PROXY_SERVER_WORKER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "config/options.h"
#include "engine/changing_keys.h"
#include "engine/engine.h"
#include "engine/warming.h"
#include "metrics/counters.h"
#include "metrics/request_meter.h"
#include "net/event_loop.h"
#include "server/connection.h"
#include "server/memory.h"
#include "shared/listener.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"
#include "tracing/trace_exporter.h"

namespace ers::proxy {

// What workers share: counts, the limits in force, what is being changed.
struct Shared {
  CensusBoard census;
  ChangingKeys changing;
  WarmFlights flights;
  std::atomic<int> connections{0};
  std::atomic<int> max_connections{0};
  int beside_clients = 0;                       // file descriptors; constant
  std::atomic<std::int64_t> idle_timeout_s{0};  // 0: none
  std::atomic<std::uint64_t> max_value_bytes{0};
  std::atomic<std::uint32_t> verbosity{0};  // answered, and nothing else
  std::atomic<std::uint64_t> memory_in_flight_bytes{0};
  // Any thread; set before any worker starts.
  std::function<void(HitBatch)> take_hits;
  TraceExporter* exporter = nullptr;  // the same; null: there is no collector
};

// Of each worker.
MemoryLimit MemoryLimitOf(const ServerOptions& options);

class Worker {
 public:
  // `sockets` stay the caller's and outlive the worker; so do the others.
  Worker(const ServerOptions& options,
         std::shared_ptr<store::ClusterState> cluster, std::vector<int> sockets,
         Shared& shared, decltype(ConnectionHost::stats) stats);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void Start();
  // Any thread: takes no more clients, answers what was asked, and ends. A
  // second call ends at once.
  void Stop();
  void Join();
  // Any thread: takes no more clients, gives each to `give`, on the worker's
  // thread, as Connection::HandOver says, and ends when all are gone.
  using Give = decltype(ConnectionHost::hand_over);
  void HandOver(Give give);
  // Any thread: a client that another process has had.
  void Adopt(Socket client, std::string unread);
  // Any thread: what clients ask for goes by these when `done` is called, on
  // the worker's thread.
  void Reload(std::shared_ptr<const Rules> rules, const Limits& limits,
              const MemoryLimit& memory, const Policies& policies,
              double trace_sample, std::function<void()> done);

  // Any thread: from its start on, and so long after each count.
  void CountObjectsEvery(std::chrono::seconds period);

  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const RequestMeter& requests() const { return requests_; }
  [[nodiscard]] const StepMeter& steps() const { return steps_; }
  [[nodiscard]] const store::SessionCounters& session_counters() const {
    return *session_counters_;
  }
  [[nodiscard]] std::uint64_t held_bytes() const { return memory_.held(); }

 private:
  void Run();
  net::Task<void> CountObjects(std::chrono::seconds period);
  void WatchListeners();
  void Accept(int socket);
  void PauseAccepting();
  void TakeIn(int client);
  Connection& Add(int client, std::string_view unread);
  void TurnAway(int client);
  void WatchWaiters();
  void CloseSlowClients();
  void WatchIdle();
  // The share of requests that are traced where it is `trace_sample`.
  [[nodiscard]] double ExportedShare(double trace_sample) const {
    return shared_.exporter == nullptr ? 0 : trace_sample;
  }

  const ServerOptions& options_;
  const std::vector<int> sockets_;
  Shared& shared_;
  Counters counters_;
  RequestMeter requests_;
  StepMeter steps_;
  std::shared_ptr<store::ClusterState> cluster_;
  const std::shared_ptr<store::SessionCounters> session_counters_;
  decltype(ConnectionHost::stats) stats_;

  std::unique_ptr<net::EventLoop> loop_;
  MemoryBudget memory_;
  // While others wait for memory.
  bool watches_waiters_ = false;
  std::unique_ptr<net::Timer> waiters_timer_;
  net::TimePoint waiters_since_;
  std::uint64_t waits_seen_ = 0;
  std::unique_ptr<store::Session> session_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<WideHits> wide_hits_;
  std::unique_ptr<OldPool> old_pool_;  // null: there is none
  std::unique_ptr<Warming> warming_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ConnectionHost> host_;
  std::vector<std::unique_ptr<net::Watch>> watches_;
  std::unordered_map<Connection*, std::unique_ptr<Connection>> connections_;
  std::unique_ptr<net::Timer> accept_timer_;
  std::unique_ptr<net::Timer> idle_timer_;
  std::unique_ptr<net::Timer> count_timer_;
  bool counting_ = false;
  bool stopping_ = false;
  bool at_once_ = false;
  std::thread thread_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_WORKER_H_
