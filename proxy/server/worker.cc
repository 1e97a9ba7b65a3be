#include "server/worker.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "server/descriptors.h"

namespace ers::proxy {
namespace {

// How often slow clients are searched for, while others wait for memory.
constexpr net::Duration kWaitersTick = std::chrono::seconds(1);
// A client that moves less, in bytes per second, is slow.
constexpr double kSlowRate = 16 << 10;

// Other events want their turn, too.
constexpr int kAcceptsPerTurn = 64;
// Until it is tried again whether one can be accepted.
constexpr net::Duration kAcceptPause = std::chrono::milliseconds(100);

constexpr std::string_view kInSync = "ERROR Too many open connections\r\n";

}  // namespace

MemoryLimit MemoryLimitOf(const ServerOptions& options) {
  const auto threads = static_cast<std::uint64_t>(options.threads);
  return {options.memory_in_flight_bytes / threads, MemoryReserve(options)};
}

Worker::Worker(const ServerOptions& options,
               std::shared_ptr<store::ClusterState> cluster,
               std::vector<int> sockets, Shared& shared,
               decltype(ConnectionHost::stats) stats)
    : options_(options),
      sockets_(std::move(sockets)),
      shared_(shared),
      cluster_(std::move(cluster)),
      session_counters_(
          std::make_shared<store::SessionCounters>(cluster_->endpoints.size())),
      stats_(std::move(stats)),
      loop_(net::NewEventLoop()),
      memory_(*loop_, counters_) {
  memory_.OnWait([this] {
    if (std::exchange(watches_waiters_, true)) return;
    waiters_since_ = loop_->Now();
    waiters_timer_->Start(kWaitersTick);
  });
}

Worker::~Worker() = default;

void Worker::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Worker::Join() { thread_.join(); }

void Worker::Stop() {
  loop_->Post([this] {
    if (std::exchange(stopping_, true)) at_once_ = true;
    watches_.clear();
    for (const auto& [pointer, owned] : connections_) pointer->Drain();
  });
}

void Worker::HandOver(Give give) {
  loop_->Post([this, give = std::move(give)] {
    stopping_ = true;
    watches_.clear();
    host_->hand_over = give;
    for (const auto& [pointer, owned] : connections_) pointer->HandOver();
  });
}

void Worker::Adopt(Socket client, std::string unread) {
  // What is posted must be copyable.
  auto given = std::make_shared<Socket>(std::move(client));
  loop_->Post([this, given, unread = std::move(unread)] {
    // It has ended all clients, and its session waits for what is under way.
    if (host_ == nullptr) return;
    shared_.connections.fetch_add(1);
    Connection& connection = Add(given->Release(), unread);
    if (at_once_) {
      connection.Abort();
    } else if (stopping_) {
      connection.Drain();
    }
  });
}

void Worker::Reload(std::shared_ptr<const Rules> rules, const Limits& limits,
                    const MemoryLimit& memory, const Policies& policies,
                    double trace_sample, std::function<void()> done) {
  const bool counts_hits = !policies.narrow.tiers.empty();
  loop_->Post([this, rules = std::move(rules), limits, memory, counts_hits,
               trace_sample, done = std::move(done)] {
    engine_->SetRules(rules);
    engine_->SetWideHits(counts_hits ? wide_hits_.get() : nullptr);
    memory_.SetLimit(memory);
    WatchIdle();
    host_->limits = limits;
    host_->exported.SetShare(ExportedShare(trace_sample));
    for (const auto& [pointer, owned] : connections_) {
      pointer->SetLimits(limits);
    }
    done();
  });
}

void Worker::Run() {
  session_ = std::make_unique<store::Session>(
      *loop_, cluster_, options_.client.cached_manifests, session_counters_);
  store_ = std::make_unique<store::Store>(*session_, options_.client);
  EngineLimits engine_limits;
  engine_limits.max_value_bytes = options_.max_value_bytes;
  engine_limits.scheme = options_.client.scheme;
  engine_limits.inline_below = options_.client.inline_below;
  memory_.SetLimit(MemoryLimitOf(options_));
  waiters_timer_ = loop_->NewTimer([this] { WatchWaiters(); });
  idle_timer_ = loop_->NewTimer([this] { WatchIdle(); });
  WatchIdle();
  engine_ = std::make_unique<Engine>(*store_, counters_, shared_.changing,
                                     engine_limits);
  engine_->SetRules(options_.rules);
  engine_->SetCensusBoard(&shared_.census);
  wide_hits_ = std::make_unique<WideHits>(*loop_, shared_.take_hits);
  if (!options_.policies.narrow.tiers.empty()) {
    engine_->SetWideHits(wide_hits_.get());
  }
  if (!options_.warm_from.servers.empty()) {
    old_pool_ = std::make_unique<OldPool>(*loop_, options_.warm_from,
                                          options_.max_value_bytes,
                                          options_.cluster.log);
    warming_ =
        std::make_unique<Warming>(Warming{*loop_, *old_pool_, shared_.flights});
    engine_->SetWarming(warming_.get());
  }
  Limits limits;
  limits.max_value_bytes = options_.max_value_bytes;
  host_ = std::make_unique<ConnectionHost>(
      ConnectionHost{*loop_, *engine_, counters_, requests_, steps_, limits,
                     memory_, stats_, shared_.verbosity, shared_.exporter,
                     RequestSampler(ExportedShare(options_.trace_sample))});
  accept_timer_ = loop_->NewTimer([this] {
    if (!stopping_) WatchListeners();
  });
  WatchListeners();
  loop_->RunUntil(
      [this] { return stopping_ && (at_once_ || connections_.empty()); });
  // Tasks that are under way point to their connections.
  for (const auto& [pointer, owned] : connections_) pointer->Abort();
  loop_->RunUntil([this] { return connections_.empty() && !counting_; });
  waiters_timer_.reset();
  idle_timer_.reset();
  accept_timer_.reset();
  count_timer_.reset();
  host_.reset();
  engine_.reset();
  warming_.reset();
  old_pool_.reset();
  wide_hits_.reset();
  store_.reset();
  session_.reset();
}

void Worker::CountObjectsEvery(std::chrono::seconds period) {
  loop_->Post([this, period] {
    count_timer_ = loop_->NewTimer([this, period] {
      if (!stopping_) net::Spawn(CountObjects(period));
    });
    count_timer_->Start(net::Duration(0));
  });
}

net::Task<void> Worker::CountObjects(std::chrono::seconds period) {
  counting_ = true;
  const std::function<bool()> goes_on = [this] { return !stopping_; };
  const Status status = co_await engine_->CountObjects(goes_on);
  if (!status.ok() && !stopping_) {
    cluster_->Log(LogLevel::kWarning,
                  fmt::format("objects are not counted, the old count stays: "
                              "{}",
                              status.message()));
  }
  count_timer_->Start(period);
  counting_ = false;
}

void Worker::WatchListeners() {
  for (const int socket : sockets_) {
    watches_.push_back(
        loop_->WatchReadable(socket, [this, socket] { Accept(socket); }));
  }
}

void Worker::Accept(int socket) {
  const int end = EndOfClients(AllowedDescriptors(), shared_.beside_clients);
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    const int client =
        accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client >= end) {
      TurnAway(client);
    } else if (client >= 0) {
      TakeIn(client);
    } else {
      const bool none_left = errno == EMFILE || errno == ENFILE ||
                             errno == ENOBUFS || errno == ENOMEM;
      if (none_left) PauseAccepting();
      return;  // or another worker was first, or the client left again
    }
  }
}

// The machine, or what is kept beside clients, has none left: the client waits,
// and the loop would spin.
void Worker::PauseAccepting() {
  accept_timer_->Start(kAcceptPause);
  // It is inside one of them.
  loop_->Post([this] { watches_.clear(); });
}

void Worker::TurnAway(int client) {
  counters_.Add(Counter::kRejectedConnections);
  // It may not be taken, which is as good: the connection is closed.
  (void)!write(client, kInSync.data(), kInSync.size());
  close(client);
}

void Worker::TakeIn(int client) {
  if (shared_.connections.fetch_add(1) >= shared_.max_connections.load()) {
    shared_.connections.fetch_sub(1);
    TurnAway(client);
    return;
  }
  Add(client, {});
}

// It is counted already.
Connection& Worker::Add(int client, std::string_view unread) {
  counters_.Add(Counter::kTotalConnections);
  auto connection = std::make_unique<Connection>(
      *host_, client, unread, [this](Connection& ended) {
        // It is inside one of its own calls.
        loop_->Post([this, &ended] {
          connections_.erase(&ended);
          shared_.connections.fetch_sub(1);
          counters_.Add(Counter::kClosedConnections);
        });
      });
  Connection* pointer = connection.get();
  connections_.emplace(pointer, std::move(connection));
  return *pointer;
}

// Checks again after a quarter of the time: so much later than it may, a client
// is closed at most.
void Worker::WatchIdle() {
  const std::chrono::seconds most(shared_.idle_timeout_s.load());
  if (most.count() == 0) return;
  const net::TimePoint then = loop_->Now() - most;
  for (const auto& [pointer, owned] : connections_) {
    if (!pointer->IdleSince(then)) continue;
    pointer->Abort();
    counters_.Add(Counter::kIdleClients);
  }
  idle_timer_->Start(std::chrono::duration_cast<net::Duration>(most) / 4);
}

// Until none has waited for a whole tick.
void Worker::WatchWaiters() {
  const std::uint64_t waits = counters_.Get(Counter::kMemoryWaits);
  if (std::exchange(waits_seen_, waits) == waits && !memory_.has_waiters()) {
    watches_waiters_ = false;
    return;
  }
  CloseSlowClients();
  waiters_timer_->Start(kWaitersTick);
}

// The slowest first, and no more of them than give back half of what is held.
void Worker::CloseSlowClients() {
  const net::TimePoint now = loop_->Now();
  std::vector<std::pair<double, Connection*>> slow;
  for (const auto& [pointer, owned] : connections_) {
    const std::optional<double> rate =
        pointer->RateOfClient(now, waiters_since_);
    if (rate && *rate < kSlowRate) slow.emplace_back(*rate, pointer);
  }
  std::sort(slow.begin(), slow.end());
  const std::uint64_t enough = memory_.held() / 2;
  std::uint64_t freed = 0;
  std::size_t closed = 0;
  while (closed < slow.size() && freed < enough) {
    Connection& connection = *slow[closed++].second;
    freed += connection.held();
    connection.Abort();
    counters_.Add(Counter::kSlowClients);
  }
  if (closed == 0) return;
  spdlog::warn(
      "{} clients were slower than {} bytes a second and held {} bytes that "
      "others waited for: closed; raise limits.memory_in_flight_bytes if they "
      "are to be served",
      closed, kSlowRate, freed);
}

}  // namespace ers::proxy
