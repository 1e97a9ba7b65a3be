#include "net/server_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "net/resolver.h"
#include "net/server_link_impl.h"
#include "net/tunnel_stream.h"

namespace ers::net {
namespace {

// How long, and how many, lazy requests wait for others to leave with.
constexpr Duration kLazyDelay = std::chrono::milliseconds(20);
constexpr int kMaxLazyWaiting = 64;

// What keeps a link from being up; `stream` may be null.
std::string Lack(const InFlight& in_flight, const Stream* stream) {
  const auto* by_way = dynamic_cast<const ByWay*>(stream);
  if (by_way != nullptr && !by_way->Obstacle().empty()) {
    return by_way->Obstacle();
  }
  if (in_flight.front() != nullptr) return "connected, but no answer";
  const auto* named = dynamic_cast<const AwaitsName*>(stream);
  return named != nullptr && named->Resolving()
             ? "its host name is not resolved"
             : "no connection";
}

template <typename Visit>
void VisitEach(const std::array<Request*, 2>& queues, const Visit& visit) {
  for (Request* first : queues) {
    for (Request* i = first; i != nullptr; i = i->next) visit(*i);
  }
}

TimePoint EarliestDeadline(const std::array<Request*, 2>& queues) {
  TimePoint earliest = TimePoint::max();
  VisitEach(queues, [&earliest](const Request& request) {
    earliest = std::min(earliest, request.deadline);
  });
  return earliest;
}

void ClearAnswer(Request& request) {
  request.outcome = Outcome::kPending;
  request.item_token = request.item_bytes = request.connection = 0;
  request.item_flags = 0;
  request.item_fetched = false;
  request.item_idle = 0;
  request.placed = 0;
  request.item_ttl = -1;
  request.value.clear();
}

}  // namespace

ServerLink::Impl::Impl(Runtime& runtime, Endpoint endpoint, int member,
                       const LinkOptions& options, LinkGuard* guard)
    : runtime_(runtime),
      endpoint_(std::move(endpoint)),
      member_(member),
      options_(options),
      guard_(guard),
      backoff_(options.backoff_min, options.backoff_max),
      counters_(options.counters != nullptr ? *options.counters
                                            : own_counters_),
      connect_timer_(runtime, [this] { OnConnectTimeout(); }),
      retry_timer_(runtime.NewTimer([this] { Connect(); })),
      deadline_timer_(runtime.NewTimer([this] { OnDeadline(); })),
      lazy_timer_(runtime.NewTimer([this] { WantToWrite(); })),
      handshake_(options_.nonce_key),
      silence_(
          runtime, endpoint_, in_flight_, counters_.latency,
          {.least = options_.silence_timeout, .most = options_.request_timeout},
          {.may_suspect =
               [this](TimePoint since) {
                 return guard_ == nullptr || guard_->MaySuspect(member_, since);
               },
           .read =
               [this] {
                 if (state_ == State::kUp) ReadAvailable();
               },
           .dead = [this] { Fail("no reply, nor over another connection"); }}),
      call_done_(new Turn(this, &Impl::CallDone)),
      write_(new Turn(this, &Impl::WriteIfUp)) {
  write_->late = true;
}

ServerLink::Impl::Turn::Turn(Impl* its_link, void (Impl::*its_method)())
    : link(its_link), method(its_method) {
  run = [](Deferred& self) {
    auto& turn = static_cast<Turn&>(self);
    if (turn.link != nullptr) {
      turn.running = true;
      (turn.link->*turn.method)();
      turn.running = false;
    }
    if (turn.link == nullptr && !turn.queued) delete &turn;
  };
}

void ServerLink::Impl::Turn::Forget() {
  link = nullptr;
  if (!queued && !running) delete this;
}

ServerLink::Impl::~Impl() {
  std::exchange(call_done_, nullptr)->Forget();
  std::exchange(write_, nullptr)->Forget();
  if (state_ == State::kUp) counters_.standing.Subtract();
  EndOpenRequests();
  stream_.reset();
  while (!ended_.empty()) {
    Request& request = ended_.Pop();
    request.done(request);
  }
}

// --- Requests in, answers out -----------------------------------------------

void ServerLink::Impl::Submit(Request& request) {
  assert(call_done_ != nullptr);
  ClearAnswer(request);
  const bool waits = state_ == State::kIdle || state_ == State::kUp ||
                     (state_ == State::kConnecting && !failed_before_);
  if (!waits) {
    End(request, Outcome::kNotSent);
    return;
  }
  waiting_.Push(request);
  if (request.lazy && state_ == State::kUp) {
    request.deadline = TimePoint::max();
    if (lazy_waiting_++ == 0) lazy_timer_->Start(kLazyDelay);
    if (lazy_waiting_ == kMaxLazyWaiting) WantToWrite();
    return;
  }
  request.deadline = runtime_.Now() + TimeoutOf(request);
  ArmDeadline(request.deadline);
  if (state_ == State::kIdle) Connect();
  if (state_ == State::kUp) WantToWrite();
}

Duration ServerLink::Impl::TimeoutOf(const Request& request) const {
  return request.timeout.count() > 0 ? request.timeout
                                     : options_.request_timeout;
}

void ServerLink::Impl::End(Request& request, Outcome outcome) {
  request.outcome = outcome;
  ended_.Push(request);
  if (call_done_ != nullptr) runtime_.Defer(*call_done_);
}

void ServerLink::Impl::CallDone() {
  const Turn& turn = *call_done_;
  while (!ended_.empty()) {
    Request& request = ended_.Pop();
    request.done(request);
    if (turn.link == nullptr) return;  // it destroyed the link
  }
}

void ServerLink::Impl::WantToWrite() {
  if (write_ != nullptr) runtime_.Defer(*write_);
}

void ServerLink::Impl::WriteIfUp() {
  if (state_ == State::kUp) Write();
}

// --- The life of the connection ---------------------------------------------

void ServerLink::Impl::Connect() {
  state_ = State::kConnecting;
  retry_timer_->Stop();
  connect_timer_.Start(options_.connect_timeout);
  stream_ = runtime_.Connect(endpoint_, *this);
}

void ServerLink::Impl::OnConnected() {
  ++connection_;
  counters_.connections.Add();
  const TimePoint now = runtime_.Now();
  for (Request& request : handshake_.Begin(runtime_.Random(), now)) {
    greeting_.Push(request);
  }
  Write();
}

void ServerLink::Impl::OnReadable() { ReadAvailable(); }

void ServerLink::Impl::OnWritable() { Write(); }

void ServerLink::Impl::OnFailed(const std::string& reason) { Cut(reason); }

void ServerLink::Impl::OnHandshakeReply(Request& reply) {
  switch (handshake_.OnReply(reply)) {
    case Handshake::Progress::kWait:
      return;
    case Handshake::Progress::kSend:
      greeting_.Push(handshake_.next());
      Write();
      return;
    case Handshake::Progress::kDone:
      OnHandshakeEnd();
      return;
    case Handshake::Progress::kRefused:
      Fail(handshake_.error(), State::kRefused);
      return;
    case Handshake::Progress::kBroken:
      Fail(handshake_.error());
      return;
  }
}

void ServerLink::Impl::OnHandshakeEnd() {
  std::string why;
  const int moves = moves_;
  const bool welcome =
      guard_ == nullptr || guard_->Accept(member_, handshake_.facts(), &why);
  // The guard may find that the server is another one by now.
  if (moves_ != moves) return;
  if (!welcome) {
    Fail(why, State::kRefused);
    return;
  }
  facts_ = handshake_.facts();
  state_ = State::kUp;
  silence_.Start();
  counters_.standing.Add();
  failed_before_ = false;
  backoff_.Reset();
  connect_timer_.Stop();
  WantToWrite();
}

void ServerLink::Impl::OnConnectTimeout() {
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(
      options_.connect_timeout);
  Fail(fmt::format("{} within {} ms", Lack(in_flight_, stream_.get()),
                   limit.count()));
}

void ServerLink::Impl::Abort(const std::string& reason) {
  if (state_ != State::kIdle) Fail(reason);
}

void ServerLink::Impl::Retry() {
  if (state_ == State::kUp || state_ == State::kIdle) return;
  failed_before_ = false;
  backoff_.Reset();
  if (state_ != State::kConnecting) Connect();
}

void ServerLink::Impl::MoveTo(Endpoint endpoint) {
  ++moves_;
  if (state_ == State::kUp) counters_.standing.Subtract();
  EndOpenRequests();
  DropStream();
  connect_timer_.Stop();
  retry_timer_->Stop();
  state_ = State::kIdle;
  failed_before_ = false;
  backoff_.Reset();
  last_error_.clear();
  endpoint_ = std::move(endpoint);
}

void ServerLink::Impl::Fail(const std::string& reason, State state) {
  counters_.failures.Add();
  if (state_ == State::kUp) counters_.standing.Subtract();
  last_error_ = reason;
  EndOpenRequests();
  DropStream();
  state_ = state;
  failed_before_ = true;
  connect_timer_.Stop();
  retry_timer_->Start(backoff_.Next(runtime_.Random()));
}

// The stream broke. That alone does not make a server dead: it may only have
// closed an idle connection. Requests wait for one more try, as for the first.
void ServerLink::Impl::Cut(const std::string& reason) {
  const bool was_up = state_ == State::kUp;
  Fail(reason);
  if (!was_up) return;
  failed_before_ = false;
  Connect();
}

void ServerLink::Impl::EndOpenRequests() {
  while (Request* request = in_flight_.PopLost()) {
    if (state_ == State::kConnecting) continue;  // the handshake's own
    End(*request, request->outcome);
  }
  while (!greeting_.empty()) greeting_.Pop();
  while (!waiting_.empty()) End(waiting_.Pop(), Outcome::kNotSent);
}

void ServerLink::Impl::DropStream() {
  stream_.reset();
  in_flight_.Clear();
  silence_.Stop();
  want_write_ = false;
  facts_ = ServerFacts();
}

// --- Deadlines --------------------------------------------------------------

void ServerLink::Impl::ArmDeadline(TimePoint deadline) {
  if (deadline >= armed_deadline_) return;
  const TimePoint now = runtime_.Now();
  armed_deadline_ =
      std::min(deadline, now + options_.request_timeout / kPartsOfTimeout);
  deadline_timer_->Start(armed_deadline_ - now);
}

// The timer is not moved when requests end: it checks again when it fires.
void ServerLink::Impl::OnDeadline() {
  const Duration late =
      runtime_.Now() - std::exchange(armed_deadline_, TimePoint::max());
  if (EarliestDeadline(OpenRequests()) == TimePoint::max()) return;
  // Replies that came while this thread was busy are in time.
  if (state_ == State::kUp) ReadAvailable();
  if (late > options_.request_timeout / kPartsOfTimeout) RestartDeadlines();
  const TimePoint earliest = EarliestDeadline(OpenRequests());
  if (earliest == TimePoint::max()) return;
  if (earliest > runtime_.Now()) {
    ArmDeadline(earliest);
    return;
  }
  Fail(fmt::format("{} in time", state_ == State::kUp
                                     ? std::string("no reply")
                                     : Lack(in_flight_, stream_.get())));
}

void ServerLink::Impl::RestartDeadlines() {
  const TimePoint now = runtime_.Now();
  VisitEach(OpenRequests(), [&](Request& request) {
    if (request.deadline == TimePoint::max()) return;
    request.deadline = now + TimeoutOf(request);
  });
}

std::array<Request*, 2> ServerLink::Impl::OpenRequests() const {
  return {state_ == State::kUp ? in_flight_.front() : nullptr,
          waiting_.front()};
}

// --- The public face --------------------------------------------------------

ServerLink::ServerLink(Runtime& runtime, Endpoint endpoint, int member,
                       const LinkOptions& options, LinkGuard* guard)
    : impl_(std::make_unique<Impl>(runtime, std::move(endpoint), member,
                                   options, guard)) {}
ServerLink::~ServerLink() = default;

void ServerLink::Submit(Request& request) { impl_->Submit(request); }
void ServerLink::Flush() { impl_->Flush(); }

void ServerLink::Abort(const std::string& reason) { impl_->Abort(reason); }
void ServerLink::Retry() { impl_->Retry(); }
void ServerLink::MoveTo(Endpoint endpoint) {
  impl_->MoveTo(std::move(endpoint));
}
ServerLink::State ServerLink::state() const { return impl_->state(); }
int ServerLink::member() const { return impl_->member(); }
const Endpoint& ServerLink::endpoint() const { return impl_->endpoint(); }
const ServerFacts& ServerLink::facts() const { return impl_->facts(); }
std::uint64_t ServerLink::connection() const { return impl_->connection(); }
const std::string& ServerLink::last_error() const {
  return impl_->last_error();
}
const LinkCounters& ServerLink::counters() const { return impl_->counters(); }
const SilenceWatch& ServerLink::silence() const { return impl_->silence(); }

}  // namespace ers::net
