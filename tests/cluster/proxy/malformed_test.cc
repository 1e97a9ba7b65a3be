// The tables of malformed input hold for the real memcached, and the reader
// agrees with it also on input that no table has.
#include <catch2/catch.hpp>
#include <random>

#include "binary_packets.h"
#include "cluster/memcached_process.h"
#include "malformed_lines.h"
#include "protocol/request_reader.h"

namespace ers::proxy {
namespace {

constexpr std::string_view kTested = "1.6.18";

// The tables are of one version. Another one's words are not our concern.
bool IsTestedVersion(const test::MemcachedProcess& server) {
  const std::string version = server.Ask("version\r\n");
  if (version.find(kTested) != std::string::npos) return true;
  WARN("skipped: memcached is not " << kTested << " but " << version);
  return false;
}

TEST_CASE("memcached answers malformed lines as the table says") {
  const test::MemcachedProcess server;
  if (!IsTestedVersion(server)) return;
  for (const test::MalformedLine& line : test::kMalformedLines) {
    CAPTURE(line.sent);
    CHECK(server.Ask(line.bytes() + "mn\r\n", "MN") ==
          std::string(line.answer) + "MN\r\n");
  }
}

TEST_CASE("memcached answers malformed packets as the table says") {
  const test::MemcachedProcess server;
  if (!IsTestedVersion(server)) return;
  const test::Packet quit{.opcode = 0x07, .opaque = 1};
  const std::string left = test::PacketReply(0x07, 0, "", 0, 0, 0, 1);
  for (const test::MalformedPacket& malformed : test::MalformedPackets()) {
    const test::Packet& packet = malformed.packet;
    CAPTURE(packet.opcode, packet.extras.size(), packet.key, packet.value);
    const std::string error =
        test::PacketReply(packet.opcode, malformed.status, malformed.text);
    const std::string bytes =
        packet.bytes() + (malformed.closes ? "" : quit.bytes());
    CHECK(server.Ask(bytes) == error + (malformed.closes ? "" : left));
  }
}

// What the reader answers of itself to one line, or nullopt where it takes it
// for a request.
std::optional<std::string> Refusal(std::string_view line) {
  RequestReader reader;
  if (reader.Next(line) != RequestReader::Event::kError) return std::nullopt;
  return reader.error();
}

bool IsError(std::string_view answer) {
  for (const std::string_view known :
       {"CLIENT_ERROR bad command line format", "CLIENT_ERROR invalid",
        "CLIENT_ERROR bad token", "CLIENT_ERROR duplicate",
        "CLIENT_ERROR incorrect", "CLIENT_ERROR opaque", "CLIENT_ERROR options",
        "CLIENT_ERROR error decoding"}) {
    if (answer.starts_with(known)) return true;
  }
  return answer.starts_with("ERROR\r\n");
}

TEST_CASE("lines of random words are refused by both or by none") {
  const test::MemcachedProcess server;
  if (!IsTestedVersion(server)) return;
  // Not here: where the proxy differs on purpose (docs/reference/protocol.md).
  const std::vector<std::string> commands = {
      "get",  "gets",  "gat",       "gats", "delete", "incr",
      "decr", "touch", "verbosity", "mg",   "md",     "ma",
      "me",   "mn",    "flush_all", "foo"};
  const std::vector<std::string> words = {
      "key", "0",   "1",   "-1", "x",    "noreply",
      "b",   "c",   "f",   "h",  "k",    "l",
      "O1",  "q",   "s",   "t",  "u",    "v",
      "T30", "N30", "R30", "Tx", "C1",   "Cx",
      "F1",  "MI",  "M",   "D1", "J1",   "I",
      "P",   "L",   "!",   "MX", "Zm9v", "18446744073709551616"};
  std::mt19937 random(20240229);
  const auto pick = [&](const std::vector<std::string>& from) {
    return from[random() % from.size()];
  };
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string line = pick(commands);
    for (auto left = random() % 6; left > 0; --left) {
      line += ' ';
      line += pick(words);
    }
    line += "\r\n";
    CAPTURE(line);
    const std::string answer = server.Ask(line + "mn\r\n", "MN");
    REQUIRE(answer.ends_with("MN\r\n"));
    const std::string real = answer.substr(0, answer.size() - 4);
    const std::optional<std::string> ours = Refusal(line);
    if (ours && !ours->empty()) {
      ++refused;
      CHECK(*ours == real);
    } else if (ours) {
      CHECK(real.empty());
    } else {
      CHECK_FALSE(IsError(real));
    }
  }
  CHECK(refused > 1000);
}

}  // namespace
}  // namespace ers::proxy
