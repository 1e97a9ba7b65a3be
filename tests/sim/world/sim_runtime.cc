#include "sim/world/sim_runtime.h"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <utility>

#include "sim/world/sim_connection.h"
#include "sim/world/sim_server.h"

namespace ers::sim {

void ParkForever(std::shared_ptr<void> object) {
  static auto* const parked = new std::vector<std::shared_ptr<void>>();
  parked->push_back(std::move(object));
}

// Runs what was deferred or posted outside of a callback.
class SimRuntime::Turn : public SimEvent {
 public:
  explicit Turn(SimRuntime& process)
      : SimEvent(process.world_), process_(process) {}

 protected:
  void Fire() override {
    if (process_.killed_) return;
    if (process_.paused_until_ > world_.now()) {
      Schedule(process_.paused_until_);
      return;
    }
    process_.RunPosted();
    process_.RunTurn([] {});
  }

 private:
  SimRuntime& process_;
};

class SimRuntime::SimTimer : public net::Timer, private SimEvent {
 public:
  SimTimer(SimRuntime& process, std::function<void()> fire)
      : SimEvent(process.world_),
        process_(process),
        fire_(std::make_shared<std::function<void()>>(std::move(fire))) {
    index_ = process_.timers_.size();
    process_.timers_.push_back(this);
  }
  ~SimTimer() override {
    process_.timers_[index_] = process_.timers_.back();
    process_.timers_[index_]->index_ = index_;
    process_.timers_.pop_back();
  }
  void Start(Duration delay) override {
    Schedule(world_.now() + std::max(delay, Duration{}));
  }
  void Stop() override { Cancel(); }

 protected:
  void Fire() override {
    if (process_.killed_) return;
    if (process_.paused_until_ > world_.now()) {
      Schedule(process_.paused_until_);
      return;
    }
    const auto fire = fire_;  // which may destroy this timer
    process_.RunTurn([&fire] { (*fire)(); });
  }

 private:
  SimRuntime& process_;
  std::shared_ptr<std::function<void()>> fire_;
  std::size_t index_;
};

SimRuntime::SimRuntime(World& world, std::string name, std::uint64_t seed)
    : world_(world),
      name_(std::move(name)),
      random_(seed),
      turn_(std::make_unique<Turn>(*this)) {}

// What was deferred last may have been left behind to be run.
SimRuntime::~SimRuntime() {
  paused_until_ = {};
  RunDeferred();
}

TimePoint SimRuntime::Now() { return world_.now(); }

std::int64_t SimRuntime::WallMicros() {
  return world_.WallMicros() + wall_skew_.count() / 1000;
}

std::unique_ptr<net::Stream> SimRuntime::Connect(const net::Endpoint& endpoint,
                                                 net::StreamHandler& handler) {
  SimServer* const server = world_.FindServer(endpoint.name());
  SimConnection& connection = world_.AddConnection(
      std::make_unique<SimConnection>(world_, *this, server, handler));
  return std::make_unique<SimConnection::ClientStream>(connection);
}

std::unique_ptr<net::Timer> SimRuntime::NewTimer(std::function<void()> fire) {
  return std::make_unique<SimTimer>(*this, std::move(fire));
}

void SimRuntime::Defer(net::Deferred& deferred) {
  if (deferred.queued || killed_) return;
  deferred_.Push(deferred);
  if (deferred.late && pause_before_writing_.count() > 0) {
    PauseFor(std::exchange(pause_before_writing_, Duration{}));
  }
  if (!in_turn_) turn_->Schedule(world_.now());
}

void SimRuntime::Post(std::function<void()> task) {
  posted_.push_back(std::move(task));
  if (!killed_) turn_->Schedule(world_.now());
}

void SimRuntime::RunDeferred() {
  while (!deferred_.empty() && !killed_) {
    if (paused_until_ > world_.now()) {
      turn_->Schedule(paused_until_);
      return;
    }
    deferred_.RunNext();
  }
  const bool has_paused = pause_before_writing_.count() == 0;
  if (!after_writing_ || !has_paused || killed_) return;
  constexpr Duration kUntilThen = std::chrono::microseconds(1);
  PauseFor(kUntilThen);
  world_.After({}, std::exchange(after_writing_, nullptr));
}

void SimRuntime::RunPosted() {
  for (auto& task : std::exchange(posted_, {})) RunTurn(task);
}

void SimRuntime::RunUntil(const std::function<bool()>& done) {
  constexpr std::chrono::hours kLimit{1};
  if (!world_.RunUntil(done, kLimit)) {
    throw std::runtime_error("simulation: the wait of " + name_ +
                             " did not end within an hour of virtual time");
  }
}

void SimRuntime::WriteLast(Duration pause, std::function<void()> then) {
  pause_before_writing_ = pause;
  after_writing_ = std::move(then);
}

void SimRuntime::PauseFor(Duration time) {
  paused_until_ = std::max(paused_until_, world_.now() + time);
}

void SimRuntime::Kill() {
  assert(!in_turn_);
  killed_ = true;
  world_.CloseConnectionsOf(*this, &handlers_of_killed_);
}

}  // namespace ers::sim
