// What a link writes to its stream, and what it reads from it.
#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "net/errno_text.h"
#include "net/server_link_impl.h"

namespace ers::net {
namespace {

// Less than the whole buffer behind a value that is read into place: what is
// behind it is the next value's line, and what comes with that is copied.
constexpr std::size_t kBufferBesideValue = 4096;
constexpr int kMaxReadPieces = 64;
// Reads per callback: other connections want their turn.
constexpr int kReadsPerTurn = 32;

// More than memcached's header of an item.
constexpr std::size_t kItemOverhead = 128;

// Is its answer the sentinel's?
bool BehindSentinel(const Request& request) {
  return request.quiet_run != nullptr || request.verb == Verb::kSentinel;
}

}  // namespace

// --- Writing ----------------------------------------------------------------

void ServerLink::Impl::Write() {
  lazy_waiting_ = 0;
  do {
    if (batch_.empty()) FillBatch();
  } while (!batch_.empty() && FlushBatch());
}

void ServerLink::Impl::FillBatch() {
  batch_.Clear();
  batch_ends_.clear();
  batch_first_ = 0;
  RequestQueue& queue = state_ == State::kUp ? waiting_ : greeting_;
  const Request* quiet = nullptr;  // the last one, if no sentinel is behind it
  while (!queue.empty()) {
    Request& request = *queue.front();
    if (!MayLeave(request)) {
      End(queue.Pop(), Outcome::kNotSent);
      continue;
    }
    if (request.lazy) {
      request.deadline = runtime_.Now() + TimeoutOf(request);
      ArmDeadline(request.deadline);
    }
    if (!MayBeQuiet(request)) request.quiet_run = nullptr;
    if (quiet != nullptr && (request.quiet_run != quiet->quiet_run ||
                             request.verb != quiet->verb)) {
      AppendSentinel();
      quiet = nullptr;
    }
    if (!batch_.Append(request)) break;
    if (request.quiet_run != nullptr) quiet = &request;
    request.connection = connection_;
    sent_.Push(queue.Pop());
    batch_ends_.push_back({&request, batch_.total_bytes()});
    counters_.requests.Add();
  }
  if (quiet != nullptr) AppendSentinel();
}

// A set of a chunked item that finds no memory for one of its chunks is refused
// without a word if it is quiet: memcached 1.6 takes the refusal for an answer
// that need not be given.
bool ServerLink::Impl::MayBeQuiet(const Request& request) const {
  if (request.verb != Verb::kSet) return true;
  std::uint64_t bytes = kItemOverhead + request.key.size();
  for (const iovec& piece : request.body) bytes += piece.iov_len;
  return bytes <= facts_.slab_chunk_max;
}

void ServerLink::Impl::AppendSentinel() {
  Request& sentinel = sentinels_.emplace_back();
  sentinel.verb = Verb::kSentinel;
  sentinel.deadline = TimePoint::max();
  batch_.AppendSentinel();
  sent_.Push(sentinel);
  batch_ends_.push_back({&sentinel, batch_.total_bytes()});
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
      Cut("cannot send: " + ErrnoText(errno));
      return false;
    }
    if (full != want_write_) stream_->WantWrite(want_write_ = full);
    if (full) return false;
    batch_.Advance(static_cast<std::size_t>(moved));
    counters_.bytes_sent.Add(static_cast<std::uint64_t>(moved));
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
      Cut(WhyCut(ErrnoText(errno)));
      return;
    }
    if (moved == 0) {
      Cut(WhyCut("the server closed the connection"));
      return;
    }
    const auto bytes = static_cast<std::size_t>(moved);
    counters_.bytes_received.Add(bytes);
    const std::size_t placed = std::min(bytes, straight);
    if (placed > 0) parser_.Placed(placed);
    if (!TakeBytes({buffer_.get(), bytes - placed})) return;
    if (!TellPlaced()) return;
    if (bytes < room) return;  // nothing is left, as a rule
  }
}

// Who ends a connection before it told its version may be no memcached.
std::string ServerLink::Impl::WhyCut(std::string reason) const {
  if (state_ != State::kConnecting) return reason;
  const std::string_view sent = parser_.partial_line();
  return sent.empty() ? reason + " without an answer: is it a memcached?"
                      : StrangerSent(sent);
}

// False if the connection failed meanwhile.
bool ServerLink::Impl::TellPlaced() {
  if (!parser_.active()) return true;
  Request& request = *sent_.front();
  if (request.on_placed != nullptr && request.placed > 0) {
    request.on_placed(request);
  }
  return stream_ != nullptr;
}

// False if the connection failed.
bool ServerLink::Impl::TakeBytes(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!parser_.active()) {
      const bool asked =
          !sent_.empty() && !answered_early_ &&
          (FrontEnd() == 0 || FrontBegin() < batch_.written_bytes());
      if (!asked) {
        Fail(StrangerSent(bytes));
        return false;
      }
      parser_.Begin(BehindSentinel(*sent_.front()) ? sentinels_.front()
                                                   : *sent_.front());
    }
    switch (parser_.Parse(&bytes)) {
      case ReplyParser::Progress::kMore:
        break;
      case ReplyParser::Progress::kBroken:
        Fail(parser_.error());
        return false;
      case ReplyParser::Progress::kDone:
        if (BehindSentinel(*sent_.front()) && OnSentinelReply()) {
          if (stream_ == nullptr) return false;
          break;
        }
        answered_early_ = FrontEnd() > batch_.written_bytes();
        if (!answered_early_) OnReplyEnd();
        if (stream_ == nullptr) return false;
        break;
    }
  }
  return true;
}

Request& ServerLink::Impl::PopSent() {
  if (FrontEnd() != 0) ++batch_first_;
  return sent_.Pop();
}

// A sentinel's reply, or one to the quiet requests before it. False: it refused
// the oldest of them, which is to be ended.
bool ServerLink::Impl::OnSentinelReply() {
  constexpr char kNonsense[] =
      "it sent a reply to no request: is it a memcached?";
  Request& sentinel = sentinels_.front();
  Request& oldest = *sent_.front();
  if (sentinel.outcome != Outcome::kOk) {
    if (&oldest == &sentinel) {
      Fail(kNonsense);
      return true;
    }
    oldest.outcome = sentinel.outcome;
    oldest.value = std::exchange(sentinel.value, {});
    return false;
  }
  const auto written = std::find_if(
      batch_ends_.begin(), batch_ends_.end(),
      [&sentinel](const Written& w) { return w.request == &sentinel; });
  if (written != batch_ends_.end() && written->end > batch_.written_bytes()) {
    Fail(kNonsense);
    return true;
  }
  while (sent_.front() != &sentinel) End(PopSent(), Outcome::kOk);
  PopSent();
  sentinels_.pop_front();
  return true;
}

// The oldest request is answered and wholly written.
void ServerLink::Impl::OnReplyEnd() {
  answered_early_ = false;
  Request& request = PopSent();
  if (state_ == State::kConnecting) {
    OnHandshakeReply(request);
    return;
  }
  End(request, request.outcome);
}

}  // namespace ers::net
