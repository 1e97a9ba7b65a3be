// What a link writes to its stream, and what it reads from it.
#include <algorithm>
#include <array>
#include <atomic>
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

void RecordLatency(const Request& request, TimePoint now,
                   LinkCounters& counters) {
  if (!HasKey(request.verb)) return;
  const std::size_t bytes =
      std::max<std::size_t>(request.item_bytes, BodyBytes(request));
  counters.latency.Record(now - request.left_at, bytes, now);
}

// A server that ends a connection before it sent its version may be no
// memcached.
std::string Why(std::string reason, ServerLink::State state,
                const InFlight& in_flight) {
  if (state != ServerLink::State::kConnecting) return reason;
  const std::string_view sent = in_flight.partial_line();
  return sent.empty() ? reason + " without an answer: is it a memcached?"
                      : StrangerSent(sent);
}

bool IsOver(const std::atomic<Duration::rep>* before, TimePoint now) {
  return before != nullptr && now.time_since_epoch().count() >= before->load();
}

bool MayLeave(const Request& request, TimePoint now, std::uint64_t connection,
              const ServerFacts& facts) {
  if (IsOver(request.leaves_before, now)) return false;
  if (request.only_connection != 0 && request.only_connection != connection) {
    return false;
  }
  return request.only_boot.empty() || request.only_boot == facts.boot_mark;
}

// A set of a chunked item that finds no memory for one of its chunks is refused
// without a word if it is quiet: memcached 1.6 takes the refusal for an answer
// that need not be given.
bool MayBeQuiet(const Request& request, const ServerFacts& facts) {
  if (request.verb != Verb::kSet) return true;
  return kItemOverhead + request.key.size() + BodyBytes(request) <=
         facts.slab_chunk_max;
}

}  // namespace

// --- Writing ----------------------------------------------------------------

void ServerLink::Impl::Write() {
  lazy_waiting_ = 0;
  do {
    if (in_flight_.batch_written()) FillBatch();
  } while (!in_flight_.batch_written() && FlushBatch());
}

void ServerLink::Impl::FillBatch() {
  in_flight_.BeginBatch();
  batch_leaves_before_ = nullptr;
  RequestQueue& queue = state_ == State::kUp ? waiting_ : greeting_;
  const TimePoint now = queue.empty() ? TimePoint() : runtime_.Now();
  while (!queue.empty()) {
    Request& request = *queue.front();
    if (!MayLeave(request, now, connection_, facts_)) {
      End(queue.Pop(), Outcome::kNotSent);
      continue;
    }
    if (request.lazy) {
      request.deadline = now + TimeoutOf(request);
      ArmDeadline(request.deadline);
    }
    if (!MayBeQuiet(request, facts_)) request.quiet_run = nullptr;
    if (!in_flight_.AppendFrom(queue)) break;
    request.connection = connection_;
    request.left_at = now;
    if (request.leaves_before) batch_leaves_before_ = request.leaves_before;
    counters_.requests.Add();
  }
  in_flight_.EndBatch();
  silence_.OnSent();
}

// False if the batch has to wait or the connection failed.
bool ServerLink::Impl::FlushBatch() {
  while (!in_flight_.batch_written()) {
    if (IsOver(batch_leaves_before_, runtime_.Now())) {
      Cut("it took what was sent too slowly");
      return false;
    }
    const ssize_t moved =
        stream_->WriteV(in_flight_.pieces(), in_flight_.piece_count());
    const bool full = moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    if (moved < 0 && !full) {
      Cut("cannot send: " + ErrnoText(errno));
      return false;
    }
    if (!full && want_write_) silence_.OnHeard();
    if (full != want_write_) stream_->WantWrite(want_write_ = full);
    if (full) return false;
    in_flight_.Advance(static_cast<std::size_t>(moved));
    counters_.bytes_sent.Add(static_cast<std::uint64_t>(moved));
  }
  return EndAnswered();
}

// --- Reading ----------------------------------------------------------------

int ServerLink::Impl::ReadPieces(iovec* pieces, std::size_t* straight) {
  int count = in_flight_.Destination(pieces, kMaxReadPieces - 1);
  *straight = 0;
  for (int i = 0; i < count; ++i) *straight += pieces[i].iov_len;
  const Request* next = in_flight_.front();
  const bool value = next != nullptr && !next->into.empty() && !next->abandoned;
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
      Cut(Why(ErrnoText(errno), state_, in_flight_));
      return;
    }
    if (moved == 0) {
      Cut(Why("the server closed the connection", state_, in_flight_));
      return;
    }
    const auto bytes = static_cast<std::size_t>(moved);
    counters_.bytes_received.Add(bytes);
    silence_.OnHeard();
    const std::size_t placed = std::min(bytes, straight);
    if (placed > 0) in_flight_.Placed(placed);
    if (!TakeBytes({buffer_.get(), bytes - placed})) return;
    if (!ReportPlaced()) return;
    if (bytes < room) return;  // nothing is left, as a rule
  }
}

// False if the connection failed meanwhile.
bool ServerLink::Impl::ReportPlaced() {
  Request* request = in_flight_.answering();
  if (request == nullptr) return true;
  if (request->on_placed != nullptr && request->placed > 0) {
    request->on_placed(*request);
  }
  return stream_ != nullptr;
}

// False if the connection failed.
bool ServerLink::Impl::TakeBytes(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!in_flight_.Take(&bytes)) {
      Fail(in_flight_.error());
      return false;
    }
    if (!EndAnswered()) return false;
  }
  return true;
}

// False if the connection failed.
bool ServerLink::Impl::EndAnswered() {
  TimePoint now;
  while (Request* request = in_flight_.PopAnswered()) {
    if (state_ == State::kConnecting) {
      OnHandshakeReply(*request);
      continue;
    }
    if (now == TimePoint()) silence_.OnAnswer(now = runtime_.Now());
    RecordLatency(*request, now, counters_);
    End(*request, request->outcome);
  }
  return stream_ != nullptr;
}

}  // namespace ers::net
