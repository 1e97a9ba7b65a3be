// ReplyParser: a server's bytes as the answer of one request. No I/O.
#ifndef ERS_NET_REPLY_PARSER_H_
#define ERS_NET_REPLY_PARSER_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "net/request.h"

namespace ers::net {

// That `bytes`, of which the first line is shown, are no memcached's.
std::string StrangerSent(std::string_view bytes);

// Incremental: the bytes may come cut anywhere. The bytes of a value can be
// read straight to where they belong:
//
//   Begin(request)
//   loop: n = Destination(pieces, max)    read into pieces, then a buffer
//         Placed(bytes that went there)
//         Parse(&bytes in the buffer)
//
// until one of the two says kDone. Thread-compatible.
class ReplyParser {
 public:
  enum class Progress : std::uint8_t {
    kMore,    // the reply goes on
    kDone,    // the request's answer is complete
    kBroken,  // not a reply to this request: the connection is of no more use;
              // error() says what is wrong
  };

  // Begins the reply to `request`, whose answer fields are filled in bit by
  // bit; it must stay until the end of the reply, or until the next Begin.
  void Begin(Request& request);
  // A reply was begun and is not complete.
  bool active() const { return request_ != nullptr; }

  // Forgets a reply that will not come to its end.
  void Reset() { request_ = nullptr; }

  // Takes bytes from the front of `bytes`, never beyond the reply.
  Progress Parse(std::string_view* bytes);

  // The pieces, at most `max`, into which the next bytes of the stream belong;
  // returns how many, 0 outside of a value.
  int Destination(iovec* pieces, int max) const;
  // `bytes` of the stream were read into Destination's pieces.
  Progress Placed(std::size_t bytes);

  const std::string& error() const { return error_; }
  // Of a line whose end has not come; empty without one.
  std::string_view partial_line() const {
    return active() && !line_taken_ ? line_ : std::string_view();
  }

 private:
  enum class State : std::uint8_t { kLine, kList, kValue, kValueEnd, kToken };

  // One of these per kind of first line; each may lead to another state.
  Progress OnLine(std::string_view line);
  Progress OnListLine(std::string_view line);
  Progress OnErrorLine(std::string_view line);
  Progress OnMetaLine(std::string_view line);
  Progress OnCasLine(std::string_view line);
  Progress OnValueLine(std::string_view words);
  Progress OnTokenLine(std::string_view line);

  // Is the value thrown away?
  bool Skips() const;
  bool TakeLine(std::string_view* bytes, std::string_view* line);
  bool ParseFlags(std::string_view words);
  void CopyValue(std::string_view* bytes);
  void AdvancePlace(std::size_t bytes);
  Progress Finish(Outcome outcome);
  Progress Break(std::string_view what);

  Request* request_ = nullptr;
  State state_ = State::kLine;
  std::string line_;         // the beginning of a line that is not complete
  bool line_taken_ = false;  // line_ was handed out and is to be cleared
  // While in a value: what is left of it, and where it goes.
  std::size_t left_ = 0;
  bool skip_ = false;  // it has another size
  std::size_t piece_ = 0;
  std::size_t offset_ = 0;
  std::size_t end_seen_ = 0;  // of the "\r\n" behind the value
  bool created_ = false;      // the W flag: this mg made the item
  std::string error_;
};

}  // namespace ers::net

#endif  // ERS_NET_REPLY_PARSER_H_
