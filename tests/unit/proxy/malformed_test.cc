#include <catch2/catch.hpp>

#include "binary_packets.h"
#include "malformed_lines.h"
#include "unit/proxy/transcript.h"

namespace ers::proxy {
namespace {

// Everything that the reader answers of itself. "request" stands in it for
// each request: there should be none.
std::string Errors(std::string_view bytes, std::size_t piece) {
  RequestReader reader;
  std::string answer;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    std::string_view input = bytes.substr(at, piece);
    while (true) {
      const RequestReader::Event event = reader.Next(input);
      if (event == RequestReader::Event::kNeedInput) break;
      if (event == RequestReader::Event::kClose) return answer + "close";
      answer +=
          event == RequestReader::Event::kError ? reader.error() : "request";
    }
  }
  return answer;
}

TEST_CASE("a malformed line is answered as memcached does") {
  for (const test::MalformedLine& line : test::kMalformedLines) {
    CAPTURE(line.sent);
    const std::string bytes = line.bytes();
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
      CHECK(Errors(bytes, piece) == line.answer);
    }
    // The next command is understood.
    CHECK(TranscriptInPieces(bytes + "mn\r\n", {bytes.size() + 4})
              .ends_with("noop meta"));
    // A bare line feed ends a line as well, but not a value.
    if (bytes.ends_with("\r\n") && bytes.find('\r') == bytes.size() - 2) {
      std::string bare = bytes;
      bare.erase(bare.find('\r'), 1);
      CHECK(Errors(bare, bare.size()) == line.answer);
    }
  }
}

TEST_CASE("a malformed packet is answered as memcached does") {
  for (const test::MalformedPacket& malformed : test::MalformedPackets()) {
    const test::Packet& packet = malformed.packet;
    CAPTURE(packet.opcode, packet.extras.size(), packet.key, packet.value);
    const std::string answer =
        test::PacketReply(packet.opcode, malformed.status, malformed.text) +
        (malformed.closes ? "close" : "");
    const std::string bytes = packet.bytes();
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
      CHECK(Errors(bytes, piece) == answer);
    }
    if (!malformed.closes) {
      CHECK(Errors(bytes + bytes, 1000) == answer + answer);
    }
  }
}

TEST_CASE("where memcached loses the thread, the proxy keeps it") {
  SECTION("an unknown opcode with a key") {
    const test::Packet unknown{.opcode = 0x99, .key = "key", .value = "value"};
    const test::Packet noop{.opcode = 0x0a, .opaque = 0x1};
    CHECK(TranscriptOf(unknown.bytes() + noop.bytes())
              .ends_with("\nnoop binary=0a:1"));
  }
  SECTION("a value where none belongs") {
    for (const int opcode : {0x1c, 0x1d}) {
      const test::Packet touch{.opcode = opcode,
                               .extras = std::string(4, '\0'),
                               .key = "key",
                               .value = "value"};
      CHECK(TranscriptOf(touch.bytes()).ends_with("Invalid arguments\nclose"));
    }
    const test::Packet stat{.opcode = 0x10, .key = "sizes", .value = "value"};
    CHECK(TranscriptOf(stat.bytes()).ends_with("Invalid arguments\nclose"));
  }
  SECTION("numbers that memcached cuts to 32 bits") {
    const std::string refused =
        "error:CLIENT_ERROR bad command line format|\n"
        "error:ERROR|";
    CHECK(TranscriptOf("set a 0 0 4294967297\r\nx\r\n") == refused);
    CHECK(TranscriptOf("set a 4294967296 0 1\r\nx\r\n") == refused);
    CHECK(TranscriptOf("ms a 4294967297\r\nx\r\n") == refused);
    CHECK(TranscriptOf("ms a 1 F4294967296\r\nx\r\n") ==
          "error:CLIENT_ERROR bad command line format|");
  }
  SECTION("a NUL, where memcached ends the line") {
    using namespace std::string_literals;
    CHECK(TranscriptOf("get a\0b\r\n"s) ==
          "get key=a\\x00b want-value\nend-of-gets want-value");
  }
  SECTION("padding inside of base64") {
    for (const std::string_view key :
         {"Zg==Zg==", "=Zm9", "Zm=v", "Zm!9v", "Zm9v=", "====", "Zm9v!"}) {
      CAPTURE(key);
      CHECK(TranscriptOf("mg " + std::string(key) + " b\r\n") ==
            "error:CLIENT_ERROR error decoding key|");
    }
  }
}

TEST_CASE("commands about one server's memory are refused in words") {
  for (const std::string_view line :
       {"cache_memlimit 64", "extstore free_memchunks 1 1", "lru mode flat",
        "lru_crawler metadump all", "refresh_certs", "shutdown",
        "shutdown graceful", "slabs reassign 1 2", "watch fetchers"}) {
    CAPTURE(line);
    CHECK(TranscriptOf(std::string(line) + "\r\n") ==
          "error:CLIENT_ERROR not supported by this proxy|");
    CHECK(TranscriptOf(std::string(line) + " noreply\r\n") == "error:");
  }
}

}  // namespace
}  // namespace ers::proxy
