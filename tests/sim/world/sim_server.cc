#include "sim/world/sim_server.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/world/sim_connection.h"

namespace ers::sim {

SimServer::SimServer(World& world, std::string name, ModelServerOptions options,
                     int pid)
    : world_(world),
      name_(std::move(name)),
      clock_ahead_(options.clock_ahead),
      model_(std::move(options), pid, [&world, this] {
        return world.WallMicros() / 1'000'000 + clock_ahead_.count();
      }) {
  model_.out_of_memory = [this](std::string_view) {
    return world_.random().Chance(faults_.out_of_memory_chance);
  };
  model_.dump_misses = [this](std::string_view) {
    return world_.random().Chance(faults_.dump_miss_chance);
  };
  model_.dump_refused = [this] {
    return world_.random().Chance(faults_.dump_refused_chance);
  };
  model_.dump_busy = [this] {
    ++dumps_;
    return world_.random().Chance(faults_.dump_busy_chance);
  };
  model_.on_applied = [this](const AppliedCommand& command) {
    if (on_applied) on_applied(*current_, command);
  };
}

void SimServer::Crash() {
  if (!up_) return;
  up_ = false;
  stalled_ = false;
  for (SimConnection* connection : connections_) connection->ServerGone();
  // At once, so that no check of the driver sees what no client can read.
  model_.Boot(model_.pid());
}

void SimServer::Restart() {
  if (up_) return;
  constexpr int kPidStep = 1000;  // never another server's
  model_.Boot(model_.pid() + kPidStep);
  up_ = true;
}

void SimServer::Stall() { stalled_ = up_; }

void SimServer::Continue() {
  if (!stalled_) return;
  stalled_ = false;
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    const std::string unread = std::exchange(connections_[i]->unread(), {});
    if (!unread.empty()) Process(*connections_[i], unread);
  }
}

void SimServer::CutConnections() {
  for (SimConnection* connection : connections_) {
    if (connection->server_open()) {
      connection->Cut(world_.random().Below(4096));
    }
  }
}

void SimServer::DelayOne(Duration length) {
  if (connections_.empty()) return;
  connections_[world_.random().Below(connections_.size())]->Delay(world_.now() +
                                                                  length);
}

void SimServer::SetReachable(bool reachable) {
  reachable_ = reachable;
  UnblockAll();
}

void SimServer::SetReachableFrom(const SimRuntime& process, bool reachable) {
  std::erase(cut_off_, &process);
  if (!reachable) cut_off_.push_back(&process);
  UnblockAll();
}

bool SimServer::ReachableFrom(const SimRuntime& process) const {
  return reachable_ && std::find(cut_off_.begin(), cut_off_.end(), &process) ==
                           cut_off_.end();
}

void SimServer::UnblockAll() {
  for (SimConnection* connection : connections_) connection->Unblock();
}

bool SimServer::Evict(std::string_view key) {
  if (items().Find(key) == nullptr) return false;
  const std::string line = model_.EvictionLine(key);
  for (SimConnection* connection : connections_) {
    if (connection->server_open() && connection->session().watches) {
      connection->Reply(line, {});
    }
  }
  return items().Erase(key);
}

void SimServer::EvictRandom(std::size_t count) {
  std::vector<std::string> keys = items().LiveKeys();
  for (; count > 0 && !keys.empty(); --count) {
    const std::size_t at = world_.random().Below(keys.size());
    Evict(keys[at]);
    keys.erase(keys.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

void SimServer::Receive(SimConnection& connection, std::string_view bytes) {
  assert(up_);
  if (stalled_) {
    connection.unread() += bytes;
    return;
  }
  Process(connection, bytes);
}

void SimServer::Process(SimConnection& connection, std::string_view bytes) {
  SeededRandom& random = world_.random();
  if (random.Chance(faults_.evict_chance)) EvictRandom(1);
  replies_.clear();
  current_ = &connection;
  const int dumps = dumps_;
  model_.Feed(connection.session(), bytes, replies_);
  current_ = nullptr;
  const bool quits = connection.session().closed;
  if (replies_.empty() && !quits) return;
  Duration delay{};
  if (faults_.slow_chance == 1'000'000 || random.Chance(faults_.slow_chance)) {
    delay = random.Between(faults_.slow_min, faults_.slow_max);
  }
  if (dumps_ != dumps) delay += faults_.dump_time;
  if (!replies_.empty() && random.Chance(faults_.drop_reply_chance)) {
    connection.Cut(0);
  } else if (!replies_.empty() && random.Chance(faults_.cut_reply_chance)) {
    const std::size_t kept = random.Below(replies_.size());
    connection.Reply(std::string_view(replies_).substr(0, kept), delay);
    connection.Cut(SIZE_MAX);
  } else {
    connection.Reply(replies_, delay);
    if (quits) connection.Cut(SIZE_MAX);
  }
}

void SimServer::ForgetFinished() {
  std::erase_if(connections_, [](const SimConnection* connection) {
    return connection->Finished();
  });
}

}  // namespace ers::sim
