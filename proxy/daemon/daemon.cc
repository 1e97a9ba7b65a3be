#include "daemon/daemon.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <latch>
#include <string_view>
#include <utility>

#include "config/user.h"
#include "metrics/event_log.h"
#include "net/endpoint.h"
#include "net/event_loop.h"
#include "net/resolver.h"
#include "net/task.h"
#include "server/descriptors.h"
#include "shared/address.h"
#include "shared/plain_text.h"
#include "shared/token.h"
#include "store/membership/serving.h"
#include "store/membership/session.h"

namespace ers::proxy {
namespace {

// Less than clients wait for their tunnel.
constexpr net::Duration kLongestTunnelConnect = std::chrono::seconds(1);

}  // namespace

Daemon::Daemon(ServerOptions options)
    : options_(std::move(options)), stats_(options_, shared_) {
  shared_.beside_clients = DescriptorsBesideClients(options_);
  SetLimits(options_);
}

void Daemon::SetLimits(const ServerOptions& options) {
  shared_.max_connections.store(options.max_connections);
  shared_.idle_timeout_s.store(options.idle_timeout.count());
  shared_.max_value_bytes.store(options.max_value_bytes);
  shared_.memory_in_flight_bytes.store(options.memory_in_flight_bytes);
}

Result<std::unique_ptr<Daemon>> Daemon::Open(ServerOptions options,
                                             Inheritance& inherited) {
  options.cluster.binary_keys = true;
  options.cluster.adopt_plain_items = true;
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(options)));
  Result<std::shared_ptr<store::ClusterState>> cluster =
      store::OpenClusterState(daemon->options_.cluster);
  if (!cluster) return Fail(cluster.error());
  daemon->cluster_ = std::move(*cluster);
  net::Resolver::OfProcess().Prepare(daemon->cluster_->endpoints,
                                     net::Resolver::kAtStart);
  daemon->shares_sockets_.store(inherited.kept);
  Status status = daemon->Listen(std::move(inherited.listening));
  // Whatever else is opened, the user could open again.
  if (status.ok()) status = daemon->BecomeUser();
  // The state folder is the other one's until then.
  if (status.ok() && inherited.before) {
    status = daemon->AwaitPlace(*inherited.before);
  }
  if (!status.ok()) return Fail(std::move(status));
  Result<std::unique_ptr<Jobs>> jobs =
      Jobs::Open(daemon->options_, daemon->cluster_, daemon->shared_.changing);
  if (!jobs) return Fail(jobs.error());
  daemon->jobs_ = std::move(*jobs);
  daemon->shared_.take_hits = [jobs = daemon->jobs_.get()](HitBatch hits) {
    jobs->TakeHits(std::move(hits));
  };
  return daemon;
}

Status Daemon::Listen(std::vector<Socket> inherited) {
  for (const std::string& address : options_.listen) {
    Result<Listener> listener =
        proxy::Listen(address, options_.threads, inherited);
    if (!listener) return listener.error();
    listeners_.push_back(std::move(*listener));
  }
  if (!options_.admin.empty()) {
    Result<Listener> listener =
        proxy::Listen(*AdminAddress(options_.admin), 1, inherited);
    if (!listener) {
      return {listener.error().code(),
              fmt::format("admin: {}", listener.error().message())};
    }
    admin_listener_ = std::move(*listener);
  }
  for (const Socket& socket : inherited) {
    options_.cluster.log(
        LogLevel::kWarning,
        fmt::format("the socket at {} is closed: it was given to this process, "
                    "and no setting (listen, admin) has it",
                    NameOf(socket)));
  }
  return {};
}

// By connections and a lease of its own, which end: what this process will
// serve with is not begun beside the other one's for nothing.
Status Daemon::CheckServing() const {
  const Result<std::shared_ptr<store::ClusterState>> cluster =
      store::OpenClusterState(options_.cluster);
  if (!cluster) return cluster.error();
  const std::unique_ptr<net::EventLoop> loop = net::NewEventLoop();
  store::Session session(*loop, *cluster, /*cached_manifests=*/1);
  return net::SyncWait(*loop, store::CheckServing(session));
}

Status Daemon::AwaitPlace(const HandoverChannel& before) const {
  const Status serves = CheckServing();
  if (!serves.ok()) {
    return {serves.code(),
            fmt::format("this process does not take over: it could not serve: "
                        "{}",
                        serves.message())};
  }
  const bool said = before.Send(HandoverChannel::Word::kMayServe);
  const auto answer = said ? before.Receive() : std::nullopt;
  if (answer && answer->word == HandoverChannel::Word::kPlaceIsFree) return {};
  return {StatusCode::kUnavailable,
          "this process does not take over: the one before has ended"};
}

Status Daemon::BecomeUser() {
  if (options_.user.empty()) return {};
  const auto refuse = [this](std::string_view setting, const Status& why) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{}: as user {}: {}", options_.PlaceOf(setting),
                              options_.user, why.message()));
  };
  const Status status = proxy::BecomeUser(options_.user);
  if (!status.ok()) return refuse("user", status);
  // What SIGHUP is to read again.
  if (!options_.admin_token.empty()) {
    const Result<std::string> token = ReadToken(options_.admin_token_file);
    if (!token) return refuse("admin_token_file", token.error());
  }
  if (!options_.config_file.empty() &&
      access(options_.config_file.c_str(), R_OK) != 0) {
    options_.cluster.log(
        LogLevel::kWarning,
        fmt::format("{}: user {} cannot read it: SIGHUP will change nothing",
                    options_.config_file, options_.user));
  }
  return {};
}

// Each socket has a worker, and each worker a socket of each address: those
// that were inherited need not be as many as there are workers.
std::vector<int> Daemon::SocketsOf(int worker) const {
  const auto workers = static_cast<std::size_t>(options_.threads);
  std::vector<int> sockets;
  for (const Listener& listener : listeners_) {
    const std::size_t count = listener.sockets.size();
    for (auto i = static_cast<std::size_t>(worker);
         i < std::max(count, workers); i += workers) {
      sockets.push_back(listener.sockets[i % count].get());
    }
  }
  return sockets;
}

Status Daemon::Start() {
  if (!options_.trace_export.empty()) {
    Result<std::unique_ptr<TraceExporter>> exporter =
        TraceExporter::Open(options_.trace_export);
    if (!exporter) return exporter.error();
    exporter_ = std::move(*exporter);
    shared_.exporter = exporter_.get();
  }
  for (int i = 0; i < options_.threads; ++i) {
    workers_.push_back(std::make_unique<Worker>(
        options_, cluster_, SocketsOf(i), shared_,
        [this](const std::string& argument, const Stats::Visit& stat) {
          return stats_.Answer(argument, stat);
        }));
  }
  stats_.Watch(workers_, &jobs_->session_counters(), cluster_->clock);
  if (admin_listener_) {
    admin_socket_ = admin_listener_->sockets.front().get();
    tunnels_ = std::make_unique<Tunnels>(Tunnels::Terms{
        .most =
            [this] { return static_cast<std::size_t>(MostTunnels(options_)); },
        .connect_timeout = std::min<net::Duration>(
            options_.cluster.connect_timeout, kLongestTunnelConnect),
        .find = [this](std::string_view name) { return ServerAt(name); }});
    Result<std::unique_ptr<Admin>> admin = Admin::Open(
        std::move(*admin_listener_), options_.admin_token,
        Admin::Sources{.facts = [this] { return Describe(); },
                       .requests = [this] { return stats_.Sum().requests; }},
        *jobs_, *tunnels_);
    if (!admin) return admin.error();
    admin_ = std::move(*admin);
  }
  jobs_->Start();
  if (options_.count_objects_every.count() > 0) {
    workers_.front()->CountObjectsEvery(options_.count_objects_every);
  }
  for (const auto& worker : workers_) worker->Start();
  return {};
}

std::optional<net::Endpoint> Daemon::ServerAt(
    std::string_view authority) const {
  for (const net::Endpoint& server : cluster_->endpoints) {
    if (server.authority() == authority) return server;
  }
  // One may have been replaced since the start.
  const std::shared_ptr<const store::View> view = cluster_->keeper.Current();
  if (!view) return std::nullopt;
  for (const store::Member& member : view->members) {
    Result<net::Endpoint> server = net::ParseEndpoint(member.server());
    if (server && server->authority() == authority) return *server;
  }
  return std::nullopt;
}

int Daemon::connections() const {
  const auto of_tunnels =
      tunnels_ ? static_cast<int>(tunnels_->counts().open.Get()) : 0;
  return shared_.connections.load() + of_tunnels;
}

void Daemon::DescribeServers(Facts& facts) const {
  const std::vector<std::string>& unreachable = facts.serving.unreachable;
  const MemoryReports memory = jobs_->memory_reports();
  const std::shared_ptr<const store::View> view = cluster_->keeper.Current();
  if (view) {
    facts.epoch = view->epoch;
    facts.max_failures = view->max_failures;
  }
  for (std::size_t i = 0; i < cluster_->endpoints.size(); ++i) {
    Facts::Server server;
    server.name = server.slot = cluster_->endpoints[i].name();
    server.state = "unknown";
    if (view) {
      server.slot = view->members[i].name;
      server.name = view->members[i].server();
      server.state = MemberStateName(view->members[i].shown_state());
      server.since_s = view->members[i].since;
    }
    const bool silent = i < unreachable.size() && !unreachable[i].empty();
    const bool out = view && view->members[i].state == MemberState::kDown;
    if (silent && !out) server.state = "unreachable";
    // What it reported before says nothing now.
    if (!silent && !out && i < memory.size()) server.memory = memory[i];
    facts.servers.push_back(std::move(server));
  }
}

Facts Daemon::Describe() const {
  Facts facts;
  facts.version = ERS_VERSION;
  facts.time_s = std::time(nullptr);
  facts.started_s = started_s_;
  facts.last_event = EventLog::OfProcess().last_id();
  facts.uptime_s = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(
          std::chrono::steady_clock::now() - started_)
          .count());
  facts.stopping = stopping_.load();
  facts.connections = shared_.connections.load();
  facts.max_connections = shared_.max_connections.load();
  if (tunnels_) {
    const TunnelCounts& counts = tunnels_->counts();
    facts.tunnels = {.open = counts.open.Get(),
                     .opened = counts.opened.Get(),
                     .refused = counts.refused.Get(),
                     .sent_bytes = counts.sent.Get(),
                     .received_bytes = counts.received.Get()};
  }
  facts.threads = options_.threads;
  facts.memory_limit_bytes = shared_.memory_in_flight_bytes.load();
  for (const auto& worker : workers_) {
    facts.memory_bytes += worker->held_bytes();
  }
  for (const Listener& listener : listeners_) {
    facts.listeners.push_back(listener.name);
  }
  facts.server_list = options_.cluster.servers;
  facts.distribution = options_.cluster.distribution;
  facts.hash = options_.cluster.hash;
  facts.hash_tag = options_.cluster.hash_tag;
  facts.max_failures = options_.cluster.max_failures;
  facts.transitioning = shared_.changing.WithPrefix("");
  facts.serving = jobs_->serving();
  DescribeServers(facts);
  facts.totals = stats_.Sum();
  facts.census = shared_.census.Last();
  facts.jobs = jobs_->List();
  facts.job_totals = jobs_->totals();
  facts.policies = jobs_->policies();
  facts.policy_counts = jobs_->policy_counts();
  facts.garbage = jobs_->garbage_totals();
  facts.backfill = jobs_->backfill_state();
  if (exporter_) facts.traces = exporter_->counts();
  return facts;
}

void Daemon::Stop() {
  // From now on clients are refused, in place of waiting for nothing.
  for (const Listener& listener : listeners_) {
    if (shares_sockets_.load()) break;
    for (const Socket& socket : listener.sockets) {
      shutdown(socket.get(), SHUT_RDWR);
    }
    if (listener.name.starts_with('/')) unlink(listener.name.c_str());
  }
  stopping_.store(true);
  jobs_->Stop();
  if (tunnels_) tunnels_->Stop();
  for (const auto& worker : workers_) worker->Stop();
}

void Daemon::Join() {
  for (const auto& worker : workers_) worker->Join();
  if (const int lost = lost_.load(); lost > 0) {
    EventLog::OfProcess().Add(
        EventKind::kDaemon, LogLevel::kError,
        fmt::format("{} cut off: the process that was to take over took none "
                    "for some seconds, or has ended",
                    CountText(lost, "client")));
  }
  if (tunnels_) tunnels_->Join();
  if (!gave_way_.load()) jobs_->Join();
  if (exporter_) exporter_->Stop();
}

std::vector<int> Daemon::listening() const {
  std::vector<int> sockets;
  for (const Listener& listener : listeners_) {
    for (const Socket& socket : listener.sockets) {
      sockets.push_back(socket.get());
    }
  }
  if (admin_) sockets.push_back(admin_socket_);
  return sockets;
}

void Daemon::GiveWay() {
  shares_sockets_.store(true);
  gave_way_.store(true);
  admin_.reset();
  jobs_->Stop();
  jobs_->Join();
}

void Daemon::HandOver(std::shared_ptr<const HandoverChannel> to) {
  stopping_.store(true);
  if (tunnels_) tunnels_->Drain();
  for (const auto& worker : workers_) {
    // Where the other process is gone, so is the client. One that takes nothing
    // is as good as gone: waiting for it anew with each client would hold up
    // those that are served here still.
    worker->HandOver([this, to](int client, std::string_view unread) {
      if (!successor_gone_.load() &&
          to->Send(HandoverChannel::Word::kClient, unread, client)) {
        return;
      }
      successor_gone_.store(true);
      lost_.fetch_add(1);
    });
  }
}

void Daemon::Adopt(Socket client, std::string unread) {
  workers_[adopted_++ % workers_.size()]->Adopt(std::move(client),
                                                std::move(unread));
}

bool Daemon::HasServers(const std::string& list) const {
  const std::shared_ptr<const store::View> view = cluster_->keeper.Current();
  const Result<std::vector<net::Endpoint>> servers = net::ParseEndpoints(list);
  return view && servers && store::FitsServers(*servers, *view);
}

void Daemon::Reload(const ServerOptions& fresh) {
  SetLimits(fresh);
  jobs_->SetPolicies(fresh.policies);
  if (admin_) admin_->SetToken(fresh.admin_token);
  jobs_->SetBackfill(fresh.backfill);
  Limits limits;
  limits.max_value_bytes = fresh.max_value_bytes;
  std::latch taken(static_cast<std::ptrdiff_t>(workers_.size()));
  for (const auto& worker : workers_) {
    worker->Reload(fresh.rules, limits, MemoryLimitOf(fresh), fresh.policies,
                   fresh.trace_sample, [&taken] { taken.count_down(); });
  }
  taken.wait();
}

std::vector<std::string> Daemon::listener_names() const {
  std::vector<std::string> names;
  for (const Listener& listener : listeners_) names.push_back(listener.name);
  if (admin_) names.push_back(admin_->name());
  return names;
}

}  // namespace ers::proxy
