// ClientRequest: what a client asks for, whichever protocol it speaks.
#ifndef ERS_PROXY_PROTOCOL_REQUEST_H_
#define ERS_PROXY_PROTOCOL_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>

#include "protocol/operations.h"

namespace ers::proxy {

enum class StoreMode : std::uint8_t {
  kSet,
  kAdd,
  kReplace,
  kAppend,  // keeps client flags and expiry, as kPrepend
  kPrepend,
};

// kNarrow and kWide are the first and the last width of a scheme.
enum class Listed : std::uint8_t {
  kTransitioning,
  kNarrow,
  kWide,
  kWidth,  // of `listed_blocks` data blocks
  kAll,
};

enum class Dialect : std::uint8_t { kText, kMeta, kBinary };

// What only the reply writers need to know of a request.
struct ReplyStyle {
  Dialect dialect = Dialect::kText;
  // Text: no reply at all. Meta and binary: no reply that says what is
  // expected; hits of kGet and errors are answered.
  bool quiet = false;
  bool with_cas = false;  // text: gets, gats
  bool with_key = false;  // binary: getk, gatk
  // Meta: those of "cfhklOst" that were asked for, in the client's order.
  std::string return_flags;
  std::string opaque;          // meta O: without the O
  bool key_is_base64 = false;  // meta b: in the client's bytes, not in `key`
  std::uint8_t opcode = 0;     // binary: as it was sent
  std::uint32_t opaque_id = 0;
};

// Plain value; means the same in every dialect. An exptime is as the client
// wrote it: ExpiryOf (exptime.h) makes Unix seconds of it.
struct ClientRequest {
  Operation operation = Operation::kNoop;
  // 1 to 250 bytes, decoded. By text without blank and line feed; by binary
  // and base64 any bytes.
  std::string key;
  std::string argument;

  // kStore, kUpdate: the value's length, at most the reader's limit.
  std::uint64_t value_bytes = 0;
  StoreMode mode = StoreMode::kSet;
  std::uint32_t client_flags = 0;
  // Do it only if the item has this CAS; a miss is then kNotFound. With 0 no
  // item has it.
  std::optional<std::uint64_t> compare_cas;
  // The item's CAS from now on, in place of one of the server's.
  std::optional<std::uint64_t> new_cas;
  // kStore without: never expires. Others without: the expiry stays.
  std::optional<std::int64_t> exptime;

  // kGet, kArithmetic: a miss creates the item, with this exptime.
  std::optional<std::int64_t> vivify;
  // kGet: the client wins the recache if the item lives shorter than this
  // exptime.
  std::optional<std::int64_t> recache;
  // kGet, kArithmetic: those of N (vivify), T (exptime), R (recache) and t
  // (report the TTL) that were given, in the client's order: each sees the
  // expiry as those before it left it.
  std::string time_flags;
  bool want_value = false;  // kGet, kArithmetic
  bool no_bump = false;     // kGet: does not count as an access
  // kDelete: keep the item, mark it as stale and give it a new CAS. kStore with
  // compare_cas: an item whose CAS is higher is replaced too, by a stale one.
  bool invalidate = false;

  std::uint64_t delta = 1;
  std::uint64_t initial = 0;  // with vivify
  bool decrement = false;     // stops at 0; an increment wraps around

  std::uint64_t offset = 0;  // bytes
  Listed listed = Listed::kTransitioning;
  std::uint32_t listed_blocks = 0;
  std::uint32_t level = 0;

  // ers trace: the reply is followed by trace lines (reply.h).
  bool traced = false;

  ReplyStyle style;

  [[nodiscard]] bool has_value() const {
    return operation == Operation::kStore || operation == Operation::kUpdate;
  }
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_PROTOCOL_REQUEST_H_
