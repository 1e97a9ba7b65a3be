// Requests of the binary protocol, right and wrong, and what memcached 1.6.18
// answers to the wrong ones.
#ifndef ERS_TESTS_BINARY_PACKETS_H_
#define ERS_TESTS_BINARY_PACKETS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ers::test {

inline std::string BigEndian(std::uint64_t number, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    text += static_cast<char>(number >> shift & 0xff);
  }
  return text;
}

struct Packet {
  int opcode = 0;
  std::string extras = {};
  std::string key = {};
  std::string value = {};
  std::uint64_t cas = 0;
  std::uint32_t opaque = 0xabcd;
  // What the header says, where that is not the truth.
  std::optional<std::uint32_t> body_bytes = {};

  [[nodiscard]] std::string bytes() const {
    const std::size_t body = extras.size() + key.size() + value.size();
    return BigEndian(0x80, 1) + BigEndian(static_cast<unsigned>(opcode), 1) +
           BigEndian(key.size(), 2) + BigEndian(extras.size(), 1) +
           BigEndian(0, 3) +
           BigEndian(body_bytes.value_or(static_cast<std::uint32_t>(body)), 4) +
           BigEndian(opaque, 4) + BigEndian(cas, 8) + extras + key + value;
  }
};

// A reply's header and what is behind it.
inline std::string PacketReply(int opcode, int status, std::string_view body,
                               std::size_t key_bytes = 0,
                               std::size_t extras_bytes = 0,
                               std::uint64_t cas = 0,
                               std::uint32_t opaque = 0xabcd) {
  return BigEndian(0x81, 1) + BigEndian(static_cast<unsigned>(opcode), 1) +
         BigEndian(key_bytes, 2) + BigEndian(extras_bytes, 1) +
         BigEndian(0, 1) + BigEndian(static_cast<unsigned>(status), 2) +
         BigEndian(body.size(), 4) + BigEndian(opaque, 4) + BigEndian(cas, 8) +
         std::string(body);
}

struct MalformedPacket {
  Packet packet;
  int status = 0;
  std::string_view text;
  bool closes = false;
};

inline std::vector<MalformedPacket> MalformedPackets() {
  constexpr std::string_view kInvalid = "Invalid arguments";
  constexpr std::string_view kUnknown = "Unknown command";
  const std::string long_key(251, 'k');
  const std::string four(4, '\0');
  const std::string eight(8, '\0');
  const std::string twenty(20, '\0');
  std::vector<MalformedPacket> all = {
      // Lengths that contradict each other, whatever the command.
      {{.opcode = 0x00, .key = "a", .body_bytes = 0}, 0x81, kUnknown, true},
      {{.opcode = 0x99, .key = "a", .body_bytes = 0}, 0x81, kUnknown, true},
      {{.opcode = 0x01, .extras = eight, .key = "a", .body_bytes = 8},
       0x81,
       kUnknown,
       true},
      // memcached takes no command after this one in our way: it swallows too
      // much if there is a key. Without key and extras it is right.
      {{.opcode = 0x99}, 0x81, kUnknown, false},
      {{.opcode = 0x99, .value = "value"}, 0x81, kUnknown, false},
      {{.opcode = 0x20}, 0x81, kUnknown, false},
      {{.opcode = 0x21, .key = "PLAIN", .value = "up"}, 0x81, kUnknown, false},
      {{.opcode = 0x22, .key = "PLAIN", .value = "up"}, 0x81, kUnknown, false},
  };
  const auto invalid = [&](Packet packet) {
    all.push_back({std::move(packet), 0x04, kInvalid, true});
  };
  for (const int opcode : {0x00, 0x09, 0x0c, 0x0d, 0x04, 0x14}) {
    invalid({.opcode = opcode});
    invalid({.opcode = opcode, .extras = four, .key = "a"});
    invalid({.opcode = opcode, .key = "a", .value = "x"});
    invalid({.opcode = opcode, .key = long_key});
  }
  for (const int opcode : {0x01, 0x02, 0x03, 0x11, 0x12, 0x13}) {
    invalid({.opcode = opcode, .key = "a", .value = "x"});
    invalid({.opcode = opcode, .extras = four, .key = "a", .value = "x"});
    invalid({.opcode = opcode, .extras = eight, .value = "x"});
    invalid({.opcode = opcode, .extras = eight, .key = long_key});
  }
  for (const int opcode : {0x0e, 0x0f, 0x19, 0x1a}) {
    invalid({.opcode = opcode, .extras = eight, .key = "a", .value = "x"});
    invalid({.opcode = opcode, .value = "x"});
  }
  for (const int opcode : {0x05, 0x06, 0x15, 0x16}) {
    invalid({.opcode = opcode, .key = "a"});
    invalid({.opcode = opcode, .extras = twenty});
    invalid({.opcode = opcode, .extras = twenty, .key = "a", .value = "x"});
  }
  for (const int opcode : {0x1c, 0x1d, 0x1e, 0x23, 0x24}) {
    invalid({.opcode = opcode, .key = "a"});
    invalid({.opcode = opcode, .extras = four});
  }
  for (const int opcode : {0x07, 0x0a, 0x0b, 0x17}) {
    invalid({.opcode = opcode, .key = "a"});
    invalid({.opcode = opcode, .value = "x"});
    invalid({.opcode = opcode, .extras = four});
  }
  for (const int opcode : {0x08, 0x18}) {
    invalid({.opcode = opcode, .extras = eight});
    invalid({.opcode = opcode, .key = "a"});
  }
  invalid({.opcode = 0x10, .extras = four, .key = "a"});
  invalid({.opcode = 0x99, .key = long_key});
  return all;
}

}  // namespace ers::test

#endif  // ERS_TESTS_BINARY_PACKETS_H_
