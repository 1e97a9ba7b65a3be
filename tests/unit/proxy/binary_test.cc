#include <catch2/catch.hpp>

#include "binary_packets.h"
#include "unit/proxy/transcript.h"

namespace ers::proxy {
namespace {

using test::BigEndian;
using test::Packet;

const std::string kFlagsAndExptime = BigEndian(5, 4) + BigEndian(100, 4);

std::string Arithmetic(std::uint64_t exptime) {
  return BigEndian(3, 8) + BigEndian(7, 8) + BigEndian(exptime, 4);
}

TEST_CASE("every opcode") {
  const std::string exptime = BigEndian(60, 4);
  const std::pair<Packet, std::string> cases[] = {
      {{.opcode = 0x00, .key = "a"}, "get key=a want-value binary=00:abcd"},
      {{.opcode = 0x09, .key = "a"},
       "get key=a want-value quiet binary=09:abcd"},
      {{.opcode = 0x0c, .key = "a"},
       "get key=a want-value with-key binary=0c:abcd"},
      {{.opcode = 0x0d, .key = "a"},
       "get key=a want-value quiet with-key binary=0d:abcd"},
      {{.opcode = 0x00, .key = "a", .cas = 9},
       "get key=a want-value binary=00:abcd"},
      {{.opcode = 0x1c, .extras = exptime, .key = "a"},
       "touch key=a exptime=60 binary=1c:abcd"},
      {{.opcode = 0x1d, .extras = exptime, .key = "a"},
       "get key=a exptime=60 want-value binary=1d:abcd"},
      {{.opcode = 0x1e, .extras = exptime, .key = "a"},
       "get key=a exptime=60 want-value quiet binary=1e:abcd"},
      {{.opcode = 0x23, .extras = exptime, .key = "a"},
       "get key=a exptime=60 want-value with-key binary=23:abcd"},
      {{.opcode = 0x24, .extras = exptime, .key = "a"},
       "get key=a exptime=60 want-value quiet with-key binary=24:abcd"},
      {{.opcode = 0x04, .key = "a"}, "delete key=a binary=04:abcd"},
      {{.opcode = 0x14, .key = "a", .cas = 9},
       "delete key=a cas=9 quiet binary=14:abcd"},
      {{.opcode = 0x05, .extras = Arithmetic(60), .key = "a"},
       "arithmetic key=a vivify=60 want-value delta=3 initial=7 "
       "binary=05:abcd"},
      {{.opcode = 0x06, .extras = Arithmetic(0), .key = "a"},
       "arithmetic key=a vivify=0 want-value delta=3 initial=7 decrement "
       "binary=06:abcd"},
      {{.opcode = 0x15, .extras = Arithmetic(0xffffffff), .key = "a", .cas = 9},
       "arithmetic key=a cas=9 want-value delta=3 initial=7 quiet "
       "binary=15:abcd"},
      {{.opcode = 0x16, .extras = Arithmetic(0xffffffff), .key = "a"},
       "arithmetic key=a want-value delta=3 initial=7 decrement quiet "
       "binary=16:abcd"},
      {{.opcode = 0x07}, "quit binary=07:abcd\nclose"},
      {{.opcode = 0x17}, "quit quiet binary=17:abcd\nclose"},
      {{.opcode = 0x08}, "flush binary=08:abcd"},
      {{.opcode = 0x08, .extras = exptime}, "flush exptime=60 binary=08:abcd"},
      {{.opcode = 0x18}, "flush quiet binary=18:abcd"},
      {{.opcode = 0x0a, .opaque = 0xffffffff}, "noop binary=0a:ffffffff"},
      {{.opcode = 0x0b}, "version binary=0b:abcd"},
      {{.opcode = 0x10}, "stats binary=10:abcd"},
      {{.opcode = 0x10, .key = "detail on"},
       "stats argument=detail on binary=10:abcd"},
      {{.opcode = 0x1b, .extras = BigEndian(2, 4)},
       "verbosity level=2 binary=1b:abcd"},
  };
  for (const auto& [packet, transcript] : cases) {
    CAPTURE(packet.opcode);
    CHECK(TranscriptOf(packet.bytes()) == transcript);
  }
}

TEST_CASE("stores stream their value") {
  const std::pair<int, std::string> modes[] = {
      {0x01, "mode=set"}, {0x02, "mode=add"}, {0x03, "mode=replace"}};
  for (const auto& [opcode, mode] : modes) {
    for (const bool quiet : {false, true}) {
      const int sent = opcode + (quiet ? 0x10 : 0);
      const Packet packet{.opcode = sent,
                          .extras = kFlagsAndExptime,
                          .key = "a",
                          .value = "a\r\nb"};
      const std::string style =
          (quiet ? " quiet binary=" : " binary=") +
          Printable(std::string(1, static_cast<char>('0' + sent / 16))) +
          std::to_string(opcode) + ":abcd";
      CAPTURE(sent);
      CHECK(TranscriptOf(packet.bytes()) == "store key=a bytes=4 " + mode +
                                                " flags=5 exptime=100" + style +
                                                "\nvalue:a\\x0d\\x0ab\nend");
    }
  }
  // With a CAS the three are the same to memcached.
  const Packet compare{.opcode = 0x02,
                       .extras = kFlagsAndExptime,
                       .key = "a",
                       .value = "x",
                       .cas = 9};
  CHECK(TranscriptOf(compare.bytes()) ==
        "store key=a bytes=1 mode=set flags=5 cas=9 exptime=100 "
        "binary=02:abcd\nvalue:x\nend");
  const Packet empty{.opcode = 0x01, .extras = kFlagsAndExptime, .key = "a"};
  CHECK(TranscriptOf(empty.bytes() + empty.bytes()) ==
        "store key=a bytes=0 mode=set flags=5 exptime=100 binary=01:abcd\nend\n"
        "store key=a bytes=0 mode=set flags=5 exptime=100 binary=01:abcd\nend");
}

TEST_CASE("append and prepend have no extras") {
  const std::pair<int, std::string> cases[] = {
      {0x0e, "mode=append binary=0e"},
      {0x0f, "mode=prepend binary=0f"},
      {0x19, "mode=append quiet binary=19"},
      {0x1a, "mode=prepend quiet binary=1a"},
  };
  for (const auto& [opcode, what] : cases) {
    const Packet packet{.opcode = opcode, .key = "a", .value = "xy"};
    CAPTURE(opcode);
    CHECK(TranscriptOf(packet.bytes()) ==
          "store key=a bytes=2 " + what + ":abcd\nvalue:xy\nend");
  }
  const Packet compare{.opcode = 0x0e, .key = "a", .value = "x", .cas = 9};
  CHECK(TranscriptOf(compare.bytes()) ==
        "store key=a bytes=1 mode=append cas=9 binary=0e:abcd\nvalue:x\nend");
}

TEST_CASE("a binary key is any bytes") {
  using namespace std::string_literals;
  const Packet packet{.opcode = 0x00, .key = "a b\0\n\x80"s};
  CHECK(TranscriptOf(packet.bytes()) ==
        "get key=a b\\x00\\x0a\\x80 want-value binary=00:abcd");
  const std::string longest(250, 'k');
  const Packet full{.opcode = 0x00, .key = longest};
  CHECK(TranscriptOf(full.bytes()) ==
        "get key=" + longest + " want-value binary=00:abcd");
}

TEST_CASE("a binary value that is too large is answered when it was read") {
  const Limits limits{.max_value_bytes = 4};
  const auto answer_of = [&limits](int opcode, std::string_view extras,
                                   std::uint64_t cas) {
    const Packet large{.opcode = opcode,
                       .extras = std::string(extras),
                       .key = "a",
                       .value = "abcde",
                       .cas = cas};
    const std::string bytes = large.bytes();
    Transcript transcript(limits);
    transcript.Feed(std::string_view(bytes).substr(0, bytes.size() - 1));
    CHECK(transcript.text().empty());
    transcript.Feed(std::string_view(bytes).substr(bytes.size() - 1));
    const std::string error =
        "error:" + Printable(test::PacketReply(opcode, 0x03, "Too large."));
    REQUIRE(transcript.text().starts_with(error));
    return transcript.text().substr(error.size());
  };
  // What a set would have replaced is out of date.
  CHECK(answer_of(0x01, kFlagsAndExptime, 0) == " removes a");
  CHECK(answer_of(0x11, kFlagsAndExptime, 0) == " removes a");
  CHECK(answer_of(0x01, kFlagsAndExptime, 7).empty());
  CHECK(answer_of(0x02, kFlagsAndExptime, 0).empty());
  CHECK(answer_of(0x03, kFlagsAndExptime, 0).empty());
  CHECK(answer_of(0x0e, "", 0).empty());
}

TEST_CASE("a binary value that is too large is swallowed") {
  const Packet large{
      .opcode = 0x11, .extras = kFlagsAndExptime, .key = "a", .value = "abcde"};
  const Packet noop{.opcode = 0x0a, .opaque = 1};
  Transcript transcript(Limits{.max_value_bytes = 4});
  transcript.Feed(large.bytes() + noop.bytes());
  CHECK(transcript.text() ==
        "error:" + Printable(test::PacketReply(0x11, 0x03, "Too large.")) +
            " removes a\nnoop binary=0a:1");
}

TEST_CASE("anything but a header closes a binary connection") {
  const Packet noop{.opcode = 0x0a, .opaque = 1};
  CHECK(TranscriptOf(noop.bytes() + "get a\r\n") == "noop binary=0a:1\nclose");
  std::string reply = noop.bytes();
  reply[0] = '\x81';
  CHECK(TranscriptOf(noop.bytes() + reply) == "noop binary=0a:1\nclose");
}

TEST_CASE("the first byte alone decides the protocol") {
  CHECK(TranscriptOf("\x81\r\n") == "error:ERROR|");
  CHECK(TranscriptOf("mn\r\n\x80\r\n") == "noop meta\nerror:ERROR|");
}

}  // namespace
}  // namespace ers::proxy
