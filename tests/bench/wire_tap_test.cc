// What the tap counts, however the bytes are cut.
#include "bench/wire_tap.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>

#include "bench/cell_bench.h"
#include "bench/interface_bytes.h"

namespace ers::bench {
namespace {

// Takes and gives `step` bytes at a time.
class Pipe final : public net::Stream {
 public:
  Pipe(std::string& to_read, std::size_t step)
      : to_read_(to_read), step_(step) {}
  ssize_t ReadV(const iovec* pieces, int /*count*/) override {
    const std::size_t moved =
        std::min({step_, to_read_.size(), pieces->iov_len});
    std::memcpy(pieces->iov_base, to_read_.data(), moved);
    to_read_.erase(0, moved);
    return static_cast<ssize_t>(moved);
  }
  ssize_t WriteV(const iovec* pieces, int /*count*/) override {
    return static_cast<ssize_t>(std::min(step_, pieces->iov_len));
  }
  void WantWrite(bool /*want*/) override {}

 private:
  std::string& to_read_;
  std::size_t step_;
};

Traffic TrafficOf(std::string written, std::string read, std::size_t step) {
  Traffic traffic;
  const auto stream = TapStream(std::make_unique<Pipe>(read, step), traffic);
  while (!written.empty()) {
    const iovec piece{written.data(), written.size()};
    written.erase(0, static_cast<std::size_t>(stream->WriteV(&piece, 1)));
  }
  char buffer[64];
  const iovec piece{buffer, sizeof buffer};
  while (!read.empty()) stream->ReadV(&piece, 1);
  return traffic;
}

TEST_CASE("The tap distinguishes blocks from all else, however they are cut") {
  const std::string written =
      "version\r\nstats settings\r\n"
      "mg ers!boot v c f t s\r\n"
      "ms ers!bHASH.GEN.0 6 T0 F0 q\r\nmg \r\nm\r\n"
      "ms ers!bHASH.GEN.1 4 T0 F0\r\nabcd\r\nmn\r\n"
      "mg key v c f t s N60\r\n"
      "mg ers!bHASH.GEN.2 v c f t s\r\nmg ers!bHASH.GEN.3 v c f t s\r\n"
      "cas key 0 0 5 77\r\nvalue\r\nmd ers!bHASH.GEN.1 q\r\nmn\r\n";
  const std::string read =
      "VERSION 1.6.18\r\nSTAT a b\r\nSTAT c d\r\nEND\r\n"
      "VA 3 c1 f0 t-1 s3\r\nabc\r\nHD\r\nMN\r\n"
      "VA 8 c5 f0 t-1 s8\r\nVA 7\r\nHD\r\n"
      "VA 7 c6 f0 t-1 s7\r\nEN\r\nMN\r\r\nEN\r\nSTORED\r\nMN\r\n";
  for (const std::size_t step : {1, 2, 7, 1000}) {
    CAPTURE(step);
    const Traffic traffic = TrafficOf(written, read, step);
    CHECK_FALSE(traffic.unclear);
    CHECK(traffic.bytes_out == written.size());
    CHECK(traffic.bytes_in == read.size());
    CHECK(traffic.blocks_out.items == 2);
    CHECK(traffic.blocks_out.bytes == 10);
    CHECK(traffic.blocks_out.largest == 6);
    CHECK(traffic.blocks_in.items == 1);
    CHECK(traffic.blocks_in.bytes == 7);
  }
}

TEST_CASE("The tap says where it lost the thread") {
  const std::string get = "mg ers!bHASH.GEN.2 v c f t s\r\n";
  CHECK(TrafficOf("ms ers!bHASH.GEN.0 1 T0 F0 q\r\na\r\n" + get,
                  "SERVER_ERROR out of memory storing object\r\nEN\r\n", 9)
            .unclear);
  CHECK(TrafficOf(get, "EN\r\nEN\r\n", 9).unclear);
  CHECK_FALSE(TrafficOf(get, "EN\r\n", 9).unclear);
}

TEST_CASE("An interface is found by its whole name") {
  const std::string text =
      "Inter-|   Receive                    |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|"
      "bytes packets\n"
      "    lo:  12 1 0 0 0 0 0 0 13 1 0 0 0 0 0 0\n"
      "uplink: 5000000000 3 0 0 0 0 0 0 70 4 0 0 0 0 0 0\n";
  const auto found = FindInterface(text, "uplink");
  REQUIRE(found.has_value());
  CHECK(found->in == 5000000000);
  CHECK(found->out == 70);
  CHECK_FALSE(FindInterface(text, "up").has_value());
}

TEST_CASE("Cells are parsed, and nothing else is") {
  const auto cell = ParseCell("ers2-paper,4,1,5,1024,0,forward+backward");
  REQUIRE(cell.has_value());
  CHECK(cell->way == "ers2-paper");
  CHECK(cell->kp == 5);
  CHECK(cell->object_bytes == 1024);
  CHECK(cell->cases == std::vector{Case::kForward, Case::kBackward});
  for (const char* bad :
       {"", "ers2-paper,4,1,5,1024,0", "ers3,4,1,5,1024,0,put",
        "srs,4,1,5,0,0,put", "srs,4,1,5,9x,0,put", "srs,4,0,5,9,0,put",
        "srs,4,1,5,9,0,update", "srs,4,1,5,9,0,", "rep,4,1,5,9,0,forward"}) {
    CAPTURE(bad);
    CHECK_FALSE(ParseCell(bad).has_value());
  }
}

}  // namespace
}  // namespace ers::bench
