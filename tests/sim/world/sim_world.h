// World: client processes, model servers and the network between them, in one
// thread, in virtual time, from one seed. The same seed and the same driver
// code give the same run, event by event: trace_hash() proves it.
//
//   World --owns--> SimServer (model memcached, up, stalled, down)
//         --owns--> SimRuntime (one client process; a net::Runtime)
//         --owns--> SimConnection (two queues of bytes under way)
//
// A run: make servers and processes, start operations (net::Spawn), plant
// faults with After(), drive with RunUntil(). Whatever uses a SimRuntime is
// destroyed before the World, but for what is parked (see SimRuntime::Kill).
#ifndef ERS_TESTS_SIM_WORLD_SIM_WORLD_H_
#define ERS_TESTS_SIM_WORLD_SIM_WORLD_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/runtime.h"
#include "sim/world/model_server.h"

namespace ers::sim {

using net::Duration;
using net::TimePoint;

class SimConnection;
class SimRuntime;
class SimServer;
class World;

// Everything that can be set on the network. Chances are out of 1,000,000.
struct NetworkOptions {
  // One way; each piece of bytes draws its own, order is kept.
  Duration latency_min = std::chrono::microseconds(20);
  Duration latency_max = std::chrono::microseconds(120);
  // A piece is cut in two at a random place, and the rest comes later; reads
  // and writes move fewer bytes than asked.
  std::uint32_t split_chance = 100'000;
  // Bytes that one direction holds before WriteV takes no more.
  std::size_t window_bytes = 256 * 1024;
  // What is late arrives so long after it was sent at most. Less than others
  // wait once a lease is over (docs/internals/view.md, What is assumed).
  Duration late_max = std::chrono::milliseconds(450);
  // A connection that its client closed delivers its last bytes late instead
  // of soon.
  std::uint32_t linger_chance = 200'000;
};

// A generator of its own, so that runs repeat with every standard library.
class SeededRandom {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next();
  // 0..n-1; n > 0.
  std::uint64_t Below(std::uint64_t n) { return Next() % n; }
  [[nodiscard]] bool Chance(std::uint32_t in_a_million) {
    return in_a_million != 0 && Below(1'000'000) < in_a_million;
  }
  Duration Between(Duration least, Duration most);

 private:
  std::uint64_t state_;
};

// Something that happens at a time. Its owner may destroy it whenever it likes;
// what was scheduled is then forgotten.
class SimEvent {
 public:
  explicit SimEvent(World& world);
  virtual ~SimEvent();
  SimEvent(const SimEvent&) = delete;
  SimEvent& operator=(const SimEvent&) = delete;

  // Moves it, if it was scheduled already.
  void Schedule(TimePoint when);
  void Cancel() { wanted_ = kNever; }
  [[nodiscard]] bool scheduled() const { return wanted_ != kNever; }

 protected:
  virtual void Fire() = 0;
  World& world_;

 private:
  friend class World;
  static constexpr TimePoint kNever = TimePoint::max();
  std::uint32_t slot_;
  TimePoint wanted_ = kNever;
  // The earliest entry in the queue; a later `wanted_` is entered when that
  // one comes up.
  TimePoint queued_ = kNever;
};

// One thread.
class World {
 public:
  explicit World(std::uint64_t seed, NetworkOptions network = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // `name` is what Endpoint::name() gives: "host:port" or "/path".
  SimServer& AddServer(const std::string& name,
                       ModelServerOptions options = {});
  // 10.0.0.0:11211 and on, alike; returns them as ClusterOptions::servers.
  std::string AddServers(int count, const ModelServerOptions& options = {});
  SimRuntime& AddProcess(const std::string& name);
  SimServer* FindServer(std::string_view name);
  [[nodiscard]] const std::vector<std::unique_ptr<SimServer>>& servers() const {
    return servers_;
  }

  [[nodiscard]] TimePoint now() const { return now_; }
  [[nodiscard]] std::int64_t WallMicros() const;
  // When the wall clock shows so many Unix microseconds.
  [[nodiscard]] TimePoint AtWall(std::int64_t unix_us) const;
  // What the wall clock shows at the start. Before there are servers.
  void StartWallAt(std::int64_t unix_us) { wall_start_us_ = unix_us; }
  // Draws for the world and its driver; processes draw their own.
  SeededRandom& random() { return random_; }
  NetworkOptions& network() { return network_; }

  // Runs `what` after `delay`, outside of every process.
  void After(Duration delay, std::function<void()> what);

  // The next event; false: there is none.
  bool Step();
  // True when `done` holds (asked after every event), false when the time is
  // over or nothing is left to happen; `now` then is the deadline.
  bool RunUntil(const std::function<bool()>& done, Duration limit);
  // Until nothing is left to happen (true) or the time is over.
  bool RunUntilIdle(Duration limit);

  // Over every event, its time and the bytes it moved, so far.
  [[nodiscard]] std::uint64_t trace_hash() const { return trace_hash_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

  // For the classes of the world.
  void Trace(std::uint64_t value) {
    trace_hash_ = (trace_hash_ ^ value) * 0x9E3779B97F4A7C15U;
    trace_hash_ ^= trace_hash_ >> 29;
  }
  SimConnection& AddConnection(std::unique_ptr<SimConnection> connection);
  void CloseConnectionsOf(const SimRuntime& process,
                          std::vector<net::StreamHandler*>* handlers);
  std::uint64_t NextConnectionId() { return ++last_connection_; }

 private:
  friend class SimEvent;
  struct Entry {
    TimePoint when;
    std::uint64_t tie;
    std::uint32_t slot;
    std::uint32_t generation;
    bool operator<(const Entry& other) const {  // for a heap of the earliest
      return when != other.when ? when > other.when : tie > other.tie;
    }
  };
  struct Slot {
    SimEvent* event = nullptr;
    std::uint32_t generation = 0;
  };
  class Call;

  std::uint32_t TakeSlot(SimEvent* event);
  void FreeSlot(std::uint32_t slot);
  void Push(std::uint32_t slot, TimePoint when);
  // The next live entry is at the front, or the queue is empty.
  bool Reconcile();
  void SweepConnections();

  NetworkOptions network_;
  SeededRandom random_;
  SeededRandom ties_;
  TimePoint now_{};
  std::int64_t wall_start_us_ = 1'700'000'000'000'000;
  std::vector<Entry> queue_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t trace_hash_ = 1;
  std::uint64_t events_ = 0;
  std::uint64_t last_connection_ = 0;
  std::uint64_t process_seed_;
  int last_pid_ = 1000;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<std::unique_ptr<SimConnection>> connections_;
  std::vector<std::unique_ptr<SimServer>> servers_;
  std::vector<std::unique_ptr<SimRuntime>> processes_;
};

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_WORLD_SIM_WORLD_H_
