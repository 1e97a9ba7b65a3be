// Parsed: what a command line or a binary header turned out to be.
#ifndef ERS_PROXY_PROTOCOL_PARSED_H_
#define ERS_PROXY_PROTOCOL_PARSED_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ers::proxy {

// Also the limit of a key in its base64 form, as in memcached.
inline constexpr std::size_t kMaxKeyBytes = 250;

struct Limits {
  // A longer value is refused and thrown away.
  std::uint64_t max_value_bytes = std::uint64_t{256} << 20;
};

struct Parsed {
  enum class Kind : std::uint8_t {
    kRequest,  // the request is filled in
    kGets,     // so it is but for its key: one request for each word of `keys`
    kError,    // `error` is the answer
    kClose,    // the sender speaks another protocol: to be cut off
  };
  Kind kind = Kind::kRequest;
  std::string_view keys;  // into the line
  // Static text without line end.
  std::string_view error;
  // The request has no reply, also no error (noreply).
  bool silent = false;
  // So many bytes behind the line are the refused value and its line end.
  std::uint64_t swallow = 0;
};

inline Parsed Error(std::string_view text, std::uint64_t swallow = 0) {
  Parsed parsed;
  parsed.kind = Parsed::Kind::kError;
  parsed.error = text;
  parsed.swallow = swallow;
  return parsed;
}

// Errors of more than one command.
inline constexpr std::string_view kNoSuchCommand = "ERROR";
inline constexpr std::string_view kBadFormat =
    "CLIENT_ERROR bad command line format";
inline constexpr std::string_view kTooLargeError =
    "SERVER_ERROR object too large for cache";

}  // namespace ers::proxy

#endif  // ERS_PROXY_PROTOCOL_PARSED_H_
