#include <catch2/catch.hpp>

#include "unit/proxy/transcript.h"

namespace ers::proxy {
namespace {

struct Case {
  std::string_view bytes;
  std::string_view transcript;
};

void Check(std::initializer_list<Case> cases) {
  for (const Case& c : cases) {
    CAPTURE(c.bytes);
    CHECK(TranscriptOf(c.bytes) == c.transcript);
  }
}

TEST_CASE("gets give a request for each key and one for the end") {
  Check({
      {"get a\r\n", "get key=a want-value\nend-of-gets want-value"},
      {"get a\n", "get key=a want-value\nend-of-gets want-value"},
      {"  get  a   bc \r\n",
       "get key=a want-value\nget key=bc want-value\nend-of-gets want-value"},
      {"bget a\r\n", "get key=a want-value\nend-of-gets want-value"},
      {"get a\tb\r\r\n",
       "get key=a\\x09b\\x0d want-value\nend-of-gets want-value"},
      {"get noreply\r\n", "get key=noreply want-value\nend-of-gets want-value"},
      {"gets a\r\n",
       "get key=a want-value with-cas\nend-of-gets want-value with-cas"},
      {"gat 100 a b\r\n",
       "get key=a exptime=100 want-value\nget key=b exptime=100 want-value\n"
       "end-of-gets exptime=100 want-value"},
      {"gats -1 a\r\n",
       "get key=a exptime=-1 want-value with-cas\n"
       "end-of-gets exptime=-1 want-value with-cas"},
      // memcached ends an empty list of keys, too.
      {"gat 100\r\n", "end-of-gets exptime=100 want-value"},
  });
}

TEST_CASE("stores are followed by their value") {
  Check({
      {"set a 0 0 3\r\nabc\r\n",
       "store key=a bytes=3 mode=set exptime=0\nvalue:abc\nend"},
      {"set a 0 0 3\nabc\r\n",
       "store key=a bytes=3 mode=set exptime=0\nvalue:abc\nend"},
      {"set a 4294967295 100 0\r\n\r\n",
       "store key=a bytes=0 mode=set flags=4294967295 exptime=100\nend"},
      {"set a +7 +8 +2\r\n\r\n\r\n",
       "store key=a bytes=2 mode=set flags=7 exptime=8\n"
       "value:\\x0d\\x0a\nend"},
      {"set a 1 -1 1 noreply\r\nx\r\n",
       "store key=a bytes=1 mode=set flags=1 exptime=-1 quiet\nvalue:x\nend"},
      // Another word there is nothing to memcached.
      {"set a 0 0 1 foo\r\nx\r\n",
       "store key=a bytes=1 mode=set exptime=0\nvalue:x\nend"},
      {"set noreply 0 0 1\r\nx\r\n",
       "store key=noreply bytes=1 mode=set exptime=0\nvalue:x\nend"},
      {"add a 0 0 1\r\nx\r\n",
       "store key=a bytes=1 mode=add exptime=0\nvalue:x\nend"},
      {"replace a 0 0 1\r\nx\r\n",
       "store key=a bytes=1 mode=replace exptime=0\nvalue:x\nend"},
      {"append a 0 0 1\r\nx\r\n",
       "store key=a bytes=1 mode=append exptime=0\nvalue:x\nend"},
      {"prepend a 0 0 1\r\nx\r\n",
       "store key=a bytes=1 mode=prepend exptime=0\nvalue:x\nend"},
      {"cas a 1 2 1 18446744073709551615\r\nx\r\n",
       "store key=a bytes=1 mode=set flags=1 cas=18446744073709551615 "
       "exptime=2\nvalue:x\nend"},
      {"cas a 0 0 1 0 noreply\r\nx\r\n",
       "store key=a bytes=1 mode=set cas=0 exptime=0 quiet\nvalue:x\nend"},
  });
}

TEST_CASE(
    "a value that is not ended by CRLF is bad, and the next line is next") {
  Check({
      {"set a 0 0 3\r\nabcdef\r\nmn\r\n",
       "store key=a bytes=3 mode=set exptime=0\nvalue:abc\n"
       "bad:CLIENT_ERROR bad data chunk|\nerror:ERROR|\nnoop meta"},
      {"set a 0 0 3\r\nabcd\r\nmn\r\n",
       "store key=a bytes=3 mode=set exptime=0\nvalue:abc\n"
       "bad:CLIENT_ERROR bad data chunk|\nerror:ERROR|\nnoop meta"},
      {"set a 0 0 3\r\na\r\nmn\r\n",
       "store key=a bytes=3 mode=set exptime=0\nvalue:a\\x0d\\x0a\n"
       "bad:CLIENT_ERROR bad data chunk|\nerror:ERROR|"},
      {"set a 0 0 3 noreply\r\nabcdef\r\n",
       "store key=a bytes=3 mode=set exptime=0 quiet\nvalue:abc\n"
       "bad:\nerror:ERROR|"},
      {"set a 0 0 0\r\nx\r\n",
       "store key=a bytes=0 mode=set exptime=0\n"
       "bad:CLIENT_ERROR bad data chunk|\nerror:ERROR|"},
  });
}

TEST_CASE("a value that is too large is refused and swallowed") {
  const Limits limits{.max_value_bytes = 4};
  const auto check = [&](std::string_view bytes, std::string_view transcript) {
    CAPTURE(bytes);
    CHECK(TranscriptOf(bytes, limits) == transcript);
  };
  check("set a 0 0 4\r\nabcd\r\n",
        "store key=a bytes=4 mode=set exptime=0\nvalue:abcd\nend");
  check("set a 0 0 5\r\nmn\r\n\n\r\nmn\r\n",
        "error:SERVER_ERROR object too large for cache| removes a\nnoop meta");
  check("set a 0 0 5 noreply\r\nabcde\r\nmn\r\n",
        "error: removes a\nnoop meta");
  // No answer before all of the value was read.
  check("cas a 0 0 2147483645 1\r\nabcde\r\nmn\r\n", "");
  check("ms a 5 q\r\nabcde\r\nmn\r\n",
        "error:SERVER_ERROR object too large for cache| removes a\nnoop meta");
  check("ers update a 0 5\r\nabcde\r\nmn\r\n",
        "error:SERVER_ERROR object too large for cache|\nnoop meta");
}

TEST_CASE("a value that is too large removes what no condition keeps") {
  const Limits limits{.max_value_bytes = 4};
  for (const char* line :
       {"add a 0 0 5", "replace a 0 0 5", "append a 0 0 5", "prepend a 0 0 5",
        "cas a 0 0 5 1", "ms a 5 ME", "ms a 5 MR", "ms a 5 MA", "ms a 5 MP",
        "ms a 5 C1", "ms a 5 C1 I"}) {
    CAPTURE(line);
    CHECK(TranscriptOf(std::string(line) + "\r\nabcde\r\n", limits) ==
          "error:SERVER_ERROR object too large for cache|");
  }
}

TEST_CASE("commands without a value") {
  Check({
      {"delete a\r\n", "delete key=a"},
      {"delete a 0\r\n", "delete key=a"},
      {"delete a noreply\r\n", "delete key=a quiet"},
      {"delete a 0 noreply\r\n", "delete key=a quiet"},
      {"delete noreply\r\n", "delete key=noreply"},
      {"incr a 1\r\n", "arithmetic key=a want-value"},
      {"incr a 18446744073709551615\r\n",
       "arithmetic key=a want-value delta=18446744073709551615"},
      {"incr a 0 noreply\r\n", "arithmetic key=a want-value delta=0 quiet"},
      {"decr a 2 foo\r\n", "arithmetic key=a want-value delta=2 decrement"},
      {"touch a 0\r\n", "touch key=a exptime=0"},
      {"touch a -5 noreply\r\n", "touch key=a exptime=-5 quiet"},
      {"flush_all\r\n", "flush"},
      {"flush_all noreply\r\n", "flush quiet"},
      {"flush_all 10\r\n", "flush exptime=10"},
      {"flush_all -1 noreply\r\n", "flush exptime=-1 quiet"},
      {"flush_all 0 foo\r\n", "flush exptime=0"},
      {"version\r\n", "version"},
      {"version now\r\n", "version"},
      {"verbosity 2\r\n", "verbosity level=2"},
      {"verbosity 1 noreply\r\n", "verbosity level=1 quiet"},
      {"stats\r\n", "stats"},
      {"stats  detail   on \r\n", "stats argument=detail on"},
      {"quit\r\nget a\r\n", "quit\nclose"},
      {"quit now\r\n", "quit\nclose"},
  });
}

TEST_CASE(
    "a line of HTTP closes the connection, and nothing behind it counts") {
  const std::string behind = " HTTP/1.1\r\nset a 0 0 1\r\nx\r\n";
  for (const std::string_view line :
       {"GET /", "POST / x y", "HEAD", "CONNECT a:1", "DELETE  /a ", "link /",
        "replace", "version", "Xx", "memcached", "quits"}) {
    CAPTURE(line);
    const bool is_command = line == "replace" || line == "version";
    CHECK((TranscriptOf(std::string(line) + behind) == "close") != is_command);
  }
  CHECK(TranscriptOf("HTTP/1.1\r\nquit\r\n") == "close");
  // The first word begins like a command, or has one letter only.
  for (const std::string_view line :
       {"trace /", "set", "gett /", "G /", "mx /"}) {
    CAPTURE(line);
    CHECK(TranscriptOf(std::string(line) + " HTTP/1.1\r\n") == "error:ERROR|");
  }
  CHECK(TranscriptOf("GET / http/1.1\r\n") == "error:ERROR|");
  CHECK(TranscriptOf("get HTTP/1.1\r\n") ==
        "get key=HTTP/1.1 want-value\nend-of-gets want-value");
}

TEST_CASE("a key has up to 250 bytes") {
  const std::string key(250, 'k');
  CHECK(TranscriptOf("get " + key + "\r\n") ==
        "get key=" + key + " want-value\nend-of-gets want-value");
  CHECK(TranscriptOf("delete " + key + "\r\n") == "delete key=" + key);
  CHECK(TranscriptOf("mg " + key + "\r\n") == "get key=" + key + " meta");
}

TEST_CASE("our own commands") {
  Check({
      {"ers transition a wide\r\n", "transition key=a argument=wide"},
      {"ers transition a ers2:4,1,5\r\n",
       "transition key=a argument=ers2:4,1,5"},
      {"ers update a 5 2\r\nxy\r\n",
       "update key=a bytes=2 offset=5\nvalue:xy\nend"},
      {"ers update a 0 0 noreply\r\n\r\n", "update key=a bytes=0 quiet\nend"},
      {"ers update a 0 1\r\nxy\r\n",
       "update key=a bytes=1\nvalue:x\nbad:CLIENT_ERROR bad data chunk|\n"
       "error:ERROR|"},
      {"ers stat a\r\n", "inspect key=a"},
      {"ers list transitioning\r\n", "list listed=transitioning"},
      {"ers list narrow\r\n", "list listed=narrow"},
      {"ers list wide movies:\r\n", "list key=movies: listed=wide"},
      {"ers list all\r\n", "list listed=all"},
      {"ers list 12 movies:\r\n", "list key=movies: listed=width blocks=12"},
      {"ers stat YQ0KYg== b\r\n", "inspect key=a\\x0d\\x0ab"},
      {"ers stat b\r\n", "inspect key=b"},
      {"ers transition YQ0KYg== b b\r\n",
       "transition key=a\\x0d\\x0ab argument=b"},
      {"ers update YQ0KYg== 0 1 b noreply\r\nx\r\n",
       "update key=a\\x0d\\x0ab bytes=1 quiet\nvalue:x\nend"},
      {"ers list narrow YQ0= b\r\n", "list key=a\\x0d listed=narrow"},
      {"ers trace get a b\r\n",
       "get key=a want-value traced\nget key=b want-value traced\n"
       "end-of-gets want-value traced"},
      {"ers trace set a 0 0 1\r\nx\r\n",
       "store key=a bytes=1 mode=set exptime=0 traced\nvalue:x\nend"},
      {"ers trace mg a v\r\n", "get key=a want-value traced meta"},
      {"ers trace ers transition a narrow\r\n",
       "transition key=a argument=narrow traced"},
  });
}

TEST_CASE("our own commands say what is wrong with them") {
  const std::string usage = "error:CLIENT_ERROR usage: ers ";
  const std::string transition =
      usage +
      "transition <key> narrow|wide|<data blocks>|<width>,<m>|<scheme> [b]|";
  const std::string update =
      usage + "update <key> <offset> <bytes> [b] [noreply]|";
  const std::string list =
      usage + "list transitioning|narrow|wide|<data blocks>|all [prefix [b]]|";
  const std::string trace = usage + "trace <command line>|";
  const std::string any = usage + "transition|update|stat|list|trace ...|";
  const std::string format = "error:CLIENT_ERROR bad command line format|";
  const std::string long_key(251, 'k');
  const std::pair<std::string, std::string> cases[] = {
      {"ers", any},
      {"ers foo", any},
      {"ers transition", transition},
      {"ers transition a", transition},
      {"ers transition a wide c", transition},
      {"ers transition a wide b", "error:CLIENT_ERROR error decoding key|"},
      {"ers update a 1", update},
      {"ers update a 1 2 foo", update},
      {"ers update a 1 2 noreply foo", update},
      {"ers update a x 2", format},
      {"ers update a 1 -2", format},
      {"ers update a 1 18446744073709551615", format},
      {"ers update a 1 x noreply", "error:"},
      {"ers stat", usage + "stat <key> [b]|"},
      {"ers stat a c", usage + "stat <key> [b]|"},
      {"ers stat a b", "error:CLIENT_ERROR error decoding key|"},
      {"ers stat YWI= b b", usage + "stat <key> [b]|"},
      {"ers list", list},
      {"ers list every", list},
      {"ers list 0", list},
      {"ers list -4", list},
      {"ers list 4x", list},
      {"ers list wide a b", "error:CLIENT_ERROR error decoding key|"},
      {"ers list wide a c", list},
      {"ers trace", trace},
      {"ers trace   ", trace},
      {"ers trace ers trace get a", trace},
      {"ers trace bogus", "error:ERROR|"},
      {"ers trace set a 0 0 x noreply", "error:"},
      {"ers stat " + long_key, format},
      {"ers transition " + long_key + " wide", format},
      {"ers update " + long_key + " 0 1", format},
      {"ers list wide " + long_key, format},
  };
  for (const auto& [line, transcript] : cases) {
    CAPTURE(line);
    CHECK(TranscriptOf(line + "\r\n") == transcript);
  }
}

}  // namespace
}  // namespace ers::proxy
