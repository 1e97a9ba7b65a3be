// The binary protocol: headers of requests, packets of replies.
#ifndef ERS_PROXY_PROTOCOL_BINARY_H_
#define ERS_PROXY_PROTOCOL_BINARY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/parsed.h"
#include "protocol/request.h"

namespace ers::proxy {

inline constexpr std::size_t kBinaryHeaderBytes = 24;
inline constexpr char kBinaryMagic = '\x80';

enum class BinaryStatus : std::uint16_t {
  kOk = 0x00,
  kNotFound = 0x01,
  kExists = 0x02,
  kTooLarge = 0x03,
  kInvalid = 0x04,
  kNotStored = 0x05,
  kNotNumber = 0x06,
  kUnknownCommand = 0x81,
  kNoMemory = 0x82,
  kNotSupported = 0x83,
  kInternal = 0x84,
};

// memcached's words for a status; what it has no words for is "".
std::string_view BinaryStatusText(BinaryStatus status);

struct BinaryHeader {
  std::uint8_t opcode = 0;
  std::uint16_t key_bytes = 0;
  std::uint8_t extras_bytes = 0;
  std::uint32_t body_bytes = 0;  // extras, key and value
  std::uint32_t opaque = 0;
  std::uint64_t cas = 0;
};

// What a header alone shows.
struct BinaryVerdict {
  BinaryStatus status = BinaryStatus::kOk;
  // Of an error: no later request can be found, or so many bytes on.
  bool close = false;
  std::uint64_t swallow = 0;
};

// REQUIRES: kBinaryHeaderBytes bytes that begin with kBinaryMagic. Any thread,
// as all here.
BinaryHeader ReadBinaryHeader(std::string_view bytes);
// After kOk and kTooLarge (of the value), extras and key together are at most
// kMaxExtrasAndKey bytes, and a request can be filled in.
BinaryVerdict CheckBinaryHeader(const BinaryHeader& header,
                                const Limits& limits);
inline constexpr std::size_t kMaxExtrasAndKey = 20 + kMaxKeyBytes;

// Fills in `request` (as constructed) from such a header and the extras and key
// behind it.
void FillBinaryRequest(const BinaryHeader& header,
                       std::string_view extras_and_key, ClientRequest& request);

// A reply's header with its extras and key; `value_bytes` follow it.
struct BinaryPacket {
  BinaryStatus status = BinaryStatus::kOk;
  std::uint64_t cas = 0;
  std::string_view extras = {};
  std::string_view key = {};
  std::uint64_t value_bytes = 0;
};
void AppendBinaryPacket(const ReplyStyle& style, const BinaryPacket& packet,
                        std::string& out);
// A whole error; the status' own words where `text` is empty.
void AppendBinaryError(const ReplyStyle& style, BinaryStatus status,
                       std::string_view text, std::string& out);

// Big-endian bytes, as everywhere in this protocol.
void AppendBinaryNumber(std::uint64_t number, int bytes, std::string& out);

}  // namespace ers::proxy

#endif  // ERS_PROXY_PROTOCOL_BINARY_H_
