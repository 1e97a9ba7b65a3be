#include "net/server_link.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <utility>
#include <vector>

#include "net/errno_text.h"
#include "net/handshake.h"
#include "net/reply_parser.h"
#include "net/request_encoder.h"
#include "net/request_queue.h"

namespace ers::net {
namespace {

// What one read may take beyond the value that it is in. Small next to a
// value, whose first bytes are copied out of it; large for short replies.
constexpr std::size_t kBufferBytes = 16 * 1024;
constexpr std::size_t kBufferBesideValue = 4 * 1024;
constexpr int kMaxReadPieces = 64;
// Reads per callback: other connections want their turn.
constexpr int kReadsPerTurn = 32;
// Doublings of the backoff; more only overflow.
constexpr int kMaxDoublings = 20;

void ClearAnswer(Request& request) {
  request.outcome = Outcome::kPending;
  request.item_token = request.item_bytes = request.connection = 0;
  request.item_flags = 0;
  request.item_ttl = -1;
  request.value.clear();
}

}  // namespace

// Nobody is told about an answer from inside a call or a stream's callback:
// ended requests are collected, and one Deferred per loop turn calls them and
// then writes what was submitted. So whoever is called may do anything, also
// destroy the link.
class ServerLink::Impl : private StreamHandler {
 public:
  Impl(Runtime& runtime, Endpoint endpoint, int member,
       const LinkOptions& options, BootGuard* guard);
  ~Impl() override;

  void Submit(Request& request);
  void Abort(const std::string& reason);

  State state() const { return state_; }
  int member() const { return member_; }
  const Endpoint& endpoint() const { return endpoint_; }
  const ServerFacts& facts() const { return facts_; }
  std::uint64_t connection() const {
    return state_ == State::kUp ? connection_ : 0;
  }
  const std::string& last_error() const { return last_error_; }
  const LinkCounters& counters() const { return counters_; }

 private:
  // On its own on the heap: the runtime may still hold it when the link is
  // gone.
  struct Turn : Deferred {
    Impl* link = nullptr;
    bool running = false;
  };
  // Where a request of the batch ends, in bytes from the batch's start.
  struct Written {
    Request* request;
    std::size_t end;
  };

  void OnConnected() override;
  void OnReadable() override;
  void OnWritable() override;
  void OnFailed(const std::string& reason) override;

  void Connect();
  void OnRetryTimer();
  void OnDeadline();
  void ArmDeadline(TimePoint deadline);
  TimePoint EarliestDeadline() const;

  void RunTurn();
  void WantTurn();
  void Write();
  void FillBatch();
  bool MayLeave(const Request& request) const;
  bool FlushBatch();
  std::size_t FrontBegin() const;
  std::size_t FrontEnd() const;

  void ReadAvailable();
  int ReadPieces(iovec* pieces, std::size_t* straight);
  bool TakeBytes(std::string_view bytes);
  void OnReplyEnd();
  void OnHandshakeReply(Request& reply);
  void OnHandshakeEnd();

  void End(Request& request, Outcome outcome);
  void Fail(const std::string& reason, State state = State::kFailed);
  void EndOpenRequests();
  void DropStream();
  Duration Backoff();

  Runtime& runtime_;
  const Endpoint endpoint_;
  const int member_;
  const LinkOptions options_;
  BootGuard* const guard_;

  State state_ = State::kIdle;
  bool failed_before_ = false;  // since it was last up
  int failures_in_row_ = 0;
  std::uint64_t connection_ = 0;
  ServerFacts facts_;
  std::string last_error_;
  LinkCounters counters_;

  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Timer> retry_timer_;  // connecting: its end; failed: backoff
  std::unique_ptr<Timer> deadline_timer_;
  TimePoint armed_deadline_ = TimePoint::max();
  Handshake handshake_;

  // A request is in one of these: not a byte written; in the batch or written,
  // in the order of the replies; ended and not told.
  RequestQueue waiting_;
  RequestQueue greeting_;  // as waiting_, for the handshake's own
  RequestQueue sent_;
  RequestQueue ended_;
  RequestEncoder batch_;
  std::vector<Written> batch_ends_;  // those of the batch, in order
  std::size_t batch_first_ = 0;      // the first of them without an answer
  // The first of sent_ was answered before it was wholly written (refused by
  // its size). Its value is still to be written: it cannot end yet.
  bool answered_early_ = false;
  bool metadump_sent_ = false;
  bool want_write_ = false;
  ReplyParser parser_;
  std::unique_ptr<char[]> buffer_ = std::make_unique<char[]>(kBufferBytes);
  Turn* turn_;
};

ServerLink::Impl::Impl(Runtime& runtime, Endpoint endpoint, int member,
                       const LinkOptions& options, BootGuard* guard)
    : runtime_(runtime),
      endpoint_(std::move(endpoint)),
      member_(member),
      options_(options),
      guard_(guard),
      retry_timer_(runtime.NewTimer([this] { OnRetryTimer(); })),
      deadline_timer_(runtime.NewTimer([this] { OnDeadline(); })),
      handshake_(options_.nonce_key),
      turn_(new Turn) {
  turn_->link = this;
  turn_->run = [](Deferred& self) {
    auto& turn = static_cast<Turn&>(self);
    if (turn.link != nullptr) {
      turn.running = true;
      turn.link->RunTurn();
      turn.running = false;
    }
    if (turn.link == nullptr && !turn.queued) delete &turn;
  };
}

ServerLink::Impl::~Impl() {
  turn_->link = nullptr;
  if (!turn_->queued && !turn_->running) delete turn_;
  turn_ = nullptr;
  EndOpenRequests();
  stream_.reset();
  while (!ended_.empty()) {
    Request& request = ended_.Pop();
    request.done(request);
  }
}

// --- Requests in, answers out -----------------------------------------------

void ServerLink::Impl::Submit(Request& request) {
  assert(turn_ != nullptr);
  ClearAnswer(request);
  const bool waits = state_ == State::kIdle || state_ == State::kUp ||
                     (state_ == State::kConnecting && !failed_before_);
  if (!waits) {
    End(request, Outcome::kNotSent);
    return;
  }
  const Duration timeout =
      request.timeout.count() > 0 ? request.timeout : options_.request_timeout;
  request.deadline = runtime_.Now() + timeout;
  waiting_.Push(request);
  ArmDeadline(request.deadline);
  if (state_ == State::kIdle) Connect();
  if (state_ == State::kUp) WantTurn();
}

void ServerLink::Impl::End(Request& request, Outcome outcome) {
  request.outcome = outcome;
  ended_.Push(request);
  WantTurn();
}

void ServerLink::Impl::WantTurn() {
  if (turn_ != nullptr && !turn_->running) runtime_.Defer(*turn_);
}

void ServerLink::Impl::RunTurn() {
  const Turn& turn = *turn_;
  while (!ended_.empty()) {
    Request& request = ended_.Pop();
    request.done(request);
    if (turn.link == nullptr) return;  // it destroyed the link
  }
  if (state_ == State::kUp) Write();
  if (!ended_.empty()) runtime_.Defer(*turn_);
}

// --- Writing ----------------------------------------------------------------

void ServerLink::Impl::Write() {
  do {
    if (batch_.empty()) FillBatch();
  } while (!batch_.empty() && FlushBatch());
}

void ServerLink::Impl::FillBatch() {
  batch_.Clear();
  batch_ends_.clear();
  batch_first_ = 0;
  RequestQueue& queue = state_ == State::kUp ? waiting_ : greeting_;
  while (!queue.empty() && !metadump_sent_) {
    Request& request = *queue.front();
    if (!MayLeave(request)) {
      End(queue.Pop(), Outcome::kNotSent);
      continue;
    }
    const bool metadump = request.verb == Verb::kMetadump;
    // The server refuses a dump that is pipelined behind a command, and does
    // not look at a command behind a dump until more bytes come.
    if (metadump && !sent_.empty()) break;
    if (!batch_.Append(request)) break;
    metadump_sent_ = metadump;
    request.connection = connection_;
    sent_.Push(queue.Pop());
    batch_ends_.push_back({&request, batch_.total_bytes()});
    ++counters_.requests;
  }
}

bool ServerLink::Impl::MayLeave(const Request& request) const {
  if (request.only_connection != 0 && request.only_connection != connection_) {
    return false;
  }
  return request.only_boot.empty() || request.only_boot == facts_.boot_mark;
}

// False if the batch has to wait or the connection failed.
bool ServerLink::Impl::FlushBatch() {
  while (!batch_.empty()) {
    const ssize_t moved =
        stream_->WriteV(batch_.pieces(), batch_.piece_count());
    const bool full = moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    if (moved < 0 && !full) {
      Fail("cannot send: " + ErrnoText(errno));
      return false;
    }
    if (full != want_write_) stream_->WantWrite(want_write_ = full);
    if (full) return false;
    batch_.Advance(static_cast<std::size_t>(moved));
    counters_.bytes_sent += static_cast<std::uint64_t>(moved);
  }
  if (answered_early_) OnReplyEnd();
  return stream_ != nullptr;
}

// Where the oldest request without an answer lies in the batch; 0 if it is of
// an earlier one.
std::size_t ServerLink::Impl::FrontBegin() const {
  return FrontEnd() == 0 || batch_first_ == 0
             ? 0
             : batch_ends_[batch_first_ - 1].end;
}

std::size_t ServerLink::Impl::FrontEnd() const {
  const bool in_batch = batch_first_ < batch_ends_.size() &&
                        batch_ends_[batch_first_].request == sent_.front();
  return in_batch ? batch_ends_[batch_first_].end : 0;
}

// --- Reading ----------------------------------------------------------------

int ServerLink::Impl::ReadPieces(iovec* pieces, std::size_t* straight) {
  int count = parser_.Destination(pieces, kMaxReadPieces - 1);
  *straight = 0;
  for (int i = 0; i < count; ++i) *straight += pieces[i].iov_len;
  const Request* next = sent_.front();
  const bool value = next != nullptr && !next->into.empty();
  pieces[count++] = {buffer_.get(), value ? kBufferBesideValue : kBufferBytes};
  return count;
}

void ServerLink::Impl::ReadAvailable() {
  std::array<iovec, kMaxReadPieces> pieces;
  for (int turn = 0; turn < kReadsPerTurn; ++turn) {
    std::size_t straight = 0;
    const int count = ReadPieces(pieces.data(), &straight);
    const std::size_t room =
        straight + pieces[static_cast<std::size_t>(count - 1)].iov_len;
    const ssize_t moved = stream_->ReadV(pieces.data(), count);
    if (moved < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      Fail(ErrnoText(errno));
      return;
    }
    if (moved == 0) {
      Fail("the server closed the connection");
      return;
    }
    const auto bytes = static_cast<std::size_t>(moved);
    counters_.bytes_received += bytes;
    const std::size_t placed = std::min(bytes, straight);
    if (placed > 0) parser_.Placed(placed);
    if (!TakeBytes({buffer_.get(), bytes - placed})) return;
    if (bytes < room) return;  // nothing is left, as a rule
  }
}

// False if the connection failed.
bool ServerLink::Impl::TakeBytes(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!parser_.active()) {
      const bool asked =
          !sent_.empty() && !answered_early_ &&
          (FrontEnd() == 0 || FrontBegin() < batch_.written_bytes());
      if (!asked) {
        Fail("it sent a reply to no request: is it a memcached?");
        return false;
      }
      parser_.Begin(*sent_.front());
    }
    switch (parser_.Parse(&bytes)) {
      case ReplyParser::Progress::kMore:
        break;
      case ReplyParser::Progress::kBroken:
        Fail(parser_.error());
        return false;
      case ReplyParser::Progress::kDone:
        answered_early_ = FrontEnd() > batch_.written_bytes();
        if (!answered_early_) OnReplyEnd();
        if (stream_ == nullptr) return false;
        break;
    }
  }
  return true;
}

// The oldest request is answered and wholly written.
void ServerLink::Impl::OnReplyEnd() {
  answered_early_ = false;
  if (FrontEnd() != 0) ++batch_first_;
  Request& request = sent_.Pop();
  if (request.verb == Verb::kMetadump) metadump_sent_ = false;
  if (state_ == State::kConnecting) {
    OnHandshakeReply(request);
    return;
  }
  End(request, request.outcome);
}

// --- The life of the connection ---------------------------------------------

void ServerLink::Impl::Connect() {
  state_ = State::kConnecting;
  retry_timer_->Start(options_.connect_timeout);
  stream_ = runtime_.Connect(endpoint_, *this);
}

void ServerLink::Impl::OnConnected() {
  ++connection_;
  ++counters_.connections;
  for (Request& request : handshake_.Begin(runtime_.Random())) {
    greeting_.Push(request);
  }
  Write();
}

void ServerLink::Impl::OnReadable() { ReadAvailable(); }

void ServerLink::Impl::OnWritable() { Write(); }

void ServerLink::Impl::OnFailed(const std::string& reason) { Fail(reason); }

void ServerLink::Impl::OnHandshakeReply(Request& reply) {
  switch (handshake_.OnReply(reply)) {
    case Handshake::Step::kWait:
      return;
    case Handshake::Step::kSend:
      greeting_.Push(handshake_.next());
      Write();
      return;
    case Handshake::Step::kDone:
      OnHandshakeEnd();
      return;
    case Handshake::Step::kRefused:
      Fail(handshake_.error(), State::kRefused);
      return;
    case Handshake::Step::kBroken:
      Fail(handshake_.error());
      return;
  }
}

void ServerLink::Impl::OnHandshakeEnd() {
  std::string why;
  if (guard_ != nullptr && !guard_->Accept(member_, handshake_.facts(), &why)) {
    Fail(why, State::kRefused);
    return;
  }
  facts_ = handshake_.facts();
  state_ = State::kUp;
  failed_before_ = false;
  failures_in_row_ = 0;
  retry_timer_->Stop();
  WantTurn();
}

void ServerLink::Impl::OnRetryTimer() {
  if (state_ == State::kConnecting) {
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(
        options_.connect_timeout);
    Fail("no connection within " + std::to_string(limit.count()) + " ms");
    return;
  }
  Connect();
}

void ServerLink::Impl::Abort(const std::string& reason) {
  if (state_ != State::kIdle) Fail(reason);
}

void ServerLink::Impl::Fail(const std::string& reason, State state) {
  ++counters_.failures;
  last_error_ = reason;
  EndOpenRequests();
  DropStream();
  state_ = state;
  failed_before_ = true;
  retry_timer_->Start(Backoff());
}

// Doubles from try to try, and half of it is chance: proxies that lost the
// same server do not come back in step.
Duration ServerLink::Impl::Backoff() {
  const int doublings = std::min(failures_in_row_++, kMaxDoublings);
  const Duration limit =
      std::min(options_.backoff_max, options_.backoff_min * (1 << doublings));
  const Duration half = limit / 2;
  const auto choices = static_cast<std::uint64_t>(half.count()) + 1;
  return half +
         Duration(static_cast<std::int64_t>(runtime_.Random() % choices));
}

void ServerLink::Impl::EndOpenRequests() {
  const std::size_t written = batch_.written_bytes();
  while (!sent_.empty()) {
    const bool sent = FrontEnd() == 0 || FrontBegin() < written;
    const bool answered = std::exchange(answered_early_, false);
    if (FrontEnd() != 0) ++batch_first_;
    Request& request = sent_.Pop();
    if (state_ == State::kConnecting) continue;  // the handshake's own
    if (!answered) request.value.clear();
    const Outcome outcome = sent ? Outcome::kLost : Outcome::kNotSent;
    End(request, answered ? request.outcome : outcome);
  }
  while (!greeting_.empty()) greeting_.Pop();
  while (!waiting_.empty()) End(waiting_.Pop(), Outcome::kNotSent);
}

void ServerLink::Impl::DropStream() {
  stream_.reset();
  parser_.Reset();
  batch_.Clear();
  batch_ends_.clear();
  batch_first_ = 0;
  metadump_sent_ = want_write_ = false;
  facts_ = ServerFacts();
}

// --- Deadlines --------------------------------------------------------------

void ServerLink::Impl::ArmDeadline(TimePoint deadline) {
  if (deadline >= armed_deadline_) return;
  armed_deadline_ = deadline;
  deadline_timer_->Start(deadline - runtime_.Now());
}

// The timer is not moved when requests end: it looks again when it fires.
void ServerLink::Impl::OnDeadline() {
  armed_deadline_ = TimePoint::max();
  // Replies that came while this thread was busy are in time.
  if (state_ == State::kUp) ReadAvailable();
  const TimePoint earliest = EarliestDeadline();
  if (earliest == TimePoint::max()) return;
  if (earliest > runtime_.Now()) {
    ArmDeadline(earliest);
    return;
  }
  Fail(state_ == State::kUp ? "no reply in time" : "no connection in time");
}

TimePoint ServerLink::Impl::EarliestDeadline() const {
  TimePoint earliest = TimePoint::max();
  const Request* sent = state_ == State::kUp ? sent_.front() : nullptr;
  for (const Request* first :
       {sent, static_cast<const Request*>(waiting_.front())}) {
    for (const Request* i = first; i != nullptr; i = i->next) {
      earliest = std::min(earliest, i->deadline);
    }
  }
  return earliest;
}

// --- The public face --------------------------------------------------------

ServerLink::ServerLink(Runtime& runtime, Endpoint endpoint, int member,
                       const LinkOptions& options, BootGuard* guard)
    : impl_(std::make_unique<Impl>(runtime, std::move(endpoint), member,
                                   options, guard)) {}
ServerLink::~ServerLink() = default;

void ServerLink::Submit(Request& request) { impl_->Submit(request); }
void ServerLink::Abort(const std::string& reason) { impl_->Abort(reason); }
ServerLink::State ServerLink::state() const { return impl_->state(); }
int ServerLink::member() const { return impl_->member(); }
const Endpoint& ServerLink::endpoint() const { return impl_->endpoint(); }
const ServerFacts& ServerLink::facts() const { return impl_->facts(); }
std::uint64_t ServerLink::connection() const { return impl_->connection(); }
const std::string& ServerLink::last_error() const {
  return impl_->last_error();
}
const LinkCounters& ServerLink::counters() const { return impl_->counters(); }

}  // namespace ers::net
