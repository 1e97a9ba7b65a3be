#include "admin/tunnels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <latch>
#include <list>
#include <map>
#include <thread>
#include <utility>
#include <vector>

namespace ers::proxy {
namespace {

constexpr std::size_t kBufferBytes = 128 << 10;
constexpr net::Duration kTick = std::chrono::milliseconds(100);
// Tunnels are quiet after so long without a byte: those of a client at work
// carry its heartbeats.
constexpr net::Duration kQuiet = std::chrono::milliseconds(500);
constexpr net::Duration kLongestStop = std::chrono::seconds(5);
// Without a byte, where one side has sent all that it will: the other one does
// not answer, and no heartbeat can show that the client is still there.
constexpr net::Duration kLongestHalf = std::chrono::seconds(10);
// From when a client asks until its tunnel is open; then it has gone meanwhile.
constexpr net::Duration kForClient = std::chrono::seconds(10);

}  // namespace

class Tunnels::Impl final : public Tunnel::Owner {
 public:
  explicit Impl(Terms terms);
  ~Impl() override;

  // Any thread.
  void Post(std::function<void()> task) { loop_->Post(std::move(task)); }
  void Join() { ended_.wait(); }
  const TunnelCounts& counts() const { return counts_; }

  // The thread's.
  void Ask(const std::string& authority, const HttpServer::Answer& answer);
  Status Admit(const Replacement& successor);
  void Drain();
  void Stop();

 private:
  struct Entry {
    std::uint64_t id;
    net::TimePoint begun;
    std::string server;
    HttpServer::Answer answer;  // empty: it was called
    std::unique_ptr<Tunnel> tunnel;
  };
  using Entries = std::list<Entry>;

  std::optional<net::Endpoint> ServerAt(const std::string& authority) const;
  void ForgetPlaced();
  void OnServer(Tunnel& tunnel, const std::string& failure) override;
  void OnEnd(Tunnel& tunnel) override { Erase(Find(tunnel)); }
  bool StaysOpen(Tunnel& tunnel) override;

  Entries::iterator Find(const Tunnel& tunnel);
  void Erase(Entries::iterator entry);
  void Refuse(Entries::iterator entry, int code, std::string_view why);
  void Adopt(std::uint64_t id, Socket client);
  void EndHeld();
  void EndAll();
  net::Duration LongestQuiet(const Tunnel& tunnel) const;
  void OnTick();
  void EndIfDrained();

  const Terms terms_;
  const std::unique_ptr<net::EventLoop> loop_ = net::NewEventLoop();
  TunnelCounts counts_;
  std::vector<char> buffer_ = std::vector<char>(kBufferBytes);
  // By the one that each is to replace: no more of them than servers.
  std::map<std::string, net::Endpoint> admitted_;
  Entries entries_;
  std::uint64_t last_id_ = 0;
  net::TimePoint awake_at_;
  bool draining_ = false;
  std::optional<net::TimePoint> stopped_at_;
  bool drained_ = false;
  std::latch ended_{1};
  bool stop_ = false;
  const std::unique_ptr<net::Timer> tick_ =
      loop_->NewTimer([this] { OnTick(); });
  std::thread thread_;  // the last: it uses all others
};

Tunnels::Impl::Impl(Terms terms)
    : terms_(std::move(terms)),
      thread_([this] { loop_->RunUntil([this] { return stop_; }); }) {}

Tunnels::Impl::~Impl() {
  Post([this] {
    draining_ = true;
    EndAll();
    stop_ = true;
  });
  thread_.join();
}

std::optional<net::Endpoint> Tunnels::Impl::ServerAt(
    const std::string& authority) const {
  for (const auto& [old, fresh] : admitted_) {
    if (fresh.authority() == authority) return fresh;
  }
  return terms_.find(authority);
}

Status Tunnels::Impl::Admit(const Replacement& successor) {
  ForgetPlaced();
  const Result<net::Endpoint> old = net::ParseEndpoint(successor.old_server);
  Result<net::Endpoint> fresh = net::ParseEndpoint(successor.new_server);
  if (!old) return old.error();
  if (!fresh) return fresh.error();
  if (!terms_.find(old->authority())) {
    return {StatusCode::kInvalidArgument,
            fmt::format("{} is none of this ersproxy's servers: /status names "
                        "them",
                        successor.old_server)};
  }
  admitted_[old->authority()] = *fresh;
  return {};
}

// They are found without, as long as they are servers.
void Tunnels::Impl::ForgetPlaced() {
  std::erase_if(admitted_, [this](const auto& one) {
    return terms_.find(one.second.authority()).has_value();
  });
}

void Tunnels::Impl::Ask(const std::string& authority,
                        const HttpServer::Answer& answer) {
  ForgetPlaced();
  const std::optional<net::Endpoint> server = ServerAt(authority);
  int code = 0;
  std::string why;
  if (!server) {
    code = kForbidden;
    why = fmt::format(
        "{} is none of this ersproxy's servers: /status names them", authority);
  } else if (draining_) {
    code = kUnavailable;
    why = "this ersproxy is stopping";
  } else if (const std::size_t most = terms_.most(); entries_.size() >= most) {
    code = kUnavailable;
    why = fmt::format("there are {} tunnels already: end another ersctl", most);
  }
  if (code != 0) {
    counts_.refused.Add();
    return answer(HttpError(code, why));
  }
  if (entries_.empty()) {
    awake_at_ = loop_->Now();
    tick_->Start(kTick);
  }
  entries_.push_back({++last_id_, loop_->Now(), authority, answer, nullptr});
  entries_.back().tunnel =
      std::make_unique<Tunnel>(*loop_, *server, *this, buffer_, counts_);
}

Tunnels::Impl::Entries::iterator Tunnels::Impl::Find(const Tunnel& tunnel) {
  return std::find_if(
      entries_.begin(), entries_.end(),
      [&tunnel](const Entry& entry) { return entry.tunnel.get() == &tunnel; });
}

void Tunnels::Impl::Erase(Entries::iterator entry) {
  entries_.erase(entry);
  EndIfDrained();
}

void Tunnels::Impl::Refuse(Entries::iterator entry, int code,
                           std::string_view why) {
  const HttpServer::Answer answer = std::exchange(entry->answer, nullptr);
  counts_.refused.Add();
  Erase(entry);
  answer(HttpError(code, why));
}

void Tunnels::Impl::OnServer(Tunnel& tunnel, const std::string& failure) {
  const auto entry = Find(tunnel);
  if (!failure.empty()) {
    return Refuse(
        entry, kBadGateway,
        fmt::format("server {} cannot be reached: {}", entry->server, failure));
  }
  HttpReply reply;
  // Where the client is gone by then it is not called: see OnTick.
  reply.take_over = [this, id = entry->id](Socket client) {
    // A std::function cannot hold what cannot be copied.
    auto kept = std::make_shared<Socket>(std::move(client));
    Post([this, id, kept] { Adopt(id, std::move(*kept)); });
  };
  std::exchange(entry->answer, nullptr)(std::move(reply));
}

void Tunnels::Impl::Adopt(std::uint64_t id, Socket client) {
  const auto entry =
      std::find_if(entries_.begin(), entries_.end(),
                   [id](const Entry& one) { return one.id == id; });
  if (entry != entries_.end()) entry->tunnel->Open(std::move(client));
}

// A thread that was away may have found bytes that were sent long before.
bool Tunnels::Impl::StaysOpen(Tunnel& tunnel) {
  const net::TimePoint now = loop_->Now();
  const bool was_away = now - awake_at_ > kLongestHeld;
  awake_at_ = now;
  if (!was_away) return true;
  EndHeld();
  // Asked again, it might hold what has come since. It may be gone: only its
  // address is used.
  return Find(tunnel) != entries_.end();
}

void Tunnels::Impl::EndHeld() {
  entries_.remove_if(
      [](const Entry& entry) { return entry.tunnel->HoldsForServer(); });
  EndIfDrained();
}

net::Duration Tunnels::Impl::LongestQuiet(const Tunnel& tunnel) const {
  if (stopped_at_) return kQuiet;
  return tunnel.is_half() ? std::min(kLongestHalf, terms_.idle) : terms_.idle;
}

void Tunnels::Impl::OnTick() {
  const net::TimePoint now = loop_->Now();
  if (now - awake_at_ > kLongestHeld) EndHeld();
  awake_at_ = now;
  if (stopped_at_ && now - *stopped_at_ > kLongestStop) EndAll();
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto at = entry++;
    const Tunnel& tunnel = *at->tunnel;
    if (at->answer && now - at->begun > terms_.connect_timeout) {
      Refuse(at, kGatewayTimeout,
             fmt::format("server {} cannot be reached: no connection within "
                         "{} ms",
                         at->server,
                         std::chrono::duration_cast<std::chrono::milliseconds>(
                             terms_.connect_timeout)
                             .count()));
    } else if (tunnel.held_since() < now - kLongestHeld ||
               now - tunnel.moved_at() > LongestQuiet(tunnel) ||
               (!tunnel.is_open() && now - at->begun > kForClient)) {
      Erase(at);
    }
  }
  if (!entries_.empty()) tick_->Start(kTick);
}

void Tunnels::Impl::Drain() {
  draining_ = true;
  EndIfDrained();
}

void Tunnels::Impl::Stop() {
  draining_ = true;
  if (stopped_at_) return EndAll();
  stopped_at_ = loop_->Now();
  EndIfDrained();
}

void Tunnels::Impl::EndAll() {
  while (!entries_.empty()) {
    const auto first = entries_.begin();
    if (first->answer) {
      Refuse(first, kUnavailable, "this ersproxy is stopping");
    } else {
      Erase(first);
    }
  }
  EndIfDrained();
}

void Tunnels::Impl::EndIfDrained() {
  if (!draining_ || !entries_.empty() || std::exchange(drained_, true)) return;
  ended_.count_down();
}

Tunnels::Tunnels(Terms terms)
    : impl_(std::make_unique<Impl>(std::move(terms))) {}
Tunnels::~Tunnels() = default;

void Tunnels::Ask(std::string authority, HttpServer::Answer answer) {
  impl_->Post([impl = impl_.get(), authority = std::move(authority),
               answer = std::move(answer)] { impl->Ask(authority, answer); });
}

void Tunnels::Admit(Replacement successor,
                    std::function<void(const Status&)> done) {
  impl_->Post([impl = impl_.get(), successor = std::move(successor),
               done = std::move(done)] { done(impl->Admit(successor)); });
}

const TunnelCounts& Tunnels::counts() const { return impl_->counts(); }
void Tunnels::Drain() {
  impl_->Post([impl = impl_.get()] { impl->Drain(); });
}
void Tunnels::Stop() {
  impl_->Post([impl = impl_.get()] { impl->Stop(); });
}
void Tunnels::Join() { impl_->Join(); }

}  // namespace ers::proxy
