// OldReplyParser: an old server's bytes as the answer of one request, in the
// text or the meta protocol. No I/O.
#ifndef ERS_PROXY_WARM_OLD_REPLY_H_
#define ERS_PROXY_WARM_OLD_REPLY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ers::proxy {

struct OldReply {
  enum class Kind : std::uint8_t {
    kValue,
    kDone,   // deleted, there, or no more than an end
    kMiss,   // no such item
    kError,  // refused, or a value that is too long; `value` says why
  };
  Kind kind = Kind::kMiss;
  std::uint32_t client_flags = 0;
  std::int64_t ttl = -1;  // seconds left; -1: never expires, or not known
  std::string value;
};

// Incremental: the bytes may come cut anywhere. Thread-compatible.
class OldReplyParser {
 public:
  // Longer values are thrown away.
  explicit OldReplyParser(std::uint64_t max_value) : max_value_(max_value) {}

  enum class Progress : std::uint8_t {
    kMore,    // the reply goes on
    kDone,    // Take() has it
    kBroken,  // no reply of a memcached
  };
  // Takes bytes from the front of `bytes`, never beyond one reply.
  Progress Parse(std::string_view* bytes);
  // The next one begins.
  OldReply Take();

 private:
  enum class State : std::uint8_t { kLine, kValue, kEnd };

  Progress OnLine(std::string_view line);
  Progress OnMetaValue(std::string_view words);
  Progress OnTextValue(std::string_view words);
  Progress BeginValue(std::uint64_t bytes);
  // False: there is no whole line yet.
  bool TakeLine(std::string_view* bytes, std::string* line);
  void CopyValue(std::string_view* bytes);

  std::uint64_t max_value_;
  State state_ = State::kLine;
  OldReply reply_;
  std::string line_;        // the beginning of one
  std::uint64_t left_ = 0;  // of a value and its line end
  bool keeps_ = false;      // it is not too long
  bool listed_ = false;     // END follows
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_WARM_OLD_REPLY_H_
