#include "protocol/reply.h"

#include <catch2/catch.hpp>

#include "binary_packets.h"
#include "unit/proxy/transcript.h"

namespace ers::proxy {
namespace {

using test::BigEndian;
using test::Packet;
using test::PacketReply;

// The first request in these bytes.
ClientRequest RequestOf(std::string_view bytes) {
  RequestReader reader;
  REQUIRE(reader.Next(bytes) == RequestReader::Event::kRequest);
  return std::move(reader.request());
}

ClientRequest LastRequestOf(std::string_view bytes) {
  RequestReader reader;
  ClientRequest last;
  while (reader.Next(bytes) == RequestReader::Event::kRequest) {
    last = reader.request();
  }
  return last;
}

std::string Answer(const ClientRequest& request, const Reply& reply) {
  std::string out = "before ";
  AppendReply(request, reply, out);
  REQUIRE(out.starts_with("before "));
  return out.substr(7);
}

std::string Answer(std::string_view line, ReplyStatus outcome) {
  return Answer(RequestOf(line), Reply{.outcome = outcome});
}

constexpr ItemInfo kItem{.bytes = 3,
                         .client_flags = 7,
                         .cas = 42,
                         .ttl = 60,
                         .idle = 9,
                         .fetched = true};

std::string Hit(std::string_view bytes, const ItemInfo& item = kItem) {
  const ClientRequest request = RequestOf(bytes);
  REQUIRE(request.want_value);
  std::string out;
  AppendValueHeader(request, item, out);
  return out + "abc" + std::string(ValueTrailer(request));
}

constexpr ReplyStatus kAll[] = {
    ReplyStatus::kDone,        ReplyStatus::kNotStored,
    ReplyStatus::kExists,      ReplyStatus::kNotFound,
    ReplyStatus::kNotNumber,   ReplyStatus::kAlreadyThere,
    ReplyStatus::kTooLarge,    ReplyStatus::kNoMemory,
    ReplyStatus::kClientError, ReplyStatus::kServerError};

TEST_CASE("text replies") {
  const std::string set = "set a 0 0 1\r\n";
  CHECK(Answer(set, ReplyStatus::kDone) == "STORED\r\n");
  CHECK(Answer(set, ReplyStatus::kNotStored) == "NOT_STORED\r\n");
  CHECK(Answer(set, ReplyStatus::kExists) == "EXISTS\r\n");
  CHECK(Answer(set, ReplyStatus::kNotFound) == "NOT_FOUND\r\n");
  CHECK(Answer(set, ReplyStatus::kTooLarge) ==
        "SERVER_ERROR object too large for cache\r\n");
  CHECK(Answer(set, ReplyStatus::kNoMemory) ==
        "SERVER_ERROR out of memory storing object\r\n");
  CHECK(Answer("delete a\r\n", ReplyStatus::kDone) == "DELETED\r\n");
  CHECK(Answer("delete a\r\n", ReplyStatus::kNotFound) == "NOT_FOUND\r\n");
  CHECK(Answer("touch a 1\r\n", ReplyStatus::kDone) == "TOUCHED\r\n");
  CHECK(Answer("flush_all\r\n", ReplyStatus::kDone) == "OK\r\n");
  CHECK(Answer("verbosity 1\r\n", ReplyStatus::kDone) == "OK\r\n");
  CHECK(Answer("quit\r\n", ReplyStatus::kDone).empty());
  CHECK(Answer(RequestOf("version\r\n"), {.text = "1.6.18"}) ==
        "VERSION 1.6.18\r\n");
  CHECK(Answer(RequestOf("incr a 1\r\n"), {.number = 18446744073709551615U}) ==
        "18446744073709551615\r\n");
  CHECK(Answer("incr a 1\r\n", ReplyStatus::kNotFound) == "NOT_FOUND\r\n");
  CHECK(Answer("incr a 1\r\n", ReplyStatus::kNotNumber) ==
        "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n");
  CHECK(Answer("incr a 1\r\n", ReplyStatus::kNoMemory) ==
        "SERVER_ERROR out of memory\r\n");
}

TEST_CASE("an error stays one line") {
  const ClientRequest request = RequestOf("delete a\r\n");
  CHECK(Answer(request, {.outcome = ReplyStatus::kServerError,
                         .text = "3 servers\r\nare silent"}) ==
        "SERVER_ERROR 3 servers  are silent\r\n");
  CHECK(Answer(request, {.outcome = ReplyStatus::kClientError,
                         .text = "no such scheme"}) ==
        "CLIENT_ERROR no such scheme\r\n");
}

TEST_CASE("a text get answers hits only, and the rest at its end") {
  CHECK(Hit("get a\r\n") == "VALUE a 7 3\r\nabc\r\n");
  CHECK(Hit("gets a\r\n") == "VALUE a 7 3 42\r\nabc\r\n");
  CHECK(Hit("gat 5 a\r\n") == "VALUE a 7 3\r\nabc\r\n");
  CHECK(Hit("gats 5 a\r\n") == "VALUE a 7 3 42\r\nabc\r\n");
  for (const ReplyStatus outcome : kAll) {
    CHECK(Answer("get a\r\n", outcome).empty());
  }
  const ClientRequest end = LastRequestOf("get a\r\n");
  CHECK(Answer(end, {}) == "END\r\n");
  CHECK(Answer(end, {.outcome = ReplyStatus::kServerError,
                     .text = "no quorum"}) == "SERVER_ERROR no quorum\r\n");
}

TEST_CASE("noreply hides every reply") {
  for (const std::string_view line :
       {"set a 0 0 1 noreply\r\n", "delete a noreply\r\n",
        "incr a 1 noreply\r\n", "touch a 1 noreply\r\n",
        "flush_all noreply\r\n", "verbosity 1 noreply\r\n",
        "ers update a 1 1 noreply\r\n"}) {
    for (const ReplyStatus outcome : kAll) {
      CAPTURE(line);
      CHECK(Answer(line, outcome).empty());
    }
  }
}

TEST_CASE("stats") {
  const ClientRequest text = RequestOf("stats\r\n");
  std::string out;
  AppendStat(text, "pid", "12", out);
  AppendReply(text, {}, out);
  CHECK(out == "STAT pid 12\r\nEND\r\n");
  CHECK(Answer(text, {.text = "RESET"}) == "RESET\r\n");

  const ClientRequest binary = RequestOf(Packet{.opcode = 0x10}.bytes());
  out.clear();
  AppendStat(binary, "pid", "12", out);
  AppendReply(binary, {}, out);
  CHECK(out == PacketReply(0x10, 0, "pid12", 3) + PacketReply(0x10, 0, ""));
  CHECK(Answer(binary, {.text = "RESET"}) == PacketReply(0x10, 0, ""));
}

TEST_CASE("meta hits") {
  CHECK(Hit("mg a v\r\n") == "VA 3\r\nabc\r\n");
  CHECK(Hit("mg a v q\r\n") == "VA 3\r\nabc\r\n");
  CHECK(Hit("mg a v c f h k l O1x s t\r\n") ==
        "VA 3 c42 f7 h1 ka l9 O1x s3 t60\r\nabc\r\n");
  CHECK(Hit("mg a t O k v s\r\n") == "VA 3 t60 O ka s3\r\nabc\r\n");
  CHECK(Hit("mg Zm9v b k v\r\n") == "VA 3 kZm9v b\r\nabc\r\n");
  CHECK(Hit("mg a v t h\r\n", {.bytes = 3}) == "VA 3 t-1 h0\r\nabc\r\n");
  CHECK(Hit("mg a v\r\n", {.bytes = 3, .won = true}) == "VA 3 W\r\nabc\r\n");
  CHECK(Hit("mg a v k\r\n", {.bytes = 3, .won = true, .stale = true}) ==
        "VA 3 ka X W\r\nabc\r\n");
  CHECK(Hit("mg a v\r\n", {.bytes = 3, .stale = true, .another_won = true}) ==
        "VA 3 Z X\r\nabc\r\n");
  const Reply hit{.item = kItem};
  CHECK(Answer(RequestOf("mg a\r\n"), hit) == "HD\r\n");
  CHECK(Answer(RequestOf("mg a q\r\n"), hit) == "HD\r\n");
  CHECK(Answer(RequestOf("mg a t c\r\n"), hit) == "HD t60 c42\r\n");
  CHECK(Answer(RequestOf("mg a s N0\r\n"), {.item = {.won = true}}) ==
        "HD s0 W\r\n");
  CHECK(Answer(RequestOf("me a\r\n"), hit) ==
        "ME a exp=-60 la=9 cas=42 fetch=yes cls=0 size=3\r\n");
  CHECK(Answer(RequestOf("me Zm9v b\r\n"), {}) ==
        "ME Zm9v exp=-1 la=0 cas=0 fetch=no cls=0 size=0\r\n");
}

TEST_CASE("meta misses, changes and errors") {
  CHECK(Answer("mg a\r\n", ReplyStatus::kNotFound) == "EN\r\n");
  CHECK(Answer("mg a v c s t k O1\r\n", ReplyStatus::kNotFound) ==
        "EN ka O1\r\n");
  CHECK(Answer("mg a q\r\n", ReplyStatus::kNotFound).empty());
  CHECK(Answer("me a\r\n", ReplyStatus::kNotFound) == "EN\r\n");
  CHECK(Answer("mn\r\n", ReplyStatus::kDone) == "MN\r\n");

  const Reply stored{.item = kItem};
  CHECK(Answer(RequestOf("ms a 1\r\n"), stored) == "HD\r\n");
  CHECK(Answer(RequestOf("ms a 1 O1 c k s\r\n"), stored) == "HD O1 c42 ka\r\n");
  CHECK(Answer(RequestOf("ms Zm9v 1 b k c\r\n"), stored) ==
        "HD kZm9v b c42\r\n");
  CHECK(Answer(RequestOf("ms a 1 q k\r\n"), stored).empty());
  CHECK(Answer("ms a 1 c k O2\r\n", ReplyStatus::kNotFound) ==
        "NF c0 ka O2\r\n");
  CHECK(Answer("ms a 1 c k\r\n", ReplyStatus::kExists) == "EX c0 ka\r\n");
  CHECK(Answer("ms a 1 q\r\n", ReplyStatus::kNotStored) == "NS\r\n");

  CHECK(Answer("md a k O1\r\n", ReplyStatus::kDone) == "HD ka O1\r\n");
  CHECK(Answer("md a q\r\n", ReplyStatus::kDone).empty());
  CHECK(Answer("md a q k O1\r\n", ReplyStatus::kNotFound) == "NF ka O1\r\n");
  CHECK(Answer("md a q C1\r\n", ReplyStatus::kExists) == "EX\r\n");

  const Reply number{.item = {.cas = 13}, .number = 12};
  CHECK(Answer(RequestOf("ma a\r\n"), number) == "HD\r\n");
  CHECK(Answer(RequestOf("ma a v c t k O1\r\n"), number) ==
        "VA 2 c13 t-1 ka O1\r\n12\r\n");
  CHECK(Answer(RequestOf("ma a t\r\n"), number) == "HD t-1\r\n");
  CHECK(Answer(RequestOf("ma a q v\r\n"), number).empty());
  CHECK(Answer("ma a q k t c v\r\n", ReplyStatus::kNotFound) == "NF ka\r\n");
  CHECK(Answer("ma a q k C1\r\n", ReplyStatus::kExists) == "EX ka\r\n");
  CHECK(Answer("ma a N1\r\n", ReplyStatus::kNotStored) == "NS\r\n");
  for (const std::string_view line :
       {"mg a q\r\n", "ms a 1 q\r\n", "md a q\r\n", "ma a q\r\n"}) {
    CHECK(Answer(line, ReplyStatus::kTooLarge) ==
          "SERVER_ERROR object too large for cache\r\n");
  }
}

TEST_CASE("binary hits and misses") {
  const auto get = [](int opcode, std::string extras = "") {
    return Packet{.opcode = opcode, .extras = std::move(extras), .key = "key"}
        .bytes();
  };
  const std::string flags = BigEndian(7, 4);
  const std::string exptime = BigEndian(0, 4);
  for (const int opcode : {0x00, 0x09}) {
    CHECK(Hit(get(opcode)) == PacketReply(opcode, 0, flags + "abc", 0, 4, 42));
  }
  for (const int opcode : {0x0c, 0x0d}) {
    CHECK(Hit(get(opcode)) ==
          PacketReply(opcode, 0, flags + "keyabc", 3, 4, 42));
  }
  for (const int opcode : {0x1d, 0x1e}) {
    CHECK(Hit(get(opcode, exptime)) ==
          PacketReply(opcode, 0, flags + "abc", 0, 4, 42));
  }
  for (const int opcode : {0x23, 0x24}) {
    CHECK(Hit(get(opcode, exptime)) ==
          PacketReply(opcode, 0, flags + "keyabc", 3, 4, 42));
  }
  const ReplyStatus miss = ReplyStatus::kNotFound;
  CHECK(Answer(get(0x00), miss) == PacketReply(0x00, 1, "Not found"));
  CHECK(Answer(get(0x0c), miss) == PacketReply(0x0c, 1, "key", 3));
  CHECK(Answer(get(0x1d, exptime), miss) == PacketReply(0x1d, 1, "Not found"));
  CHECK(Answer(get(0x23, exptime), miss) == PacketReply(0x23, 1, "key", 3));
  for (const int opcode : {0x09, 0x0d})
    CHECK(Answer(get(opcode), miss).empty());
  for (const int opcode : {0x1e, 0x24}) {
    CHECK(Answer(get(opcode, exptime), miss).empty());
  }
  const ClientRequest touch = RequestOf(get(0x1c, exptime));
  CHECK(Answer(touch, {.item = kItem}) ==
        PacketReply(0x1c, 0, flags, 0, 4, 42));
  CHECK(Answer(touch, {.outcome = miss}) == PacketReply(0x1c, 1, "Not found"));
}

TEST_CASE("binary changes") {
  const std::string eight(8, '\0');
  const auto store = [&](int opcode) {
    return RequestOf(
        Packet{.opcode = opcode, .extras = eight, .key = "a", .value = "x"}
            .bytes());
  };
  const Reply stored{.item = {.cas = 5}};
  const Reply not_stored{.outcome = ReplyStatus::kNotStored};
  CHECK(Answer(store(0x01), stored) == PacketReply(1, 0, "", 0, 0, 5));
  CHECK(Answer(store(0x11), stored).empty());
  CHECK(Answer(store(0x02), not_stored) ==
        PacketReply(2, 2, "Data exists for key."));
  CHECK(Answer(store(0x12), not_stored) ==
        PacketReply(0x12, 2, "Data exists for key."));
  CHECK(Answer(store(0x13), not_stored) == PacketReply(0x13, 1, "Not found"));
  CHECK(Answer(store(0x01), {.outcome = ReplyStatus::kExists}) ==
        PacketReply(1, 2, "Data exists for key."));
  CHECK(Answer(store(0x01), {.outcome = ReplyStatus::kNotFound}) ==
        PacketReply(1, 1, "Not found"));
  CHECK(Answer(store(0x11), {.outcome = ReplyStatus::kTooLarge}) ==
        PacketReply(0x11, 3, "Too large."));
  CHECK(Answer(store(0x01), {.outcome = ReplyStatus::kNoMemory}) ==
        PacketReply(1, 0x82, "Out of memory"));
  const ClientRequest append =
      RequestOf(Packet{.opcode = 0x19, .key = "a", .value = "x"}.bytes());
  CHECK(Answer(append, not_stored) == PacketReply(0x19, 5, "Not stored."));
  CHECK(Answer(append, stored).empty());

  const ClientRequest erase =
      RequestOf(Packet{.opcode = 4, .key = "a"}.bytes());
  CHECK(Answer(erase, {}) == PacketReply(4, 0, ""));
  CHECK(Answer(erase,
               {.outcome = ReplyStatus::kServerError, .text = "no quorum"}) ==
        PacketReply(4, 0x84, "no quorum"));
  CHECK(Answer(erase, {.outcome = ReplyStatus::kClientError}) ==
        PacketReply(4, 0x04, "Invalid arguments"));

  const std::string twenty(20, '\0');
  const auto arithmetic = [&](int opcode) {
    return RequestOf(
        Packet{.opcode = opcode, .extras = twenty, .key = "a"}.bytes());
  };
  const Reply number{.item = {.cas = 6}, .number = 258};
  CHECK(Answer(arithmetic(5), number) ==
        PacketReply(5, 0, BigEndian(258, 8), 0, 0, 6));
  CHECK(Answer(arithmetic(0x16), number).empty());
  CHECK(Answer(arithmetic(0x15), {.outcome = ReplyStatus::kNotFound}) ==
        PacketReply(0x15, 1, "Not found"));
  CHECK(Answer(arithmetic(6), {.outcome = ReplyStatus::kNotNumber}) ==
        PacketReply(6, 6, "Non-numeric server-side value for incr or decr"));
}

TEST_CASE("binary commands without a key") {
  const auto plain = [](int opcode) {
    return RequestOf(Packet{.opcode = opcode}.bytes());
  };
  CHECK(Answer(plain(0x0b), {.text = "1.6.18"}) ==
        PacketReply(0x0b, 0, "1.6.18"));
  CHECK(Answer(plain(0x0a), {}) == PacketReply(0x0a, 0, ""));
  CHECK(Answer(plain(0x08), {}) == PacketReply(0x08, 0, ""));
  CHECK(Answer(plain(0x18), {}).empty());
  CHECK(Answer(plain(0x07), {}) == PacketReply(0x07, 0, ""));
  CHECK(Answer(plain(0x17), {}).empty());
}

TEST_CASE("replies to our own commands") {
  CHECK(Answer("ers update a 0 1\r\n", ReplyStatus::kDone) == "UPDATED\r\n");
  CHECK(Answer("ers update a 0 1\r\n", ReplyStatus::kNotFound) ==
        "NOT_FOUND\r\n");
  const ClientRequest transition = RequestOf("ers transition a wide\r\n");
  CHECK(Answer(transition, {.outcome = ReplyStatus::kAlreadyThere}) ==
        "ALREADY_THERE\r\n");
  std::string out;
  AppendStat(transition, "path", "plan", out);
  AppendReply(transition, {}, out);
  CHECK(out == "STAT path plan\r\nEND\r\n");
  CHECK(Answer("ers stat a\r\n", ReplyStatus::kNotFound) == "NOT_FOUND\r\n");

  out.clear();
  AppendListed("movie", "ers2:4,1,5", "wide", 123, out);
  AppendReply(RequestOf("ers list wide\r\n"), {}, out);
  CHECK(out == "KEY movie ers2:4,1,5 wide 123\r\nEND\r\n");

  // A key that would end its line, or the list.
  out.clear();
  AppendListed("a\r\nEND", "rep:3", "narrow", 1, out);
  AppendListed("a b", "rep:3", "narrow", 1, out);
  AppendListed("\xff", "rep:3", "narrow", 1, out);
  CHECK(out ==
        "KEY YQ0KRU5E rep:3 narrow 1 b\r\nKEY YSBi rep:3 narrow 1 b\r\n"
        "KEY \xff rep:3 narrow 1\r\n");

  const ClientRequest traced = RequestOf("ers trace delete a noreply\r\n");
  out.clear();
  AppendReply(traced, {}, out);
  AppendTrace("servers", "a:1\nb:2", out);
  AppendEndOfTrace(out);
  CHECK(out == "TRACE servers a:1 b:2\r\nTRACED\r\n");
}

}  // namespace
}  // namespace ers::proxy
