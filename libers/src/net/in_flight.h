// InFlight: the requests that are on their way over one connection.
#ifndef ERS_NET_IN_FLIGHT_H_
#define ERS_NET_IN_FLIGHT_H_

#include <sys/uio.h>

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "net/reply_parser.h"
#include "net/request.h"
#include "net/request_encoder.h"
#include "net/request_queue.h"

namespace ers::net {

// Requests leave in batches, and replies come in the order of the requests:
//
//   AppendFrom ... EndBatch -> pieces, Advance -> Destination, Placed, Take
//     -> PopAnswered
//
// A run of quiet requests is followed by a sentinel, a request of its own whose
// reply shows that all before it were obeyed. No I/O. Requests stay their
// owner's. Thread-compatible.
class InFlight {
 public:
  // --- Writing ---

  // Begins a new batch. Only once the last one is written.
  void BeginBatch();
  // Adds the first of `queue` to the batch; false if the batch has no room for
  // it.
  bool AppendFrom(RequestQueue& queue);
  // A sentinel follows the last request, if that is quiet.
  void EndBatch();

  // What is left of the batch to write, in order.
  [[nodiscard]] const iovec* pieces() const { return batch_.pieces(); }
  [[nodiscard]] int piece_count() const { return batch_.piece_count(); }
  [[nodiscard]] bool batch_written() const { return batch_.empty(); }
  // `bytes` of pieces() were written.
  void Advance(std::size_t bytes);

  // --- Reading ---

  // The pieces, at most `max`, to which the next bytes of the stream belong.
  int Destination(iovec* pieces, int max) const {
    return parser_.Destination(pieces, max);
  }
  // `bytes` of the stream were read into Destination's pieces.
  void Placed(std::size_t bytes) { parser_.Placed(bytes); }
  // The request whose reply has begun and not ended; null: none.
  [[nodiscard]] Request* answering() const {
    return parser_.active() ? sent_.front() : nullptr;
  }
  // Takes from the front of `bytes`, at most to the end of one reply. False:
  // the server does not speak as it must; error() says how.
  bool Take(std::string_view* bytes);
  [[nodiscard]] const std::string& error() const { return error_; }
  // Of a line whose end has not come; empty without one.
  [[nodiscard]] std::string_view partial_line() const {
    return parser_.partial_line();
  }

  // The next request that is answered and wholly written, its outcome in it;
  // null: none.
  Request* PopAnswered();

  // --- Without a connection ---

  // The oldest request without an answer, with sentinels among them; those
  // behind it follow through Request::next. Null: none.
  [[nodiscard]] Request* front() const { return sent_.front(); }
  // The connection is lost: takes the oldest request and sets its outcome:
  // kLost, kNotSent where not a byte of it was written, or its answer where
  // that came before it was written. Null: none is left.
  Request* PopLost();
  // Nothing is in flight on the next connection.
  void Clear();

 private:
  // Where a request of the batch ends, in bytes from the batch's start.
  struct Written {
    Request* request;
    std::size_t end;
  };

  void AppendSentinel();
  [[nodiscard]] std::size_t FrontBegin() const;
  [[nodiscard]] std::size_t FrontEnd() const;
  [[nodiscard]] bool FrontWritten() const;
  bool OnReply();
  bool OnSentinelReply();
  Request& Pop();

  RequestEncoder batch_;
  std::vector<Written> batch_ends_;  // those of the batch, in order
  std::size_t batch_first_ = 0;      // the first of them without an answer
  // The last of the batch is quiet, and no sentinel is behind it.
  const Request* quiet_ = nullptr;

  RequestQueue sent_;  // in the batch or written, without an answer
  RequestQueue answered_;
  // The first of sent_ was answered before it was wholly written (refused by
  // its size). Its value is still to be written: it cannot end yet.
  bool answered_early_ = false;
  // Those in sent_, in the same order; each takes the answers for its run.
  std::deque<Request> sentinels_;
  ReplyParser parser_;
  std::string error_;
};

}  // namespace ers::net

#endif  // ERS_NET_IN_FLIGHT_H_
