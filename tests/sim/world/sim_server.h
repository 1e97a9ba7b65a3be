// SimServer: a model memcached as a process in the world: it can be down,
// stopped or cut off, forget, evict, run out of memory and lose replies.
#ifndef ERS_TESTS_SIM_WORLD_SIM_SERVER_H_
#define ERS_TESTS_SIM_WORLD_SIM_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/world/model_server.h"
#include "sim/world/sim_world.h"

namespace ers::sim {

// Chances are out of 1,000,000; per burst of commands unless said otherwise.
struct ServerFaults {
  // The commands are applied, then the connection is cut: with no reply, or
  // in the middle of one.
  std::uint32_t drop_reply_chance = 0;
  std::uint32_t cut_reply_chance = 0;
  std::uint32_t evict_chance = 0;           // of one random item
  std::uint32_t out_of_memory_chance = 0;   // per allocation
  std::uint32_t dump_miss_chance = 15'000;  // per key of "metadump all"
  std::uint32_t dump_busy_chance = 0;       // per metadump
  std::uint32_t dump_refused_chance = 0;    // per metadump
  Duration dump_time{};  // how long the reply to a metadump takes
  // Added to every reply, or to so many.
  Duration slow_min{};
  Duration slow_max{};
  std::uint32_t slow_chance = 1'000'000;
};

// Owned by its World, lives as long. One thread.
class SimServer {
 public:
  SimServer(World& world, std::string name, ModelServerOptions options,
            int pid);

  // kill -9: connections break, memory is forgotten, nothing listens.
  void Crash();
  // A new, empty process with another pid. No-op unless it is down.
  void Restart();
  // SIGSTOP and SIGCONT: bytes are still accepted, answered only afterwards.
  void Stall();
  void Continue();
  void CutConnections();
  // What is sent over one of its connections takes so long.
  void DelayOne(Duration length);
  // While false, the network lets nothing through either way; it is delivered
  // afterwards, as TCP does. For all processes, or for one.
  void SetReachable(bool reachable);
  void SetReachableFrom(const SimRuntime& process, bool reachable);

  bool Evict(std::string_view key);
  void EvictRandom(std::size_t count);

  [[nodiscard]] bool up() const { return up_; }
  [[nodiscard]] bool stalled() const { return stalled_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  ServerFaults& faults() { return faults_; }
  // Metadumps asked for so far.
  [[nodiscard]] int dumps() const { return dumps_; }
  ModelServer& model() { return model_; }
  ModelItems& items() { return model_.items(); }

  // Called after each command that changed or tried to change an item. Must not
  // act on the world at once: World::After does.
  std::function<void(const SimConnection&, const AppliedCommand&)> on_applied;

  // For SimConnection and World.
  void Receive(SimConnection& connection, std::string_view bytes);
  [[nodiscard]] bool ReachableFrom(const SimRuntime& process) const;
  void Meet(SimConnection& connection) { connections_.push_back(&connection); }
  void ForgetFinished();

 private:
  void Process(SimConnection& connection, std::string_view bytes);
  void UnblockAll();

  World& world_;
  std::string name_;
  const std::chrono::seconds clock_ahead_;
  ModelServer model_;
  ServerFaults faults_;
  bool up_ = true;
  int dumps_ = 0;
  bool stalled_ = false;
  bool reachable_ = true;
  const SimConnection* current_ = nullptr;
  std::vector<const SimRuntime*> cut_off_;
  // Every connection made to it that is not finished.
  std::vector<SimConnection*> connections_;
  std::string replies_;
};

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_WORLD_SIM_SERVER_H_
