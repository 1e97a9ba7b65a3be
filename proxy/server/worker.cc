#include "server/worker.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace ers::proxy {
namespace {

// Other events want their turn, too.
constexpr int kAcceptsPerTurn = 64;
Socket OpenSpare() { return Socket(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

constexpr std::string_view kFull = "ERROR Too many open connections\r\n";

}  // namespace

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
      spare_(OpenSpare()) {}

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

void Worker::Reload(std::shared_ptr<const Rules> rules, const Limits& limits,
                    std::function<void()> done) {
  loop_->Post([this, rules = std::move(rules), limits, done = std::move(done)] {
    engine_->SetRules(rules);
    host_->limits = limits;
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
  engine_ =
      std::make_unique<Engine>(*session_, *store_, counters_, engine_limits);
  engine_->SetRules(options_.rules);
  Limits limits;
  limits.max_value_bytes = options_.max_value_bytes;
  host_ = std::make_unique<ConnectionHost>(
      ConnectionHost{*loop_, *engine_, counters_, requests_, steps_, limits,
                     stats_, "1.6.18-ersproxy-" ERS_VERSION});
  for (const int socket : sockets_) {
    watches_.push_back(
        loop_->WatchReadable(socket, [this, socket] { Accept(socket); }));
  }
  loop_->RunUntil(
      [this] { return stopping_ && (at_once_ || connections_.empty()); });
  // Tasks that are under way point to their connections.
  for (const auto& [pointer, owned] : connections_) pointer->Abort();
  loop_->RunUntil([this] { return connections_.empty(); });
  host_.reset();
  engine_.reset();
  store_.reset();
  session_.reset();
}

void Worker::Accept(int socket) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    const int client =
        accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client >= 0) {
      Add(client);
    } else if (errno == EMFILE || errno == ENFILE) {
      TurnAway(socket);
    } else {
      return;  // another worker was first, or the client left again
    }
  }
}

// No file descriptor is left: the client would wait, and the loop spin, until
// one is. The spare one is enough to close the client's.
void Worker::TurnAway(int socket) {
  spare_ = Socket();
  const Socket client(accept4(socket, nullptr, nullptr, SOCK_CLOEXEC));
  if (client.get() >= 0) counters_.Add(Counter::kRejectedConnections);
  spare_ = OpenSpare();
}

void Worker::Add(int client) {
  if (shared_.connections.fetch_add(1) >= shared_.max_connections.load()) {
    shared_.connections.fetch_sub(1);
    counters_.Add(Counter::kRejectedConnections);
    // It may not be taken, which is as good: the connection is closed.
    (void)!write(client, kFull.data(), kFull.size());
    close(client);
    return;
  }
  counters_.Add(Counter::kTotalConnections);
  auto connection =
      std::make_unique<Connection>(*host_, client, [this](Connection& ended) {
        // It is inside one of its own calls.
        loop_->Post([this, &ended] {
          connections_.erase(&ended);
          shared_.connections.fetch_sub(1);
          counters_.Add(Counter::kClosedConnections);
        });
      });
  Connection* pointer = connection.get();
  connections_.emplace(pointer, std::move(connection));
}

}  // namespace ers::proxy
