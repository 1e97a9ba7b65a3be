// RequestReader: a client's bytes as requests, in any of memcached's protocols.
#ifndef ERS_PROXY_PROTOCOL_REQUEST_READER_H_
#define ERS_PROXY_PROTOCOL_REQUEST_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/binary.h"
#include "protocol/parsed.h"
#include "protocol/request.h"

namespace ers::proxy {

// One per connection. The bytes may come cut anywhere, and the requests are the
// same. The first byte decides: 0x80 is the binary protocol, all else text.
//
//   while bytes were read into `input`:
//     event = reader.Next(input)       takes from the front of `input`
//     ... until it says kNeedInput
//
// Nothing is read ahead: a caller that does not call Next holds the client
// back. Keeps at most kMaxGetLine bytes and one request. Thread-compatible.
class RequestReader {
 public:
  // A longer line closes the connection, unless it is a get with keys. (So
  // does memcached, though not if all of the line came in one piece.)
  static constexpr std::size_t kMaxLine = 2048;
  // A get line up to here is refused as a whole if a key is too long; of a
  // longer one the keys before that one were handed out already.
  static constexpr std::size_t kMaxGetLine = 16384;

  enum class Event : std::uint8_t {
    kNeedInput,  // `input` is used up
    // request() is complete. A get line gives one for each key and one more,
    // kEndOfGets. With has_value() the value follows: kValue as often as it
    // takes, not at all for an empty one, then kValueEnd or kValueBad.
    kRequest,
    kValue,     // value(): the next bytes of it
    kValueEnd,  // the value was complete
    kValueBad,  // it was not ended by CRLF: forget it; error() is the answer
    // A line that is no request, or a value that is refused and was read to its
    // end; error() is the answer. In a long get line it stands for kEndOfGets.
    kError,
    kClose,  // send what is due and close; all later calls say so too
  };

  explicit RequestReader(const Limits& limits = {}) : limits_(limits) {}

  Event Next(std::string_view& input);
  // Of requests to come; a value that has begun stays.
  void set_limits(const Limits& limits) { limits_ = limits; }

  // What has come is whole requests, and what Unparsed() gives.
  [[nodiscard]] bool between_requests() const {
    return state_ == State::kStart || state_ == State::kLine ||
           state_ == State::kHeader;
  }
  // Then: the bytes that another reader would have to begin with, of which
  // `input` are those that this one was not given.
  [[nodiscard]] std::string Unparsed(std::string_view input) const {
    return held_ + std::string(input);
  }

  // After kRequest or kValue, while bytes of the value are to come: its next
  // `count` were taken past the reader.
  void SkipValue(std::size_t count) { left_ -= count; }

  // Of the last kRequest; stays until the next kRequest or kError. May be moved
  // from.
  ClientRequest& request() { return request_; }
  // A part of the `input` of the call that said kValue.
  [[nodiscard]] std::string_view value() const { return value_; }
  // The bytes to send for kError and kValueBad; empty where the client wants
  // no reply. Stays until the next call.
  [[nodiscard]] const std::string& error() const { return error_; }
  // With kError: a set of this key was refused, for its value is too large.
  // What the key held is out of date then: memcached removes it. Empty for all
  // else, also for a set that compares CAS: it might have changed nothing.
  [[nodiscard]] const std::string& refused_key() const { return refused_key_; }

 private:
  enum class State : std::uint8_t {
    kStart,
    kLine,
    kKeys,      // of a get line, from line_
    kSkipLine,  // the rest of a long get line that went wrong
    kHeader,
    kExtrasAndKey,
    kValue,
    kValueEnd,
    kSwallow,
    kClosed,
  };
  // What one state did: an event, or go on with the next state.
  struct StateResult {
    bool done = false;
    Event event = Event::kNeedInput;
  };
  static StateResult Say(Event event) { return {true, event}; }
  static StateResult GoOn() { return {}; }

  StateResult Run(std::string_view& input);
  StateResult ReadLine(std::string_view& input);
  StateResult ReadKeys(std::string_view& input);
  StateResult SkipLine(std::string_view& input);
  StateResult ReadHeader(std::string_view& input);
  StateResult ReadExtrasAndKey(std::string_view& input);
  StateResult ReadValue(std::string_view& input);
  StateResult ReadValueEnd(std::string_view& input);
  StateResult Swallow(std::string_view& input);

  bool FillLine(std::string_view& input, std::size_t limit);
  bool FillTo(std::size_t size, std::string_view& input);
  StateResult OnLine(std::string_view line);
  StateResult BeginGets(std::string_view line, std::string_view keys);
  StateResult RefuseLine(const Parsed& parsed);
  StateResult RefuseBinary(BinaryStatus status, std::uint64_t swallowed);
  StateResult SayErrorBehind(std::uint64_t swallowed);
  [[nodiscard]] std::string RefusedKey() const;
  StateResult BeginValue();
  StateResult Close();
  // Where the next request begins.
  void Rest();

  Limits limits_;
  State state_ = State::kStart;
  bool binary_ = false;
  ClientRequest request_;
  std::string_view value_;
  std::string error_;
  std::string refused_key_;

  // A line, header, or extras and key, as far as it came.
  std::string held_;
  bool line_complete_ = false;  // held_ has its '\n' no more, but all before
  std::size_t next_key_ = 0;    // kKeys: where in held_
  BinaryHeader header_;
  bool too_large_ = false;  // the value behind header_
  std::uint64_t left_ = 0;  // of the value, or to swallow
  // Of the line end behind a value: bytes seen, and whether they were right.
  std::size_t end_seen_ = 0;
  bool end_good_ = true;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_PROTOCOL_REQUEST_READER_H_
