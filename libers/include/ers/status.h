// Status and Result: how every call of the library reports its outcome.
#ifndef ERS_STATUS_H_
#define ERS_STATUS_H_

#include <cassert>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "ers/export.h"

namespace ers {

// One code per thing a caller can do about it.
enum class StatusCode {
  kOk = 0,
  // The key holds no object: never stored, deleted, expired, or evicted so
  // that more than m of its blocks are gone from servers that do answer.
  kNotFound = 1,
  // The arguments can never work; nothing was sent.
  kInvalidArgument = 2,
  // More servers are silent than the operation can do without. The stored
  // object is unchanged.
  kUnavailable = 3,
  // A change was cut off before its end could be learned: the object is the
  // old or the new one, whole.
  kOutcomeUnknown = 4,
  // A server has no memory for the change. The old object is unchanged.
  kNoMemory = 5,
  // The value or one of its blocks is over a limit. Nothing was changed.
  kTooLarge = 6,
  // Stored bytes fail their checksum or contradict each other beyond what the
  // redundancy can repair.
  kCorruption = 7,
  // The object was written by a newer format version of this library.
  kUnsupportedFormat = 8,
  // The key holds a plain memcached item that this library did not write.
  kNotManaged = 9,
  // The object changed under a conditional operation (wrong client CAS).
  kConflict = 10,
  // The object already has the width or scheme asked for; nothing was done.
  kAlreadyThere = 11,
  // The cluster was set up otherwise (other servers, weights or f than ours),
  // or the state file cannot be used.
  kIncompatible = 12,
};

// The code's name in lower case with dashes, e.g. "not-found". Static storage.
ERS_API std::string_view StatusCodeName(StatusCode code);

// An outcome: a code and, unless it is kOk, a sentence that names the server
// or argument at fault and what to do. Value type; thread-compatible.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : code_(code), message_(std::move(message)) {}

  [[nodiscard]] bool ok() const { return code_ == StatusCode::kOk; }
  [[nodiscard]] StatusCode code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

// A value, or the Status that says why there is none.
template <typename T>
using Result = tl::expected<T, Status>;

// Builds the failing side of a Result: `return Fail(StatusCode::kX, "...")`.
inline tl::unexpected<Status> Fail(StatusCode code, std::string message) {
  assert(code != StatusCode::kOk);
  return tl::unexpected<Status>(Status(code, std::move(message)));
}
inline tl::unexpected<Status> Fail(Status status) {
  assert(!status.ok());
  return tl::unexpected<Status>(std::move(status));
}

}  // namespace ers

#endif  // ERS_STATUS_H_
