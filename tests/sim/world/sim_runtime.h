// SimRuntime: one client process of the simulated world, as a net::Runtime.
#ifndef ERS_TESTS_SIM_WORLD_SIM_RUNTIME_H_
#define ERS_TESTS_SIM_WORLD_SIM_RUNTIME_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/deferred_queue.h"
#include "net/runtime.h"
#include "sim/world/sim_world.h"

namespace ers::sim {

class SimConnection;

// Keeps `object` until the program ends, reachable for leak checkers.
void ParkForever(std::shared_ptr<void> object);

// Owned by its World. One thread; Post too.
class SimRuntime : public net::Runtime {
 public:
  SimRuntime(World& world, std::string name, std::uint64_t seed);
  ~SimRuntime() override;

  TimePoint Now() override;
  std::int64_t WallMicros() override;
  std::uint64_t Random() override { return random_.Next(); }
  std::unique_ptr<net::Stream> Connect(const net::Endpoint& endpoint,
                                       net::StreamHandler& handler) override;
  std::unique_ptr<net::Timer> NewTimer(std::function<void()> fire) override;
  void Defer(net::Deferred& deferred) override;
  void Post(std::function<void()> task) override;
  // Drives the whole world. Throws std::runtime_error when an hour of virtual
  // time passes, or nothing is left to happen, before `done` holds.
  void RunUntil(const std::function<bool()>& done) override;

  // kill -9: no callback ever again, in particular no coroutine of this
  // process resumes; its connections break; bytes that it wrote may still be
  // applied. Its objects (links, stores, operations under way) must not be
  // destroyed, for coroutines may not be: hand them to ParkForever, which
  // costs their memory until the program ends. The runtime itself is parked by
  // the World. Not from inside a callback of this process: use World::After.
  void Kill();
  [[nodiscard]] bool killed() const { return killed_; }
  // SIGSTOP for a time: callbacks come afterwards.
  void PauseFor(Duration time);
  // The same, with the next bytes that it is about to write.
  void PauseBeforeWriting(Duration time) { pause_before_writing_ = time; }
  // The same; once they are written nothing of this process goes on before
  // `then`, from outside its callbacks.
  void WriteLast(Duration pause, std::function<void()> then);
  [[nodiscard]] TimePoint paused_until() const { return paused_until_; }
  // Added to WallMicros().
  void set_wall_skew(Duration skew) { wall_skew_ = skew; }
  [[nodiscard]] const std::string& name() const { return name_; }

  // For the classes of the world: runs one callback, then what it deferred.
  template <typename Callback>
  void RunTurn(Callback&& callback) {
    in_turn_ = true;
    callback();
    RunDeferred();
    in_turn_ = false;
  }

 private:
  class SimTimer;
  class Turn;

  void RunDeferred();
  void RunPosted();

  World& world_;
  std::string name_;
  SeededRandom random_;
  bool killed_ = false;
  bool in_turn_ = false;
  TimePoint paused_until_{};
  Duration pause_before_writing_{};
  std::function<void()> after_writing_;
  Duration wall_skew_{};
  net::DeferredQueue deferred_;
  std::vector<std::function<void()>> posted_;
  std::unique_ptr<Turn> turn_;
  // Everything that holds a way into this process's objects, for Kill.
  std::vector<SimTimer*> timers_;
  std::vector<net::StreamHandler*> handlers_of_killed_;
};

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_WORLD_SIM_RUNTIME_H_
