// The model server against a real memcached 1.6.18: the same bytes in, the
// same bytes out.
#include <catch2/catch.hpp>
#include <chrono>
#include <ctime>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "sim/world/model_server.h"
#include "sim/world/real_memcached.h"

namespace ers::sim {
namespace {

using std::chrono::milliseconds;

// Seconds left may differ by the tick of a clock.
bool SameWord(const std::string& a, const std::string& b) {
  if (a == b) return true;
  if (a.size() < 2 || b.size() < 2 || a[0] != 't' || b[0] != 't') return false;
  return std::abs(std::atoll(a.c_str() + 1) - std::atoll(b.c_str() + 1)) <= 2;
}

bool SameReply(const std::string& a, const std::string& b) {
  if (a == b) return true;
  std::istringstream left(a);
  std::istringstream right(b);
  std::string x;
  std::string y;
  while (left >> x) {
    if (!(right >> y) || !SameWord(x, y)) return false;
  }
  return !(right >> y);
}

// A real server and a model that get the same requests.
struct Pair {
  explicit Pair(const std::vector<std::string>& arguments = {})
      : real(arguments),
        model({}, 1, [] { return std::int64_t{time(nullptr)}; }) {}

  void Same(const std::string& bytes, std::mt19937_64& random) {
    std::string expected;
    const std::size_t longest = bytes.size() > 100000 ? 40000 : 40;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece =
          std::min<std::size_t>(bytes.size() - at, 1 + random() % longest);
      model.Feed(session, std::string_view(bytes).substr(at, piece), expected);
      at += piece;
    }
    const std::string got =
        real.Ask(bytes, expected.size(), milliseconds(3000));
    CAPTURE(bytes.substr(0, 2000));
    if (!SameReply(got, expected)) CHECK(got == expected);
    REQUIRE(SameReply(got, expected));
  }

  RealMemcached real;
  ModelServer model;
  ModelServer::Session session;
};

std::string Big(std::size_t bytes) { return std::string(bytes, 'x') + "\r\n"; }

TEST_CASE("the model answers a script as memcached 1.6.18 does") {
  Pair pair;
  REQUIRE(pair.real.error().empty());
  std::mt19937_64 random(1);
  const std::string long_key(251, 'k');
  const std::string far = std::to_string(time(nullptr) + 5000000);
  const std::vector<std::string> script = {
      "mn\r\n",
      "mn extra\r\n",
      "mnx\r\n",
      "\r\n",
      "foo\r\n",
      "version\r\n",
      "version x\r\n",
      "verbosity 1\r\n",
      "mg\r\n",
      "mg \r\n",
      "ms\r\n",
      "md\r\n",
      "get\r\n",
      "mg a v c f t s k N3000 T0\r\n",
      "mg a v c f t s k\r\n",
      "mg a\r\n",
      "mg b\r\n",
      "mg b q v\r\n",
      "mg c k O123 v\r\n",
      "ms b S2\r\n",
      "ms b\r\n",
      "ms b -1\r\n",
      "ms b 2 T0 F5 c k\r\nxx\r\n",
      "mg b s v t f c k\r\n",
      "mg b k O123 v\r\n",
      "mg  b  k v \r\n",
      "ms b 2 C1\r\nyy\r\n",
      "ms b 2 C2 c\r\nyy\r\n",
      "ms zz 2 C3 k O9\r\nyy\r\n",
      "ms b 2 ME c\r\nyy\r\n",
      "ms b 2 MR c\r\nyy\r\n",
      "ms nn 2 MR c\r\nyy\r\n",
      "ms b 2 MX\r\nyy\r\n",
      "ms b 2\r\nyyy\r\n",
      "ms b 2 Q\r\nyy\r\n",
      "ms b 2 c c\r\nmn\r\n",
      "ms b 2 Cx\r\nmn\r\n",
      "ms b 2 Fx\r\nmn\r\n",
      "ms b 2 F-1 T5\r\nmn\r\n",
      "ms q 1 F4294967296\r\na\r\n",
      "mg q f\r\n",
      "mg b v Q\r\n",
      "mg b v v\r\n",
      "mg b Nx\r\n",
      "mg b Tx\r\n",
      "mg nope Nx\r\n",
      "mg nope q k\r\nmn\r\n",
      "ms b 2 q\r\nyy\r\nmn\r\n",
      "ms b 2 q ME\r\nyy\r\n",
      "ms b 2 q C99\r\nyy\r\n",
      "ms nn 2 q C99\r\nyy\r\n",
      "md b q\r\nmn\r\n",
      "md b q\r\n",
      "set b 0 0 1\r\n1\r\n",
      "md b C99 k O1\r\n",
      "md b Cx\r\n",
      "md b Q\r\n",
      "md b I T3000\r\n",
      "mg b c v t\r\n",
      "mg b c v t\r\n",
      "ms b 1 C1\r\nx\r\n",
      "ms b 1 c\r\nx\r\n",
      "mg b h u\r\n",
      "mg b c v t h\r\n",
      "mg b h s\r\n",
      "ms b 1 T-1\r\nx\r\n",
      "mg b\r\n",
      "set b 0 -1 1\r\n1\r\n",
      "get b\r\n",
      "md b\r\n",
      "set b 0 2592000 1\r\n1\r\n",
      "mg b t\r\n",
      "set b 0 2592001 1\r\n1\r\n",
      "mg b t c\r\n",
      "set b 0 " + far + " 1\r\n1\r\n",
      "mg b t c\r\n",
      "mg b T3600\r\n",
      "mg b t T5000\r\n",
      "mg b T0 t c\r\n",
      "mg b t T-1\r\n",
      "mg b t\r\n",
      "set b 0 0 1\r\n1\r\n",
      "flush_all\r\n",
      "md b\r\n",
      "add b 0 0 1\r\n1\r\n",
      "gets b b\r\n",
      "add b 0 0 1\r\n1\r\n",
      "replace b 7 0 2\r\nqq\r\n",
      "replace none 7 0 2\r\nqq\r\n",
      "cas b 0 0 1 x\r\nmn\r\n",
      "cas b 0 0 1\r\nmn\r\n",
      "cas b 0 0 2 7 noreply\r\nab\r\nmn\r\n",
      "cas none 0 0 2 7\r\nab\r\n",
      "gets b\r\n",
      "set b 0 0 2 extra\r\nqq\r\n",
      "set b 0 0 2 extra more\r\nqq\r\n",
      "set x 1 0 3\r\nabcd\r\n",
      "set x 1 0 -3\r\n",
      "set x a 0 3\r\nabc\r\n",
      "set x 1 0\r\n",
      "set x -1 0 1\r\na\r\n",
      "set x 4294967297 0 1\r\na\r\n",
      "get x\r\n",
      "delete x\r\n",
      "delete x\r\n",
      "delete x 0\r\n",
      "delete x 5\r\n",
      "delete x noreply\r\nmn\r\n",
      "touch b 3000\r\n",
      "touch none 1\r\n",
      "touch b x\r\n",
      "mg b t c\r\n",
      "flush_all noreply\r\nmn\r\n",
      "flush_all 0\r\n",
      "flush_all x\r\n",
      "get " + long_key + "\r\n",
      "mg " + long_key + " v\r\n",
      "mg " + long_key.substr(1) + " v\r\n",
      "set " + long_key + " 0 0 2\r\nmn\r\n",
      "ms " + long_key + " 2\r\nmn\r\n",
      "set b 0 0 2\nqq\r\n",
      "get b\n",
      "mg v3 N60 v\r\n",
      "get v3\r\n",
      "gets v3\r\n",
      "mg v3 N60 v c\r\n",
      "cas v3 0 0 1 1\r\nz\r\n",
      "set empty 0 0 0\r\n\r\n",
      "mg empty v s\r\n",
      "stats nonsense\r\n",
      "lru_crawler\r\n",
      "lru_crawler foo\r\n",
      "lru_crawler metadump foo\r\n",
      "set big 0 0 1\r\nz\r\n",
      "set big 0 0 1100000\r\n" + Big(1100000) + "get big\r\n",
      "set big 0 0 1\r\nz\r\n",
      "add big 0 0 1100000\r\n" + Big(1100000) + "get big\r\n",
      "cas big 0 0 1100000 1\r\n" + Big(1100000) + "get big\r\n",
      "ms big 1100000 C1 ME k O5\r\n" + Big(1100000) + "mg big v\r\n",
      // The largest that fits, and one more.
      "set o 0 0 1048516\r\n" + Big(1048516) + "mg o s c\r\n",
      "set o 0 0 1048517\r\n" + Big(1048517) + "mg o s c\r\n",
  };
  for (const std::string& bytes : script) pair.Same(bytes, random);
}

std::string RandomCommand(std::mt19937_64& random) {
  const auto below = [&random](std::uint64_t n) { return random() % n; };
  const std::string key(1, static_cast<char>('a' + below(5)));
  const std::string value(below(12), static_cast<char>('0' + below(10)));
  const std::vector<std::string> times = {"0",       "0",  "3600", "86400",
                                          "2592001", "-1", "7000"};
  const std::string& exptime = times[below(times.size())];
  const std::string token = std::to_string(1 + below(60));
  const std::string data = std::to_string(value.size());
  const std::string end = value + (below(40) == 0 ? "!" : "") + "\r\n";
  std::string flags;
  const auto maybe = [&](const std::string& flag) {
    if (below(3) == 0) flags += " " + flag;
  };
  switch (below(12)) {
    case 0:
      return "get " + key + " " + key + "\r\n";
    case 1:
      return "gets " + key + "\r\n";
    case 2:
      return "set " + key + " 5 " + exptime + " " + data + "\r\n" + end;
    case 3:
      return "add " + key + " 5 " + exptime + " " + data + "\r\n" + end;
    case 4:
      return "cas " + key + " 0 " + exptime + " " + data + " " + token +
             "\r\n" + end;
    case 5:
      return below(20) == 0 ? "flush_all\r\n" : "delete " + key + "\r\n";
    case 6:
      return "touch " + key + " " + exptime + "\r\n";
    case 7:
    case 8:
      for (const char* flag : {"c", "k", "F9", "q"}) maybe(flag);
      maybe("T" + exptime);
      maybe("C" + token);
      maybe("ME");
      maybe("O77");
      return "ms " + key + " " + data + flags + "\r\n" + end;
    case 9:
      for (const char* flag : {"k", "q", "O8"}) maybe(flag);
      maybe("C" + token);
      maybe("T3600");
      maybe("I");
      return "md " + key + flags + "\r\n";
    default:
      for (const char* flag : {"v", "c", "f", "t", "s", "k", "q", "O4"}) {
        maybe(flag);
      }
      if (below(3) == 0) maybe("T" + exptime);
      maybe("N3600");
      maybe("t");
      return "mg " + key + flags + "\r\n";
  }
}

TEST_CASE("random pipelined commands are answered as memcached 1.6.18 does") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Pair pair;
    REQUIRE(pair.real.error().empty());
    std::mt19937_64 random(seed);
    for (int batch = 0; batch < 60; ++batch) {
      std::string bytes;
      for (std::uint64_t i = random() % 12; i > 0; --i) {
        bytes += RandomCommand(random);
      }
      pair.Same(bytes + "mn\r\n", random);
    }
  }
}

TEST_CASE("a store without memory deletes what the real server deletes") {
  Pair pair({"-M", "-m", "8"});
  REQUIRE(pair.real.error().empty());
  std::mt19937_64 random(1);
  const std::size_t bytes = 100000;
  const std::vector<std::string> verbs = {
      "set old0 0 0 100000",   "add old1 0 0 100000",
      "cas old2 0 0 100000 3", "cas old3 0 0 100000 9",
      "ms old4 100000 k O1",   "ms old5 100000 C1",
      "ms old6 100000 ME",     "replace old7 0 0 100000"};
  for (std::size_t i = 0; i < verbs.size(); ++i) {
    pair.Same("set old" + std::to_string(i) + " 0 0 100000\r\n" + Big(bytes),
              random);
  }
  // Fill the real one until it refuses, then make the model refuse.
  std::string reply = "STORED\r\n";
  for (int i = 0; i < 200 && reply == "STORED\r\n"; ++i) {
    reply = pair.real.Ask(
        "set fill" + std::to_string(i) + " 0 0 100000\r\n" + Big(bytes), 8,
        milliseconds(3000));
  }
  std::string rest = pair.real.Ask("mn\r\n", 1000, milliseconds(100));
  REQUIRE(reply + rest ==
          "SERVER_ERROR out of memory storing object\r\nMN\r\n");
  pair.model.out_of_memory = [](std::string_view) { return true; };
  for (std::size_t i = 0; i < verbs.size(); ++i) {
    const std::string key = "old" + std::to_string(i);
    pair.Same(verbs[i] + "\r\n" + Big(bytes) + "mg " + key + " s\r\nmn\r\n",
              random);
    // Take what a deleted item gave back.
    pair.real.Ask("set more" + key + " 0 0 100000\r\n" + Big(bytes), 8,
                  milliseconds(3000));
    pair.real.Ask("mn\r\n", 1000, milliseconds(50));
  }
}

TEST_CASE("a hash dump names the same keys and sizes as memcached 1.6.18") {
  Pair pair;
  REQUIRE(pair.real.error().empty());
  std::mt19937_64 random(1);
  for (const char* key : {"plain", "%41/b", "zz=%:b-._~+!", "ers!x"}) {
    pair.Same(std::string("set ") + key + " 3 0 2\r\nab\r\n", random);
  }
  const auto words = [](const std::string& dump) {
    std::vector<std::string> kept;
    std::istringstream lines(dump);
    for (std::string line; std::getline(lines, line);) {
      std::string text;
      std::istringstream fields(line);
      for (std::string word; fields >> word;) {
        if (!word.starts_with("la=") && !word.starts_with("fetch=") &&
            !word.starts_with("cls=")) {
          text += word + " ";
        }
      }
      kept.push_back(text);
    }
    std::sort(kept.begin(), kept.end());
    return kept;
  };
  std::string expected;
  const std::string ask = "lru_crawler metadump hash\r\n";
  pair.model.Feed(pair.session, ask, expected);
  // The real one may be crawling for itself just now.
  constexpr int kTries = 20;
  std::string got = "BUSY";
  for (int i = 0; i < kTries && got.starts_with("BUSY"); ++i) {
    got = pair.real.Ask(ask, expected.size(), milliseconds(500));
  }
  CHECK(words(got) == words(expected));
}

}  // namespace
}  // namespace ers::sim
