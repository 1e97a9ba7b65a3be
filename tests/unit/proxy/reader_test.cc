// What the reader promises beside the protocols: long lines, bounds, pauses.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "unit/proxy/transcript.h"

namespace ers::proxy {
namespace {

constexpr std::size_t kMaxLine = RequestReader::kMaxLine;
constexpr std::size_t kMaxGetLine = RequestReader::kMaxGetLine;

// "get", then keys "0", "1", ... until the line, without its end, has at least
// `size` bytes.
std::string GetLine(std::size_t size, int* keys) {
  std::string line = "get";
  *keys = 0;
  while (line.size() < size) line += fmt::format(" {}", (*keys)++);
  return line;
}

std::string Gets(int keys) {
  std::string text;
  for (int i = 0; i < keys; ++i) {
    text += fmt::format("get key={} want-value\n", i);
  }
  return text;
}

const std::vector<std::vector<std::size_t>> kPieces = {
    {1},           {2},
    {7},           {100, 1},
    {kMaxLine},    {kMaxLine + 1},
    {kMaxGetLine}, {kMaxGetLine - 1, 2},
    {1000000}};

TEST_CASE("a line of 2048 bytes is taken, a longer one closes") {
  const std::string fits = "mg a" + std::string(kMaxLine - 4, ' ');
  const std::string end_fits = fits.substr(1) + "\r";
  for (const auto& pieces : kPieces) {
    CHECK(TranscriptInPieces(fits + "\nmn\r\n", pieces) ==
          "get key=a meta\nnoop meta");
    CHECK(TranscriptInPieces("m" + end_fits + "\nmn\r\n", pieces) == "close");
    CHECK(TranscriptInPieces(fits + " \nmn\r\n", pieces) == "close");
    CHECK(TranscriptInPieces(std::string(kMaxLine + 1, 'x'), pieces) ==
          "close");
    CHECK(TranscriptInPieces(std::string(kMaxLine, 'x'), pieces).empty());
    CHECK(TranscriptInPieces(std::string(kMaxLine + 1, ' '), pieces) ==
          "close");
  }
}

TEST_CASE("a get has any number of keys") {
  for (const std::size_t size :
       {kMaxLine - 1, kMaxLine, kMaxLine + 1, kMaxGetLine - 2, kMaxGetLine - 1,
        kMaxGetLine, kMaxGetLine + 1, 5 * kMaxGetLine}) {
    int keys = 0;
    const std::string line = GetLine(size, &keys);
    for (const char* end : {"\n", "\r\n", " \r\n"}) {
      for (const auto& pieces : kPieces) {
        CAPTURE(size, end, pieces[0]);
        const std::string transcript =
            TranscriptInPieces(line + end + "mn\r\n", pieces);
        // Not in the macro: it would print a megabyte.
        const bool same =
            transcript == Gets(keys) + "end-of-gets want-value\nnoop meta";
        CHECK(same);
      }
    }
  }
}

TEST_CASE("only gets may be long, behind few blanks") {
  int keys = 0;
  const std::string tail = GetLine(3000, &keys).substr(3) + "\r\nmn\r\n";
  for (const auto& pieces : kPieces) {
    for (const std::string command :
         {"get", "gets", "gat 5", "gats 5", "bget", "    get"}) {
      CAPTURE(command);
      CHECK(TranscriptInPieces(command + tail, pieces).ends_with("noop meta"));
    }
    for (const std::string command : {"gett", "mg", "getx", "stats"}) {
      CAPTURE(command);
      CHECK(TranscriptInPieces(command + tail, pieces) == "close");
    }
    CHECK(TranscriptInPieces(std::string(100, ' ') + "get" + tail, pieces)
              .ends_with("noop meta"));
    CHECK(TranscriptInPieces(std::string(101, ' ') + "get" + tail, pieces) ==
          "close");
  }
}

TEST_CASE("a long key refuses a whole get line while that can be seen") {
  const std::string long_key(251, 'k');
  const std::string error = "error:CLIENT_ERROR bad command line format|";
  int keys = 0;
  const std::string line = GetLine(kMaxGetLine - 300, &keys);
  REQUIRE(line.size() + long_key.size() + 2 < kMaxGetLine);
  for (const auto& pieces : kPieces) {
    CHECK(TranscriptInPieces(line + " " + long_key + "\r\nmn\r\n", pieces) ==
          error + "\nnoop meta");
  }
}

TEST_CASE("a long key in a longer get line ends it where it stands") {
  const std::string key(250, 'k');
  int keys = 0;
  const std::string line = GetLine(2 * kMaxGetLine, &keys);
  const std::string before = Gets(keys);
  const std::string error =
      before + "error:CLIENT_ERROR bad command line format|\nnoop meta";
  const std::string good = before + "get key=" + key +
                           " want-value\nend-of-gets want-value\nnoop meta";
  for (const auto& pieces : kPieces) {
    CAPTURE(pieces[0]);
    for (const std::string rest : {"", " a", "kkkkkkk", " a b c "}) {
      const bool same =
          TranscriptInPieces(line + " " + key + "k" + rest + "\r\nmn\r\n",
                             pieces) == error;
      CHECK(same);
    }
    const bool same =
        TranscriptInPieces(line + " " + key + "\r\nmn\r\n", pieces) == good;
    CHECK(same);
    // A word without end.
    const bool endless =
        TranscriptInPieces(line + " " + std::string(100000, 'k') + "\nmn\r\n",
                           pieces) == error;
    CHECK(endless);
  }
}

TEST_CASE("a long gat whose exptime is out of sight is refused") {
  const std::string blanks(kMaxGetLine, ' ');
  const std::string error = "error:CLIENT_ERROR bad command line format|";
  for (const auto& pieces : kPieces) {
    // The exptime lies across the place up to which the line is kept.
    CHECK(TranscriptInPieces("gat x" + blanks + "\r\nmn\r\n", pieces) ==
          "error:CLIENT_ERROR invalid exptime argument|\nnoop meta");
    CHECK(TranscriptInPieces("gat " + blanks.substr(6) + "1234 a\r\nmn\r\n",
                             pieces) == error + "\nnoop meta");
    CHECK(TranscriptInPieces("get " + blanks + "a\r\nmn\r\n", pieces) ==
          "error:ERROR|\nnoop meta");
  }
}

TEST_CASE("requests come in order over one stream") {
  const std::string bytes =
      "set a 1 0 3\r\nxyz\r\nget a b\r\nbogus\r\nms c 0 q\r\n\r\n"
      "ers trace mg a v\r\nset d 0 0 x\r\nincr e 5\r\nmn\r\nquit\r\nmn\r\n";
  CHECK(TranscriptOf(bytes) ==
        "store key=a bytes=3 mode=set flags=1 exptime=0\nvalue:xyz\nend\n"
        "get key=a want-value\nget key=b want-value\nend-of-gets want-value\n"
        "error:ERROR|\n"
        "store key=c bytes=0 mode=set meta quiet\nend\n"
        "get key=a want-value traced meta\n"
        "error:CLIENT_ERROR bad command line format|\n"
        "arithmetic key=e want-value delta=5\nnoop meta\nquit\nclose");
}

TEST_CASE("Next takes no byte beyond its event") {
  RequestReader reader;
  const std::string bytes = "mn\r\nset a 0 0 2\r\nxy\r\nget a b\r\nmn\r\n";
  std::string_view input = bytes;
  using Event = RequestReader::Event;
  CHECK(reader.Next(input) == Event::kRequest);
  CHECK(input == bytes.substr(4));
  CHECK(reader.Next(input) == Event::kRequest);
  CHECK(input == "xy\r\nget a b\r\nmn\r\n");
  CHECK(reader.Next(input) == Event::kValue);
  CHECK(reader.value().data() == bytes.data() + bytes.find("xy"));
  CHECK(input == "\r\nget a b\r\nmn\r\n");
  CHECK(reader.Next(input) == Event::kValueEnd);
  CHECK(input == "get a b\r\nmn\r\n");
  CHECK(reader.Next(input) == Event::kRequest);
  CHECK(reader.request().key == "a");
  CHECK(reader.Next(input) == Event::kRequest);
  CHECK(reader.request().key == "b");
  CHECK(reader.Next(input) == Event::kRequest);
  CHECK(reader.request().operation == Operation::kEndOfGets);
  CHECK(input == "mn\r\n");
  CHECK(reader.Next(input) == Event::kRequest);
  CHECK(reader.Next(input) == Event::kNeedInput);
  CHECK(reader.Next(input) == Event::kNeedInput);
}

// Cuts where a reader is in the midst of a key list or a value stay with it.
void CheckGoneOnWith(const std::string& bytes, std::size_t stays) {
  const std::string whole = TranscriptInPieces(bytes, {bytes.size()});
  std::size_t stayed = 0;
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    CAPTURE(cut);
    Transcript before;
    before.Feed(bytes.substr(0, cut));
    if (!before.reader().between_requests()) {
      ++stayed;
      continue;
    }
    Transcript behind;
    behind.Feed(before.reader().Unparsed("") + bytes.substr(cut));
    std::string both = before.text();
    if (!both.empty() && !behind.text().empty()) both += "\n";
    CHECK(both + behind.text() == whole);
  }
  CHECK(stayed == stays);
}

TEST_CASE("another reader goes on between two requests, and with half lines") {
  // Within the value, its end and its line's.
  CheckGoneOnWith("mn\r\nset a 0 0 2\r\nxy\r\nget a b\r\nbogus\r\nmn\r\n", 4);
  // Two binary requests of a header alone, and one with a key.
  const std::string header = std::string("\x80\x0a", 2) + std::string(22, '\0');
  const std::string get = std::string("\x80\x00\x00\x01", 4) +
                          std::string(7, '\0') + "\x01" + std::string(12, '\0');
  CheckGoneOnWith(header + get + "k" + header, 1);
}

TEST_CASE("a request may be moved out between the keys of a get") {
  RequestReader reader;
  std::string_view input = "gats 7 first-key-of-more-than-fifteen-bytes b\r\n";
  REQUIRE(reader.Next(input) == RequestReader::Event::kRequest);
  const ClientRequest first = std::move(reader.request());
  REQUIRE(reader.Next(input) == RequestReader::Event::kRequest);
  const ClientRequest second = std::move(reader.request());
  REQUIRE(reader.Next(input) == RequestReader::Event::kRequest);
  CHECK(Describe(first) ==
        "get key=first-key-of-more-than-fifteen-bytes exptime=7 want-value "
        "with-cas");
  CHECK(Describe(second) == "get key=b exptime=7 want-value with-cas");
  CHECK(Describe(reader.request()) ==
        "end-of-gets exptime=7 want-value with-cas");
}

TEST_CASE("a moved-from store still answers a bad value in its own way") {
  using Event = RequestReader::Event;
  for (const bool quiet : {false, true}) {
    RequestReader reader;
    const std::string bytes =
        quiet ? "set a 0 0 1 noreply\r\nxyz" : "set a 0 0 1\r\nxyz";
    std::string_view input = bytes;
    REQUIRE(reader.Next(input) == Event::kRequest);
    const ClientRequest taken = std::move(reader.request());
    REQUIRE(reader.Next(input) == Event::kValue);
    REQUIRE(reader.Next(input) == Event::kValueBad);
    CHECK(reader.error().empty() == quiet);
    CHECK(taken.key == "a");
  }
}

TEST_CASE("a value of 256 MiB passes through") {
  RequestReader reader;
  std::string_view header = "set a 0 0 268435456\r\n";
  REQUIRE(reader.Next(header) == RequestReader::Event::kRequest);
  const std::string piece(1 << 20, 'v');
  for (int i = 0; i < 256; ++i) {
    std::string_view input = piece;
    REQUIRE(reader.Next(input) == RequestReader::Event::kValue);
    REQUIRE(reader.value().size() == piece.size());
  }
  std::string_view end = "\r\n";
  CHECK(reader.Next(end) == RequestReader::Event::kValueEnd);
  std::string_view more = "set a 0 0 268435457\r\n";
  CHECK(reader.Next(more) == RequestReader::Event::kNeedInput);
}

}  // namespace
}  // namespace ers::proxy
