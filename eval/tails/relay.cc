#include "tails/relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

#include "tails/peers.h"

namespace ers::eval {
namespace {

[[noreturn]] void Throw(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int Socket() {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) Throw("socket");
  return made;
}

// -1: it does not listen. On loopback that is known at once.
int Connect(int port) {
  const int made = Socket();
  const sockaddr_in to = Loopback(port);
  if (connect(made, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
    return made;
  }
  close(made);
  return -1;
}

timespec ToTimespec(net::TimePoint at) {
  const auto since = at.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  timespec spec = {};
  spec.tv_sec = seconds.count();
  spec.tv_nsec = (since - seconds).count();
  return spec;
}

}  // namespace

Relay::Relay(net::EventLoop& loop, const std::vector<int>& ports)
    : loop_(loop),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (timer_ < 0) Throw("timerfd_create");
  timer_watch_ = loop.WatchReadable(timer_, [this] { Wake(); });
  for (const int port : ports) {
    servers_.push_back(std::make_unique<Server>());
    servers_.back()->port = port;
    Listen(*servers_.back());
  }
}

Relay::~Relay() {
  timer_watch_.reset();
  close(timer_);
  for (const std::unique_ptr<Server>& server : servers_) {
    server->connections.clear();
    server->watch.reset();
    close(server->listener);
  }
}

std::vector<int> Relay::Ports() const {
  std::vector<int> ports;
  for (const std::unique_ptr<Server>& server : servers_) {
    ports.push_back(server->listens_on);
  }
  return ports;
}

Rules& Relay::RulesOf(std::size_t server) {
  return servers_.at(server)->traffic.rules;
}

const Counts& Relay::CountsOf(std::size_t server) const {
  return servers_.at(server)->traffic.counts;
}

void Relay::CutOff(std::size_t server, int pid) {
  Server& its = *servers_.at(server);
  its.cut_off.insert(pid);
  for (auto& [session, connection] : its.connections) {
    if (Owns(pid, connection.peer_port, its.listens_on)) session->CutOff(true);
  }
}

void Relay::Heal(std::size_t server) {
  Server& its = *servers_.at(server);
  its.cut_off.clear();
  for (auto& [session, connection] : its.connections) session->CutOff(false);
}

void Relay::Reset() {
  depth_ = 0;
  for (const std::unique_ptr<Server>& server : servers_) {
    server->traffic.counts = {};
  }
}

void Relay::Listen(Server& server) {
  server.listener = Socket();
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (bind(server.listener, any, length) != 0) Throw("bind");
  if (listen(server.listener, SOMAXCONN) != 0) Throw("listen");
  if (getsockname(server.listener, any, &length) != 0) Throw("getsockname");
  server.listens_on = ntohs(address.sin_port);
  server.watch =
      loop_.WatchReadable(server.listener, [this, &server] { Accept(server); });
}

void Relay::Accept(Server& server) {
  sockaddr_in peer{};
  socklen_t length = sizeof peer;
  const int client =
      accept4(server.listener, reinterpret_cast<sockaddr*>(&peer), &length,
              SOCK_CLOEXEC);
  if (client < 0) return;
  const int upstream = Connect(server.port);
  if (upstream < 0) {
    close(client);
    return;
  }
  auto session =
      std::make_unique<Session>(loop_, *this, server.traffic, client, upstream);
  Connection& connection = server.connections[session.get()];
  connection.peer_port = ntohs(peer.sin_port);
  connection.session = std::move(session);
  for (const int pid : server.cut_off) {
    if (Owns(pid, connection.peer_port, server.listens_on)) {
      connection.session->CutOff(true);
    }
  }
}

void Relay::Ended(Session& session) {
  loop_.Post([this, gone = &session] {
    for (const std::unique_ptr<Server>& server : servers_) {
      server->connections.erase(gone);
    }
  });
}

void Relay::WakeAt(net::TimePoint due) {
  if (due >= wakes_at_) return;
  wakes_at_ = due;
  itimerspec spec = {};
  spec.it_value = ToTimespec(due);
  timerfd_settime(timer_, TFD_TIMER_ABSTIME, &spec, nullptr);
}

void Relay::Wake() {
  std::uint64_t expired = 0;
  if (read(timer_, &expired, sizeof expired) < 0) return;
  wakes_at_ = net::TimePoint::max();
  // Each asks for its next one.
  for (const std::unique_ptr<Server>& server : servers_) {
    for (auto& [session, connection] : server->connections) session->Flush();
  }
}

}  // namespace ers::eval
