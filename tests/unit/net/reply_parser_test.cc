#include "net/reply_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "net_calls.h"

namespace ers::net {
namespace {

using test::Call;
using Progress = ReplyParser::Progress;

struct Case {
  Verb verb;
  std::string reply;
  Outcome outcome;
  std::string value = "";
  std::vector<std::size_t> pieces = {};  // not empty: read into these
};

constexpr char kOutOfMemory[] = "SERVER_ERROR out of memory storing object\r\n";
constexpr char kTooLarge[] = "SERVER_ERROR object too large for cache\r\n";

std::vector<Case> Cases() {
  std::vector<Case> cases = {
      {Verb::kGet, "VA 5 c1 f2 t3 s5\r\nhello\r\n", Outcome::kOk, "hello"},
      {Verb::kGet, "VA 5 s5 t3 f2 c1\r\nhello\r\n", Outcome::kOk, "hello"},
      {Verb::kGet, "VA 5 t3 X c1 W f2 s5 Z\r\nhello\r\n", Outcome::kOk,
       "hello"},
      {Verb::kGet, "VA 5  c1  f2 t3 \r\nhello\r\n", Outcome::kOk, "hello"},
      {Verb::kGet, "VA 4 c1 f2 t3 s4\r\n\r\n\r\n\r\n", Outcome::kOk,
       "\r\n\r\n"},
      {Verb::kGet, "VA 5 c1 f2 t3 s5\r\nEND\r\n\r\n", Outcome::kOk, "END\r\n"},
      {Verb::kGet, "VA 0 c1 f2 t3 s0\r\n\r\n", Outcome::kOk, ""},
      {Verb::kGet, "VA 5 c1 f2 t3 s5\r\nhello\r\n", Outcome::kOk, "hello", {5}},
      {Verb::kGet,
       "VA 5 c1 f2 t3 s5\r\nhello\r\n",
       Outcome::kOk,
       "hello",
       {0, 1, 0, 3, 1, 0}},
      {Verb::kGet, "VA 0 c1 f2 t3 s0\r\n\r\n", Outcome::kOk, "", {0}},
      {Verb::kGet,
       "VA 5 c1 f2 t3 s5\r\nhello\r\n",
       Outcome::kWrongSize,
       "....",
       {4}},
      {Verb::kGet,
       "VA 5 c1 f2 t3 s5\r\nhello\r\n",
       Outcome::kWrongSize,
       "......",
       {3, 3}},
      {Verb::kGet, "EN\r\n", Outcome::kMiss},
      {Verb::kVivify, "VA 0 c1 f2 t3 s0 W\r\n\r\n", Outcome::kCreated},
      {Verb::kVivify, "VA 0 c1 f2 t3 s0 Z\r\n\r\n", Outcome::kOk},
      {Verb::kVivify, "VA 2 c1 f2 t3 s2\r\nab\r\n", Outcome::kOk, "ab"},
      {Verb::kVivify, "VA 2 c1 f2 t3 s2 W X\r\nab\r\n", Outcome::kOk, "ab"},
      {Verb::kVivify, "VA 2 c1 f2 t3 s2 X Z\r\nab\r\n", Outcome::kOk, "ab"},
      {Verb::kVivify, "EN\r\n", Outcome::kNoMemory},
      {Verb::kHead, "HD c1 f2 t3 s5\r\n", Outcome::kOk},
      {Verb::kHead, "EN\r\n", Outcome::kMiss},
      {Verb::kTouch, "HD\r\n", Outcome::kOk},
      {Verb::kTouch, "EN\r\n", Outcome::kMiss},
      {Verb::kSet, "HD\r\n", Outcome::kOk},
      {Verb::kSet, "NS\r\n", Outcome::kNotStored},
      {Verb::kSet, "EX\r\n", Outcome::kExists},
      {Verb::kSet, "NF\r\n", Outcome::kMiss},
      {Verb::kCas, "STORED\r\n", Outcome::kOk},
      {Verb::kCas, "EXISTS\r\n", Outcome::kExists},
      {Verb::kCas, "NOT_FOUND\r\n", Outcome::kMiss},
      {Verb::kCas, "NOT_STORED\r\n", Outcome::kNotStored},
      {Verb::kDelete, "HD\r\n", Outcome::kOk},
      {Verb::kDelete, "NF\r\n", Outcome::kMiss},
      {Verb::kDelete, "EX\r\n", Outcome::kExists},
      {Verb::kRenew, "HD\r\n", Outcome::kOk},
      {Verb::kRenew, "NF\r\n", Outcome::kMiss},
      {Verb::kRenew, "EX\r\n", Outcome::kExists},
      {Verb::kVersion, "VERSION 1.6.18\r\n", Outcome::kOk, "1.6.18"},
      {Verb::kStats, "END\r\n", Outcome::kOk},
      {Verb::kStats, "STAT a 1\r\nSTAT b 2 3\r\nEND\r\n", Outcome::kOk,
       "STAT a 1\nSTAT b 2 3\n"},
      {Verb::kMetadump, "key=a%20b exp=-1\nkey=END cls=1 \nEND\r\n",
       Outcome::kOk, "key=a%20b exp=-1\nkey=END cls=1 \n"},
      {Verb::kMetadump, "END\r\n", Outcome::kOk},
      {Verb::kMetadump, "BUSY currently processing crawler request\r\n",
       Outcome::kServerError, "BUSY currently processing crawler request"},
  };
  for (const Verb verb :
       {Verb::kGet, Verb::kHead, Verb::kVivify, Verb::kTouch, Verb::kSet,
        Verb::kCas, Verb::kDelete, Verb::kRenew, Verb::kStats, Verb::kMetadump,
        Verb::kWatch, Verb::kVersion}) {
    if (verb != Verb::kVivify) {
      cases.push_back({verb, kOutOfMemory, Outcome::kNoMemory});
      cases.push_back({verb, kTooLarge, Outcome::kTooLarge});
    }
    for (const std::string line :
         {"ERROR", "ERROR no", "CLIENT_ERROR bad command line format",
          "SERVER_ERROR", "SERVER_ERROR object too large"}) {
      cases.push_back({verb, line + "\r\n", Outcome::kServerError, line});
    }
  }
  return cases;
}

// Gives `bytes` to the parser as one read would: straight where it wants them,
// the rest, or all if not `straight`, from a buffer.
Progress Feed(ReplyParser& parser, std::string_view bytes, bool straight) {
  if (straight) {
    std::array<iovec, 3> pieces;
    const int count = parser.Destination(pieces.data(), 3);
    for (int i = 0; i < count; ++i) {
      const iovec& piece = pieces[static_cast<std::size_t>(i)];
      const std::size_t step = std::min(bytes.size(), piece.iov_len);
      std::memcpy(piece.iov_base, bytes.data(), step);
      if (step > 0) REQUIRE(parser.Placed(step) == Progress::kMore);
      bytes.remove_prefix(step);
    }
  }
  // A copy of exactly this size: reading beyond it is seen by the sanitizer.
  const auto copy = std::make_unique<char[]>(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  std::string_view left(copy.get(), bytes.size());
  Progress progress = Progress::kMore;
  if (!left.empty()) progress = parser.Parse(&left);
  if (progress != Progress::kBroken) REQUIRE(left.empty());
  return progress;
}

void Check(const Case& c, const std::vector<std::size_t>& cuts) {
  for (const bool straight : {false, true}) {
    CAPTURE(c.reply, cuts, straight);
    Call call(c.verb, "key");
    if (!c.pieces.empty()) call.Pieces(c.pieces);
    ReplyParser parser;
    parser.Begin(call);
    std::size_t begin = 0;
    for (const std::size_t cut : cuts) {
      const auto part = std::string_view(c.reply).substr(begin, cut - begin);
      REQUIRE(Feed(parser, part, straight) == Progress::kMore);
      begin = cut;
    }
    REQUIRE(parser.active());
    const auto rest = std::string_view(c.reply).substr(begin);
    REQUIRE(Feed(parser, rest, straight) == Progress::kDone);
    REQUIRE_FALSE(parser.active());
    REQUIRE(call.outcome == c.outcome);
    REQUIRE((c.pieces.empty() ? call.value : call.Into()) == c.value);
    if (c.reply.find("c1") != std::string::npos) {
      REQUIRE(call.item_token == 1);
      REQUIRE(call.item_flags == 2);
      REQUIRE(call.item_ttl == 3);
      if (c.outcome == Outcome::kWrongSize || c.verb == Verb::kHead) {
        REQUIRE(call.item_bytes == 5);
      }
    }
  }
}

TEST_CASE("every reply is understood whole, cut in two, and byte by byte") {
  for (const Case& c : Cases()) {
    Check(c, {});
    std::vector<std::size_t> all;
    for (std::size_t cut = 1; cut < c.reply.size(); ++cut) {
      Check(c, {cut});
      all.push_back(cut);
    }
    Check(c, all);
  }
}

TEST_CASE("short replies cut in three at every place") {
  for (const Case& c : Cases()) {
    if (c.reply.size() > 30) continue;
    for (std::size_t first = 1; first < c.reply.size(); ++first) {
      for (std::size_t second = first + 1; second < c.reply.size(); ++second) {
        Check(c, {first, second});
      }
    }
  }
}

TEST_CASE("the answer to a cas and what is asked behind it, cut anywhere") {
  struct Answer {
    std::string reply;
    Outcome outcome;
    std::uint64_t token;
  };
  for (const Answer& answer : std::vector<Answer>{
           {"STORED\r\nHD c7 f9\r\n", Outcome::kOk, 7},
           {"EXISTS\r\nHD c7 f9\r\n", Outcome::kExists, 7},
           {"NOT_FOUND\r\nEN\r\n", Outcome::kMiss, 0},
           {kOutOfMemory + std::string("HD c7 f9\r\n"), Outcome::kNoMemory, 7},
           {"STORED\r\nSERVER_ERROR out of memory\r\n", Outcome::kOk, 0}}) {
    CAPTURE(answer.reply);
    for (std::size_t cut = 1; cut < answer.reply.size(); ++cut) {
      Call call(Verb::kCas, "key");
      call.then_token = true;
      ReplyParser parser;
      parser.Begin(call);
      std::string_view first = std::string_view(answer.reply).substr(0, cut);
      std::string_view rest = std::string_view(answer.reply).substr(cut);
      REQUIRE(parser.Parse(&first) == Progress::kMore);
      REQUIRE(first.empty());
      REQUIRE(parser.Parse(&rest) == Progress::kDone);
      REQUIRE(rest.empty());
      REQUIRE(call.outcome == answer.outcome);
      REQUIRE(call.item_token == answer.token);
      REQUIRE(call.item_flags == (answer.token == 0 ? 0 : 9));
    }
  }
  for (const std::string_view reply :
       {"STORED\r\nSTORED\r\n", "STORED\r\nHD c7\r\n", "STORED\r\nHD f9\r\n",
        "HD c7 f9\r\n"}) {
    CAPTURE(reply);
    Call call(Verb::kCas, "key");
    call.then_token = true;
    ReplyParser parser;
    parser.Begin(call);
    std::string_view bytes = reply;
    CHECK(parser.Parse(&bytes) == Progress::kBroken);
  }
}

TEST_CASE("accesses before this one") {
  Call call(Verb::kHead, "key");
  ReplyParser parser;
  parser.Begin(call);
  std::string_view bytes = "HD c1 f0 t-1 s1 h1 l4294967295\r\n";
  CHECK(parser.Parse(&bytes) == Progress::kDone);
  CHECK(call.item_fetched);
  CHECK(call.item_idle == 4294967295);
  parser.Begin(call);
  bytes = "HD c1 f0 t-1 s1 h0 l0\r\n";
  CHECK(parser.Parse(&bytes) == Progress::kDone);
  CHECK_FALSE(call.item_fetched);
  CHECK(call.item_idle == 0);
  for (const std::string_view bad : {"h2 l0", "h l0", "h1 l", "h1 l-1"}) {
    parser.Begin(call);
    const std::string reply = fmt::format("HD c1 f0 t-1 s1 {}\r\n", bad);
    bytes = reply;
    CHECK(parser.Parse(&bytes) == Progress::kBroken);
  }
}

TEST_CASE("the parser stops at the end of a reply") {
  Call call(Verb::kGet, "key");
  ReplyParser parser;
  parser.Begin(call);
  std::string_view bytes = "VA 1 c1 f0 t-1 s1\r\nx\r\nEN\r\n";
  CHECK(parser.Parse(&bytes) == Progress::kDone);
  CHECK(bytes == "EN\r\n");
  CHECK(call.item_ttl == -1);
  Call second(Verb::kGet, "key");
  parser.Begin(second);
  CHECK(parser.Parse(&bytes) == Progress::kDone);
  CHECK(second.outcome == Outcome::kMiss);
}

TEST_CASE("what is not a reply to the request breaks, however it is cut") {
  struct Bad {
    Verb verb;
    std::string reply;
  };
  const auto bad = GENERATE(values<Bad>({
      {Verb::kGet, "HD\r\n"},
      {Verb::kGet, "HD c1 f2 t3 s5\r\n"},
      {Verb::kGet, "NF\r\n"},
      {Verb::kGet, "END\r\n"},
      {Verb::kGet, "EN\n"},
      {Verb::kGet, "\r\n"},
      {Verb::kGet, "ERRORS\r\n"},
      {Verb::kGet, "VALUE key 0 1\r\n"},
      {Verb::kGet, "VA\r\n"},
      {Verb::kGet, "VA x c1 f2 t3\r\n"},
      {Verb::kGet, "VA -1 c1 f2 t3\r\n"},
      {Verb::kGet, "VA 99999999999999999999 c1 f2 t3\r\n"},
      {Verb::kGet, "VA 1073741825 c1 f2 t3\r\n"},
      {Verb::kGet, "VA 1 f2 t3\r\n"},
      {Verb::kGet, "VA 1 c1 t3\r\n"},
      {Verb::kGet, "VA 1 c1 f2\r\n"},
      {Verb::kGet, "VA 1 c f2 t3\r\n"},
      {Verb::kGet, "VA 1 c-1 f2 t3\r\n"},
      {Verb::kGet, "VA 1 c1 f4294967296 t3\r\n"},
      {Verb::kGet, "VA 1 c1 f2 tx\r\n"},
      {Verb::kGet, "VA 1 c1 f2 t3\r\nab"},
      {Verb::kGet, "VA 1 c1 f2 t3\r\na\ra"},
      {Verb::kHead, "HD c1 f2 t3\r\n"},
      {Verb::kHead, "VA 1 c1 f2 t3 s1\r\n"},
      {Verb::kSet, "STORED\r\n"},
      {Verb::kSet, "EN\r\n"},
      {Verb::kCas, "HD\r\n"},
      {Verb::kDelete, "DELETED\r\n"},
      {Verb::kTouch, "NF\r\n"},
      {Verb::kVersion, "1.6.18\r\n"},
      {Verb::kStats, "key=a\r\n"},
      {Verb::kStats, "STAT a 1\r\nEN\r\n"},
      {Verb::kMetadump, "STAT a 1\r\n"},
      {Verb::kWatch, "ts=1 type=eviction\n"},
      {Verb::kWatch, "WATCHER_TOO_MANY log watcher limit reached\r\n"},
      {Verb::kMetadump, "key=a\nHD\r\n"},
      {Verb::kGet, "HTTP/1.1 400 Bad Request\r\n"},
      {Verb::kGet, std::string(10000, 'V')},
      {Verb::kGet, "SERVER_ERROR " + std::string(10000, 'x') + "\r\n"},
  }));
  CAPTURE(bad.reply);
  const std::size_t step = GENERATE(1, 2, 7, 100000);
  Call call(bad.verb, "key");
  ReplyParser parser;
  parser.Begin(call);
  Progress progress = Progress::kMore;
  for (std::size_t i = 0; i < bad.reply.size() && progress == Progress::kMore;
       i += step) {
    progress = Feed(parser, std::string_view(bad.reply).substr(i, step), true);
  }
  CHECK(progress == Progress::kBroken);
  CHECK(parser.error().starts_with("unexpected reply \""));
}

TEST_CASE("a value lies across more pieces than one read takes") {
  std::vector<std::size_t> sizes(100, 3);
  const std::string value = [] {
    std::string text;
    for (int i = 0; i < 300; ++i) text += static_cast<char>('a' + i % 26);
    return text;
  }();
  const Case c{Verb::kGet, "VA 300 c1 f2 t3 s300\r\n" + value + "\r\n",
               Outcome::kOk, value, sizes};
  Check(c, {});
  for (std::size_t cut = 1; cut < c.reply.size(); ++cut) Check(c, {cut});
}

// Its lines come into `lines`, which outlives it, each with a '|' behind it.
Request TakesLines(Verb verb, std::string& lines) {
  Request request;
  request.verb = verb;
  request.line_context = &lines;
  request.on_line = [](Request& asked, std::string_view line) {
    static_cast<std::string*>(asked.line_context)->append(line) += '|';
  };
  return request;
}

TEST_CASE("a dump's lines can be taken as they come") {
  const std::string bytes = "key=a la=1\r\nkey=b la=2\r\nEND\r\n";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    CAPTURE(cut);
    std::string lines;
    Request request = TakesLines(Verb::kMetadump, lines);
    ReplyParser parser;
    parser.Begin(request);
    std::string_view first = std::string_view(bytes).substr(0, cut);
    std::string_view second = std::string_view(bytes).substr(cut);
    if (parser.Parse(&first) == Progress::kMore) {
      CHECK(parser.Parse(&second) == Progress::kDone);
    }
    CHECK(request.outcome == Outcome::kOk);
    CHECK(lines == "key=a la=1|key=b la=2|");
    CHECK(request.value.empty());
  }
}

TEST_CASE("nothing more is written of a value that is abandoned") {
  const std::string bytes = "VA 6 c1 f2 t3 s6\r\nabcdef\r\n";
  const std::size_t begin = bytes.find('a');
  for (std::size_t cut = 0; cut + 2 < bytes.size(); ++cut) {
    CAPTURE(cut);
    std::string value = "......";
    const iovec piece{value.data(), value.size()};
    Request request;
    request.verb = Verb::kGet;
    request.into = {&piece, 1};
    ReplyParser parser;
    parser.Begin(request);
    std::string_view first = std::string_view(bytes).substr(0, cut);
    std::string_view second = std::string_view(bytes).substr(cut);
    CHECK(parser.Parse(&first) == Progress::kMore);
    request.abandoned = true;
    iovec place{};
    CHECK(parser.Destination(&place, 1) == 0);
    CHECK(parser.Parse(&second) == Progress::kDone);
    CHECK(request.outcome == Outcome::kWrongSize);
    const std::size_t came =
        cut < begin ? 0 : std::min<std::size_t>(cut - begin, 6);
    CHECK(value ==
          std::string("abcdef").substr(0, came) + std::string(6 - came, '.'));
  }
}

TEST_CASE("what a server sends to its watchers has no end") {
  const std::string bytes = "OK\r\nts=1 key=a la=1\nEND\n[skipped: 7]\n";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    CAPTURE(cut);
    std::string lines;
    Request request = TakesLines(Verb::kWatch, lines);
    ReplyParser parser;
    parser.Begin(request);
    std::string_view first = std::string_view(bytes).substr(0, cut);
    std::string_view second = std::string_view(bytes).substr(cut);
    CHECK(parser.Parse(&first) == Progress::kMore);
    CHECK(parser.Parse(&second) == Progress::kMore);
    CHECK(lines == "ts=1 key=a la=1|END|[skipped: 7]|");
  }
}

}  // namespace
}  // namespace ers::net
