#include "sim/world/sim_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/world/sim_connection.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"

namespace ers::sim {
namespace {

constexpr std::size_t kSweepConnections = 64;

}  // namespace

std::uint64_t SeededRandom::Next() {
  // splitmix64
  state_ += 0x9E3779B97F4A7C15U;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
  return mixed ^ (mixed >> 31);
}

Duration SeededRandom::Between(Duration least, Duration most) {
  if (most <= least) return least;
  const auto span = static_cast<std::uint64_t>((most - least).count());
  return least + Duration(static_cast<std::int64_t>(Below(span + 1)));
}

SimEvent::SimEvent(World& world) : world_(world), slot_(world.TakeSlot(this)) {}

SimEvent::~SimEvent() { world_.FreeSlot(slot_); }

void SimEvent::Schedule(TimePoint when) {
  wanted_ = std::max(when, world_.now());
  if (wanted_ < queued_) {
    queued_ = wanted_;
    world_.Push(slot_, wanted_);
  }
}

// A function to run once.
class World::Call : public SimEvent {
 public:
  Call(World& world, std::function<void()> what)
      : SimEvent(world), what_(std::move(what)) {}

 protected:
  void Fire() override {
    const std::function<void()> what = std::exchange(what_, nullptr);
    what();
  }

 private:
  std::function<void()> what_;
};

World::World(std::uint64_t seed, NetworkOptions network)
    : network_(network),
      random_(seed * 3 + 1),
      ties_(seed * 5 + 2),
      process_seed_(seed * 7 + 3) {}

World::~World() {
  for (auto& process : processes_) {
    if (process->killed()) ParkForever(std::move(process));
  }
  processes_.clear();
  connections_.clear();
  servers_.clear();
  calls_.clear();
}

SimServer& World::AddServer(const std::string& name,
                            ModelServerOptions options) {
  assert(FindServer(name) == nullptr);
  servers_.push_back(std::make_unique<SimServer>(
      *this, name, std::move(options), ++last_pid_));
  return *servers_.back();
}

std::string World::AddServers(int count, const ModelServerOptions& options) {
  std::string names;
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("10.0.0.{}:11211", i);
    AddServer(name, options);
    if (i > 0) names += ',';
    names += name;
  }
  return names;
}

SimRuntime& World::AddProcess(const std::string& name) {
  const std::uint64_t seed = SeededRandom(process_seed_++).Next();
  processes_.push_back(std::make_unique<SimRuntime>(*this, name, seed));
  return *processes_.back();
}

SimServer* World::FindServer(std::string_view name) {
  for (const auto& server : servers_) {
    if (server->name() == name) return server.get();
  }
  return nullptr;
}

std::int64_t World::WallMicros() const {
  return wall_start_us_ + now_.time_since_epoch().count() / 1000;
}

TimePoint World::AtWall(std::int64_t unix_us) const {
  return TimePoint(std::chrono::microseconds(unix_us - wall_start_us_));
}

void World::After(Duration delay, std::function<void()> what) {
  std::erase_if(calls_, [](const auto& call) { return !call->scheduled(); });
  calls_.push_back(std::make_unique<Call>(*this, std::move(what)));
  calls_.back()->Schedule(now_ + delay);
}

std::uint32_t World::TakeSlot(SimEvent* event) {
  if (free_slots_.empty()) {
    slots_.push_back({});
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[slot].event = event;
  return slot;
}

void World::FreeSlot(std::uint32_t slot) {
  slots_[slot].event = nullptr;
  ++slots_[slot].generation;
  free_slots_.push_back(slot);
}

void World::Push(std::uint32_t slot, TimePoint when) {
  queue_.push_back({when, ties_.Next(), slot, slots_[slot].generation});
  std::push_heap(queue_.begin(), queue_.end());
}

bool World::Reconcile() {
  while (!queue_.empty()) {
    const Entry entry = queue_.front();
    SimEvent* const event = slots_[entry.slot].event;
    const bool current = slots_[entry.slot].generation == entry.generation &&
                         event->queued_ == entry.when;
    if (current && event->wanted_ == entry.when) return true;
    std::pop_heap(queue_.begin(), queue_.end());
    queue_.pop_back();
    if (!current) continue;
    event->queued_ = SimEvent::kNever;
    if (event->scheduled()) event->Schedule(event->wanted_);
  }
  return false;
}

bool World::Step() {
  if (!Reconcile()) return false;
  const Entry entry = queue_.front();
  std::pop_heap(queue_.begin(), queue_.end());
  queue_.pop_back();
  now_ = entry.when;
  ++events_;
  Trace(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
  Trace(entry.slot);
  SimEvent* const event = slots_[entry.slot].event;
  event->queued_ = SimEvent::kNever;
  event->wanted_ = SimEvent::kNever;
  event->Fire();  // may destroy itself
  return true;
}

bool World::RunUntil(const std::function<bool()>& done, Duration limit) {
  const TimePoint deadline = now_ + limit;
  while (!done()) {
    if (!Reconcile() || queue_.front().when > deadline) {
      now_ = deadline;
      return done();
    }
    Step();
  }
  return true;
}

bool World::RunUntilIdle(Duration limit) {
  const TimePoint deadline = now_ + limit;
  while (Reconcile()) {
    if (queue_.front().when > deadline) {
      now_ = deadline;
      return false;
    }
    Step();
  }
  return true;
}

SimConnection& World::AddConnection(std::unique_ptr<SimConnection> connection) {
  if (connections_.size() >= kSweepConnections) SweepConnections();
  connections_.push_back(std::move(connection));
  return *connections_.back();
}

void World::CloseConnectionsOf(const SimRuntime& process,
                               std::vector<net::StreamHandler*>* handlers) {
  for (const auto& connection : connections_) {
    if (&connection->process() != &process) continue;
    if (connection->handler() != nullptr) {
      handlers->push_back(connection->handler());
    }
    connection->ClientGone();
  }
}

void World::SweepConnections() {
  for (const auto& server : servers_) server->ForgetFinished();
  std::erase_if(connections_,
                [](const auto& connection) { return connection->Finished(); });
}

}  // namespace ers::sim
