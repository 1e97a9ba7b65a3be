// ServerLink over scripted connections in virtual time.
#include <catch2/catch.hpp>
#include <cerrno>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fake_runtime.h"
#include "net/server_link.h"
#include "net/task.h"
#include "net_calls.h"

namespace ers::net {
namespace {

using test::Call;
using test::FakeRuntime;
using test::Wire;
using State = ServerLink::State;

constexpr char kGreeting[] =
    "version\r\nstats\r\nstats settings\r\nmg ers!boot v c f t s N60\r\n";
constexpr char kFacts[] =
    "VERSION 1.6.18\r\n"
    "STAT pid 7\r\nSTAT uptime 40\r\nSTAT time 1040\r\nEND\r\n"
    "STAT maxbytes 1\r\nSTAT evictions off\r\nSTAT item_size_max 2097152\r\n"
    "STAT slab_chunk_max 1000\r\nEND\r\n";
constexpr char kNonce[] = "VA 4 c9 f0 t-1 s4\r\nabcd\r\n";

// Answers the greeting once; after that the test is the server.
void Greet(Wire& wire) {
  wire.on_write = [](Wire& self) {
    if (!self.received.ends_with(kGreeting)) return;
    self.received.clear();
    self.writes = 0;
    self.outgoing += std::string(kFacts) + kNonce;
    self.on_write = {};
  };
}

// Requests that are open at the end of a test need f.link.reset() before they
// go.
struct Fixture {
  explicit Fixture(LinkGuard* guard = nullptr) {
    runtime.on_connect = Greet;
    link.emplace(runtime, endpoint, 3, LinkOptions{}, guard);
  }
  // Brings the link up.
  Wire& Up() {
    Call version(Verb::kVersion);
    link->Submit(version);
    runtime.RunAll();
    Wire& wire = runtime.last();
    wire.outgoing += "VERSION 1.6.18\r\n";
    runtime.RunAll();
    REQUIRE(version.outcome == Outcome::kOk);
    REQUIRE(link->state() == State::kUp);
    wire.received.clear();
    wire.writes = 0;
    return wire;
  }

  Endpoint endpoint = *ParseEndpoint("server:1");
  FakeRuntime runtime;
  std::optional<ServerLink> link;
};

TEST_CASE("the first request connects, waits for the handshake and is sent") {
  Fixture f;
  CHECK(f.link->state() == State::kIdle);
  CHECK(f.link->connection() == 0);
  CHECK(f.runtime.wires.empty());
  Call get(Verb::kGet, "key");
  f.link->Submit(get);
  CHECK(f.link->state() == State::kConnecting);
  f.runtime.RunAll();
  CHECK(f.link->state() == State::kUp);
  CHECK(f.link->facts().boot_mark == "7/1000/abcd");
  CHECK(f.link->facts().version == "1.6.18");
  CHECK(f.link->facts().item_size_max == 2097152);
  CHECK_FALSE(f.link->facts().evictions);
  CHECK(f.link->connection() == 1);
  CHECK(f.link->member() == 3);
  CHECK(f.runtime.last().received == "mg key v c f t s\r\n");
  CHECK(get.ends == 0);
  f.runtime.last().outgoing = "EN\r\n";
  f.runtime.RunAll();
  CHECK(get.ends == 1);
  CHECK(get.outcome == Outcome::kMiss);
  CHECK(get.connection == 1);
  CHECK(f.link->last_error().empty());
}

TEST_CASE("the handshake survives every cut of the server's bytes") {
  const std::size_t limit = GENERATE(1, 2, 3, 5, 17, 64);
  Fixture f;
  f.runtime.on_connect = [limit](Wire& wire) {
    Greet(wire);
    wire.read_limit = limit;
  };
  f.Up();
  CHECK(f.link->facts().boot_mark == "7/1000/abcd");
}

TEST_CASE("requests of one turn leave in one write, answered in order") {
  Fixture f;
  Wire& wire = f.Up();
  std::vector<Call*> order;
  std::deque<Call> calls;
  for (int i = 0; i < 5; ++i) {
    calls.emplace_back(Verb::kSet, std::string(1, static_cast<char>('a' + i)))
        .Body("v")
        .order = &order;
    f.link->Submit(calls.back());
  }
  CHECK(wire.received.empty());
  f.runtime.RunAll();
  CHECK(wire.writes == 1);
  CHECK(wire.received ==
        "ms a 1 T0 F0\r\nv\r\nms b 1 T0 F0\r\nv\r\nms c 1 T0 F0\r\nv\r\n"
        "ms d 1 T0 F0\r\nv\r\nms e 1 T0 F0\r\nv\r\n");
  wire.outgoing =
      "HD\r\nNS\r\nHD\r\nSERVER_ERROR out of memory storing "
      "object\r\nHD\r\n";
  f.runtime.RunAll();
  REQUIRE(order.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(order[i] == &calls[i]);
  CHECK(calls[1].outcome == Outcome::kNotStored);
  CHECK(calls[3].outcome == Outcome::kNoMemory);
  CHECK(f.link->counters().requests.Get() == 4 + 1 + 5);
  CHECK(f.link->counters().connections.Get() == 1);
}

Task<void> SubmitBehind(Latch& latch, ServerLink& link, Request& request) {
  co_await latch;
  link.Submit(request);
}

TEST_CASE("what answers lead to leaves with what was waiting, in one write") {
  Fixture f;
  Wire& wire = f.Up();
  Call first(Verb::kGet, "first");
  f.link->Submit(first);
  f.runtime.RunAll();
  wire.received.clear();
  wire.writes = 0;
  Call waiting(Verb::kGet, "waiting");
  Call next(Verb::kGet, "next");
  Latch answered(f.runtime, 1);
  first.context = &answered;
  first.done = [](Request& request) {
    static_cast<Latch*>(request.context)->CountDown();
  };
  Spawn(SubmitBehind(answered, *f.link, next));
  // In the turn in which the answer is read.
  f.runtime.Post([&] { f.link->Submit(waiting); });
  wire.outgoing = "EN\r\n";
  f.runtime.RunAll();
  CHECK(wire.writes == 1);
  CHECK(wire.received == "mg waiting v c f t s\r\nmg next v c f t s\r\n");
  wire.outgoing = "EN\r\nEN\r\n";
  f.runtime.RunAll();
}

TEST_CASE("counters count bytes at the socket") {
  Fixture f;
  Wire& wire = f.Up();
  const LinkCounters before = f.link->counters();
  Call get(Verb::kGet, "key");
  f.link->Submit(get);
  f.runtime.RunAll();
  wire.outgoing = "VA 3 c1 f0 t-1 s3\r\nabc\r\n";
  const std::size_t reply = wire.outgoing.size();
  f.runtime.RunAll();
  CHECK(f.link->counters().bytes_sent.Get() - before.bytes_sent.Get() ==
        wire.received.size());
  CHECK(f.link->counters().bytes_received.Get() - before.bytes_received.Get() ==
        reply);
}

TEST_CASE("links count together, and what stands goes down again") {
  LinkCounters counters;
  FakeRuntime runtime;
  runtime.on_connect = Greet;
  LinkOptions options;
  options.counters = &counters;
  const Endpoint endpoint = *ParseEndpoint("server:1");
  const auto up = [&](ServerLink& link) {
    Call version(Verb::kVersion);
    link.Submit(version);
    runtime.RunAll();
    runtime.last().outgoing += "VERSION 1.6.18\r\n";
    runtime.RunAll();
    REQUIRE(link.state() == State::kUp);
  };
  ServerLink first(runtime, endpoint, 3, options, nullptr);
  CHECK(counters.standing.Get() == 0);
  up(first);
  {
    ServerLink second(runtime, endpoint, 3, options, nullptr);
    up(second);
    CHECK(&first.counters() == &second.counters());
    CHECK(counters.connections.Get() == 2);
    CHECK(counters.standing.Get() == 2);
    second.Abort("left the view");
    CHECK(counters.standing.Get() == 1);
    CHECK(counters.failures.Get() == 1);
    runtime.RunUntil([&] { return second.state() == State::kUp; });
    CHECK(counters.connections.Get() == 3);
    CHECK(counters.standing.Get() == 2);
  }
  CHECK(counters.standing.Get() == 1);
  CHECK(counters.failures.Get() == 1);
}

TEST_CASE("pipelined values reach their places under every read size") {
  const std::size_t limit = GENERATE(1, 2, 3, 7, 30, 5000, Wire::kAll);
  Fixture f;
  Wire& wire = f.Up();
  wire.read_limit = limit;
  const std::string long_value(20000, 'z');
  Call first(Verb::kGet, "a");
  Call second(Verb::kGet, "b");
  Call third(Verb::kGet, "c");
  Call fourth(Verb::kGet, "d");
  first.Pieces({2, 1});
  third.Pieces({10000, 0, 10000});
  for (Call* call : {&first, &second, &third, &fourth}) f.link->Submit(*call);
  f.runtime.RunAll();
  wire.outgoing =
      "VA 3 c1 f0 t-1 s3\r\nabc\r\nVA 2 c1 f0 t-1 s2\r\nde\r\n"
      "VA 20000 c1 f0 t-1 s20000\r\n" +
      long_value + "\r\nEN\r\n";
  f.runtime.RunAll();
  CHECK(first.Into() == "abc");
  CHECK(second.value == "de");
  CHECK(third.Into() == long_value);
  CHECK(fourth.outcome == Outcome::kMiss);
  CHECK(fourth.ends == 1);
}

TEST_CASE("a request for a value is notified as parts of it come") {
  Fixture f;
  Wire& wire = f.Up();
  std::vector<std::size_t> placed;
  Call get(Verb::kGet, "a");
  Call behind(Verb::kGet, "b");
  get.Pieces({2, 4});
  get.context = &placed;
  get.on_placed = [](Request& request) {
    static_cast<std::vector<std::size_t>*>(request.context)
        ->push_back(request.placed);
  };
  get.done = [](Request&) {};
  f.link->Submit(get);
  f.link->Submit(behind);
  f.runtime.RunAll();
  for (const char* part :
       {"VA 6 c1 f0 t-1 s6\r\n", "a", "bcd", "ef\r\nEN\r\n"}) {
    wire.outgoing = part;
    f.runtime.RunAll();
  }
  CHECK(placed == std::vector<std::size_t>{1, 4});
  CHECK(get.placed == 6);
  CHECK(behind.outcome == Outcome::kMiss);
  f.link->Submit(get);
  CHECK(get.placed == 0);
  f.runtime.RunAll();
  wire.outgoing = "EN\r\n";
  f.runtime.RunAll();
}

TEST_CASE("a value of the wrong size is thrown away and the next one is read") {
  Fixture f;
  Wire& wire = f.Up();
  Call first(Verb::kGet, "a");
  Call second(Verb::kGet, "b");
  first.Pieces({4});
  second.Pieces({2});
  f.link->Submit(first);
  f.link->Submit(second);
  f.runtime.RunAll();
  wire.outgoing = "VA 3 c1 f0 t-1 s3\r\nabc\r\nVA 2 c1 f0 t-1 s2\r\nde\r\n";
  f.runtime.RunAll();
  CHECK(first.outcome == Outcome::kWrongSize);
  CHECK(first.item_bytes == 3);
  CHECK(first.Into() == "....");
  CHECK(second.outcome == Outcome::kOk);
  CHECK(second.Into() == "de");
}

TEST_CASE("a slow socket gets every byte once, in order") {
  Fixture f;
  Wire& wire = f.Up();
  wire.write_room = 0;
  std::deque<Call> calls;
  std::string expected;
  std::string replies;
  for (int i = 0; i < 3000; ++i) {
    calls.emplace_back(Verb::kSet, "k").Body(std::string(20, 'v'));
    calls.back().timeout = std::chrono::hours(1);
    f.link->Submit(calls.back());
    expected += "ms k 20 T0 F0\r\n" + std::string(20, 'v') + "\r\n";
    replies += "HD\r\n";
  }
  f.runtime.RunAll();
  CHECK(wire.received.empty());
  while (wire.received.size() < expected.size()) {
    const std::size_t before = wire.received.size();
    wire.write_room = 997;
    f.runtime.RunAll();
    REQUIRE(wire.received.size() > before);
  }
  CHECK(wire.received == expected);
  wire.outgoing = replies;
  f.runtime.RunAll();
  for (const Call& call : calls) REQUIRE(call.outcome == Outcome::kOk);
}

TEST_CASE("an answer before the value is written waits for the write") {
  Fixture f;
  Wire& wire = f.Up();
  Call set(Verb::kSet, "k");
  set.Body(std::string(100, 'v'));
  Call next(Verb::kGet, "k");
  f.link->Submit(set);
  f.link->Submit(next);
  wire.write_room = 30;
  f.runtime.RunAll();
  wire.outgoing = "SERVER_ERROR object too large for cache\r\n";
  f.runtime.RunAll();
  CHECK(set.ends == 0);  // its value is still needed
  SECTION("the write goes on") {
    wire.write_room = Wire::kAll;
    f.runtime.RunAll();
    CHECK(set.outcome == Outcome::kTooLarge);
    wire.outgoing = "EN\r\n";
    f.runtime.RunAll();
    CHECK(next.outcome == Outcome::kMiss);
  }
  SECTION("more bytes cannot be an answer") {
    wire.outgoing = "EN\r\n";
    f.runtime.RunAll();
    CHECK(f.link->state() == State::kFailed);
    CHECK(set.outcome == Outcome::kTooLarge);
    CHECK(next.outcome == Outcome::kNotSent);
  }
}

struct QuietSet : Call {
  explicit QuietSet(std::string name, std::string bytes = "v",
                    const void* run = "one run")
      : Call(Verb::kSet, std::move(name)) {
    Body(std::move(bytes));
    quiet_run = run;
  }
};

TEST_CASE("quiet requests are answered together, by a sentinel") {
  Fixture f;
  Wire& wire = f.Up();
  const std::uint64_t before = f.link->counters().requests.Get();
  QuietSet first("a");
  QuietSet second("b");
  Call get(Verb::kGet, "c");
  QuietSet third("d");
  f.link->Submit(first);
  f.link->Submit(second);
  f.link->Submit(get);
  f.link->Submit(third);
  f.runtime.RunAll();
  CHECK(wire.writes == 1);
  CHECK(wire.received ==
        "ms a 1 T0 F0 q\r\nv\r\nms b 1 T0 F0 q\r\nv\r\nmn\r\n"
        "mg c v c f t s\r\nms d 1 T0 F0 q\r\nv\r\nmn\r\n");
  CHECK(f.link->counters().requests.Get() == before + 4);

  SECTION("all went well") {
    wire.outgoing = "MN\r\n";
    f.runtime.RunAll();
    CHECK(first.outcome == Outcome::kOk);
    CHECK(second.outcome == Outcome::kOk);
    CHECK(get.ends == 0);
    CHECK(third.ends == 0);
    wire.outgoing = "EN\r\nMN\r\n";
    f.runtime.RunAll();
    CHECK(get.outcome == Outcome::kMiss);
    CHECK(third.outcome == Outcome::kOk);
  }
  SECTION("one was refused") {
    wire.outgoing = "SERVER_ERROR out of memory storing object\r\n";
    f.runtime.RunAll();
    CHECK(first.outcome == Outcome::kNoMemory);
    CHECK(second.ends == 0);
    wire.outgoing = "MN\r\nEN\r\nSERVER_ERROR busy\r\nMN\r\n";
    f.runtime.RunAll();
    CHECK(second.outcome == Outcome::kOk);
    CHECK(get.outcome == Outcome::kMiss);
    CHECK(third.outcome == Outcome::kServerError);
    CHECK(third.value == "SERVER_ERROR busy");
  }
  SECTION("more were refused than there were") {
    wire.outgoing = "NS\r\nNS\r\nNS\r\n";
    f.runtime.RunAll();
    CHECK(first.outcome == Outcome::kNotStored);
    CHECK(second.outcome == Outcome::kNotStored);
    CHECK(f.link->state() == State::kFailed);
    CHECK(get.outcome == Outcome::kLost);
    CHECK(third.outcome == Outcome::kLost);
  }
  SECTION("the connection breaks: what is not known to be done is lost") {
    wire.outgoing = "MN\r\n";
    f.runtime.RunAll();
    wire.closed = true;
    f.runtime.RunAll();
    CHECK(second.outcome == Outcome::kOk);
    CHECK(get.outcome == Outcome::kLost);
    CHECK(third.outcome == Outcome::kLost);
  }
  SECTION("nonsense in place of the sentinel's answer") {
    wire.outgoing = "HD\r\n";
    f.runtime.RunAll();
    CHECK(f.link->state() == State::kFailed);
    CHECK(first.outcome == Outcome::kLost);
  }
  CHECK(first.ends + second.ends + get.ends + third.ends == 4);
}

TEST_CASE("a chunked item is never stored quietly: its refusal would be lost") {
  Fixture f;  // of a server whose slab_chunk_max is 1000
  Wire& wire = f.Up();
  Call small(Verb::kSet, "k");
  Call chunked(Verb::kSet, "k");
  const std::string fits(800, 'v');
  const std::string too_long(1000, 'v');
  small.Body(fits).quiet_run = &f;
  chunked.Body(too_long).quiet_run = &f;
  f.link->Submit(small);
  f.link->Submit(chunked);
  f.runtime.RunAll();
  CHECK(wire.received.find("ms k 800 T0 F0 q\r\n") != std::string::npos);
  CHECK(wire.received.find("ms k 1000 T0 F0\r\n") != std::string::npos);
  wire.outgoing = "MN\r\nSERVER_ERROR Out of memory during read\r\n";
  f.runtime.RunAll();
  CHECK(small.outcome == Outcome::kOk);
  CHECK(chunked.outcome == Outcome::kNoMemory);
}

TEST_CASE("quiet deletes and quiet stores do not share a sentinel") {
  // memcached 1.6.18 answers a quiet delete of nothing, newer ones do not.
  const bool answered = GENERATE(true, false);
  Fixture f;
  Wire& wire = f.Up();
  Call drop(Verb::kDelete, "a");
  QuietSet set("b");
  drop.quiet_run = set.quiet_run;
  f.link->Submit(drop);
  f.link->Submit(set);
  f.runtime.RunAll();
  CHECK(wire.received == "md a q\r\nmn\r\nms b 1 T0 F0 q\r\nv\r\nmn\r\n");
  wire.outgoing = answered ? "NF\r\nMN\r\nMN\r\n" : "MN\r\nMN\r\n";
  f.runtime.RunAll();
  CHECK(drop.outcome == (answered ? Outcome::kMiss : Outcome::kOk));
  CHECK(set.outcome == Outcome::kOk);
}

TEST_CASE("a refusal is never reported of a quiet request of another run") {
  Fixture f;
  Wire& wire = f.Up();
  const int runs[2] = {};
  QuietSet first("a", "v", &runs[0]);
  QuietSet second("b", "v", &runs[1]);
  f.link->Submit(first);
  f.link->Submit(second);
  f.runtime.RunAll();
  CHECK(wire.received ==
        "ms a 1 T0 F0 q\r\nv\r\nmn\r\nms b 1 T0 F0 q\r\nv\r\nmn\r\n");
  wire.outgoing = "MN\r\nSERVER_ERROR out of memory\r\nMN\r\n";
  f.runtime.RunAll();
  CHECK(first.outcome == Outcome::kOk);
  CHECK(second.outcome == Outcome::kNoMemory);
}

TEST_CASE("a sentinel is not answered before what it is behind was written") {
  Fixture f;
  Wire& wire = f.Up();
  QuietSet set("a", "a longer value");
  f.link->Submit(set);
  wire.write_room = 20;
  f.runtime.RunAll();
  SECTION("a refusal may come early, and waits for the write") {
    wire.outgoing = "SERVER_ERROR object too large for cache\r\n";
    f.runtime.RunAll();
    CHECK(set.ends == 0);
    wire.write_room = Wire::kAll;
    f.runtime.RunAll();
    CHECK(set.outcome == Outcome::kTooLarge);
    wire.outgoing = "MN\r\n";
    f.runtime.RunAll();
    CHECK(f.link->state() == State::kUp);
  }
  SECTION("nothing else may") {
    wire.outgoing = "MN\r\n";
    f.runtime.RunAll();
    CHECK(f.link->state() == State::kFailed);
    CHECK(set.outcome == Outcome::kLost);
  }
}

TEST_CASE("quiet requests that fill many batches each get their sentinel") {
  Fixture f;
  Wire& wire = f.Up();
  constexpr int kMany = 400;  // of lines of 250 bytes and more: several batches
  std::deque<std::string> keys;
  std::deque<QuietSet> calls;
  for (int i = 0; i < kMany; ++i) {
    keys.push_back(std::to_string(1000 + i) + std::string(246, 'k'));
    f.link->Submit(calls.emplace_back(keys.back()));
  }
  f.runtime.RunAll();
  std::size_t sentinels = 0;
  for (std::size_t at = 0;
       (at = wire.received.find("mn\r\n", at)) != std::string::npos; ++at) {
    ++sentinels;
  }
  CHECK(sentinels > 1);
  CHECK(sentinels < 10);
  for (std::size_t i = 0; i < sentinels; ++i) wire.outgoing += "MN\r\n";
  f.runtime.RunAll();
  for (const Call& call : calls) REQUIRE(call.outcome == Outcome::kOk);
  CHECK(f.link->state() == State::kUp);
}

TEST_CASE("bytes without a request end the connection") {
  Fixture f;
  Wire& wire = f.Up();
  wire.outgoing = "HD\r\n";
  f.runtime.RunAll();
  CHECK(f.link->state() == State::kFailed);
  CHECK(f.link->last_error().starts_with("unexpected reply \""));
  CHECK_FALSE(wire.open);
}

TEST_CASE("a malformed reply ends the connection and what was sent is lost") {
  Fixture f;
  Wire& wire = f.Up();
  Call first(Verb::kGet, "a");
  Call second(Verb::kDelete, "b");
  f.link->Submit(first);
  f.link->Submit(second);
  f.runtime.RunAll();
  wire.outgoing = "VALUE a 0 1\r\nx\r\nEND\r\n";
  f.runtime.RunAll();
  CHECK(first.outcome == Outcome::kLost);
  CHECK(second.outcome == Outcome::kLost);
  CHECK(f.link->last_error().find("VALUE a 0 1") != std::string::npos);
  CHECK(f.link->connection() == 0);
  CHECK(f.link->facts().boot_mark.empty());
}

TEST_CASE("a connection cut at any byte loses what was sent, and only that") {
  const std::string replies =
      "VA 3 c1 f0 t-1 s3\r\nabc\r\nVA 2 c1 f0 t-1 s2\r\nde\r\n";
  const std::size_t first_end = replies.find("VA 2");
  for (std::size_t cut = 0; cut <= replies.size(); ++cut) {
    for (const int how : {0, ECONNRESET}) {
      CAPTURE(cut, how);
      Fixture f;
      Wire& wire = f.Up();
      Call first(Verb::kGet, "a");
      Call second(Verb::kGet, "b");
      first.Pieces({3});
      f.link->Submit(first);
      f.link->Submit(second);
      f.runtime.RunAll();
      wire.outgoing = replies.substr(0, cut);
      if (how == 0) {
        wire.closed = true;
        f.runtime.RunAll();
      } else {
        f.runtime.RunAll();
        wire.broken = how;
        f.runtime.RunAll();
      }
      REQUIRE(first.ends == 1);
      REQUIRE(second.ends == 1);
      REQUIRE((first.outcome == Outcome::kOk) == (cut >= first_end));
      REQUIRE((second.outcome == Outcome::kOk) == (cut == replies.size()));
      if (cut < first_end) REQUIRE(first.outcome == Outcome::kLost);
      if (cut < replies.size()) REQUIRE(second.outcome == Outcome::kLost);
      REQUIRE(f.link->state() == State::kUp);  // made anew at once
      REQUIRE(f.link->connection() == 2);
      REQUIRE(f.link->last_error() == (how == 0
                                           ? "the server closed the connection"
                                           : "connection reset by peer"));
    }
  }
}

TEST_CASE("what had no byte written was not sent, at every stop of the write") {
  const std::string one = "ms k 3 T0 F0\r\nabc\r\n";
  for (std::size_t room = 0; room <= 3 * one.size(); ++room) {
    CAPTURE(room);
    Fixture f;
    Wire& wire = f.Up();
    wire.write_room = room;
    std::deque<Call> calls;
    for (int i = 0; i < 3; ++i) {
      calls.emplace_back(Verb::kSet, "k").Body("abc");
      f.link->Submit(calls.back());
    }
    f.runtime.RunAll();
    wire.closed = true;
    f.runtime.RunAll();
    for (std::size_t i = 0; i < 3; ++i) {
      REQUIRE(calls[i].outcome ==
              (room > i * one.size() ? Outcome::kLost : Outcome::kNotSent));
    }
  }
}

TEST_CASE("a late reply fails the connection at its deadline, not before") {
  Fixture f;
  Wire& wire = f.Up();
  Call slow(Verb::kGet, "a");
  Call patient(Verb::kGet, "b");
  patient.timeout = std::chrono::seconds(10);
  f.link->Submit(patient);
  f.runtime.Pass(std::chrono::milliseconds(400));
  f.link->Submit(slow);  // the link's own timeout: one second
  f.runtime.Pass(std::chrono::milliseconds(999));
  CHECK(slow.ends == 0);
  SECTION("it never comes") {
    f.runtime.Pass(std::chrono::milliseconds(1));
    CHECK(slow.outcome == Outcome::kLost);
    CHECK(patient.outcome == Outcome::kLost);
    CHECK(f.link->last_error() == "no reply in time");
  }
  SECTION("both come in time, and the timer hurts no later request") {
    wire.outgoing = "EN\r\nEN\r\n";
    f.runtime.RunAll();
    CHECK(slow.outcome == Outcome::kMiss);
    Call later(Verb::kGet, "c");
    f.link->Submit(later);
    f.runtime.Pass(std::chrono::milliseconds(999));
    CHECK(f.link->state() == State::kUp);
    CHECK(later.ends == 0);
    wire.outgoing = "EN\r\n";
    f.runtime.Pass(std::chrono::seconds(100));
    CHECK(later.outcome == Outcome::kMiss);
    CHECK(f.link->state() == State::kUp);
  }
}

TEST_CASE("the time that the thread itself is away is not the server's") {
  using std::chrono::milliseconds;
  Fixture f;
  SECTION("for a reply") {
    // It is back behind the deadline, or just before.
    const auto [at, away] = GENERATE(table<int, int>({{0, 5000}, {300, 650}}));
    f.Up();
    Call get(Verb::kGet, "a");
    f.link->Submit(get);
    f.runtime.Pass(milliseconds(at));
    f.runtime.Stall(milliseconds(away));
    f.runtime.Pass(milliseconds(999));
    CHECK(get.ends == 0);
    f.runtime.Pass(milliseconds(1));
    CHECK(get.outcome == Outcome::kLost);
  }
  SECTION("for a connection") {
    const auto [at, away] = GENERATE(table<int, int>({{0, 5000}, {130, 360}}));
    f.runtime.on_connect = [](Wire& wire) { wire.silent = true; };
    Call get(Verb::kGet, "a");
    f.link->Submit(get);
    f.runtime.Pass(milliseconds(at));
    f.runtime.Stall(milliseconds(away));
    f.runtime.Pass(milliseconds(499));
    CHECK(get.ends == 0);
    CHECK(f.link->state() == State::kConnecting);
    f.runtime.Pass(milliseconds(1));
    CHECK(get.outcome == Outcome::kNotSent);
  }
}

TEST_CASE("a request that could not be written in time was not sent") {
  Fixture f;
  Wire& wire = f.Up();
  wire.write_room = 0;
  Call get(Verb::kGet, "a");
  f.link->Submit(get);
  f.runtime.Pass(std::chrono::seconds(1));
  CHECK(get.outcome == Outcome::kNotSent);
}

TEST_CASE("after a failure requests end at once while probes back off") {
  Fixture f;
  f.runtime.on_connect = [](Wire& wire) { wire.refuse = "connection refused"; };
  Call first(Verb::kGet, "a");
  f.link->Submit(first);
  CHECK(first.ends == 0);
  f.runtime.RunAll();
  CHECK(first.outcome == Outcome::kNotSent);
  CHECK(f.link->state() == State::kFailed);
  CHECK(f.link->last_error() == "connection refused");

  Call second(Verb::kGet, "a");
  const TimePoint before = f.runtime.Now();
  f.link->Submit(second);
  CHECK(second.ends == 0);  // never from inside Submit
  f.runtime.RunAll();
  CHECK(second.outcome == Outcome::kNotSent);
  CHECK(f.runtime.Now() == before);

  // Each pause is between half and the whole of the doubled one.
  Duration limit = std::chrono::milliseconds(50);
  TimePoint last = f.runtime.Now();
  for (int i = 0; i < 40; ++i) {
    const std::size_t tries = f.runtime.wires.size();
    f.runtime.RunUntil([&] { return f.runtime.wires.size() > tries; });
    const Duration pause = f.runtime.Now() - last;
    CAPTURE(i, pause.count(), limit.count());
    REQUIRE(pause >= limit / 2);
    REQUIRE(pause <= limit);
    last = f.runtime.Now();
    f.runtime.RunAll();
    limit = std::min<Duration>(2 * limit, std::chrono::seconds(2));
  }

  SECTION("a probe that is on its way holds up no request") {
    f.runtime.on_connect = [](Wire& wire) { wire.silent = true; };
    const std::size_t tries = f.runtime.wires.size();
    f.runtime.RunUntil([&] { return f.runtime.wires.size() > tries; });
    CHECK(f.link->state() == State::kFailed);
    f.link->Submit(second);
    f.runtime.RunAll();
    CHECK(second.ends == 2);
    CHECK(second.outcome == Outcome::kNotSent);
  }
  SECTION("once it is back requests flow, and the backoff begins anew") {
    f.runtime.on_connect = Greet;
    f.runtime.RunUntil([&] { return f.link->state() == State::kUp; });
    Wire& wire = f.Up();
    const TimePoint failed = f.runtime.Now();
    const std::size_t tries = f.runtime.wires.size();
    wire.closed = true;
    f.runtime.RunAll();
    f.runtime.RunUntil([&] { return f.runtime.wires.size() > tries; });
    CHECK(f.runtime.Now() - failed <= std::chrono::milliseconds(50));
  }
}

TEST_CASE("a lazy request leaves with the next one, or alone after a while") {
  Fixture f;
  Wire& wire = f.Up();
  Call lazy(Verb::kDelete, "old");
  lazy.lazy = true;
  f.link->Submit(lazy);
  f.runtime.RunAll();
  CHECK(wire.writes == 0);
  SECTION("with the next") {
    Call next(Verb::kGet, "new");
    f.link->Submit(next);
    f.runtime.RunAll();
    CHECK(wire.writes == 1);
    CHECK(wire.received.starts_with("md old"));
    wire.outgoing = "HD\r\nEN\r\n";
    f.runtime.RunAll();
    CHECK(next.outcome == Outcome::kMiss);
  }
  SECTION("alone") {
    const TimePoint before = f.runtime.Now();
    f.runtime.RunUntil([&] { return wire.writes == 1; });
    CHECK(f.runtime.Now() - before <= std::chrono::milliseconds(20));
    wire.outgoing = "HD\r\n";
    f.runtime.RunAll();
  }
  SECTION("when asked to") {
    f.link->Flush();
    f.runtime.RunAll();
    CHECK(wire.writes == 1);
    wire.outgoing = "HD\r\n";
    f.runtime.RunAll();
  }
  CHECK(lazy.ends == 1);
  CHECK(lazy.outcome == Outcome::kOk);
}

TEST_CASE("a server that takes no connection, or does not greet, is given up") {
  const bool connects = GENERATE(false, true);
  Fixture f;
  f.runtime.on_connect = [connects](Wire& wire) { wire.silent = !connects; };
  Call get(Verb::kGet, "a");
  f.link->Submit(get);
  f.runtime.Pass(std::chrono::milliseconds(499));
  CHECK(get.ends == 0);
  f.runtime.Pass(std::chrono::milliseconds(1));
  CHECK(get.outcome == Outcome::kNotSent);
  CHECK(f.link->last_error() == (connects
                                     ? "connected, but no answer within 500 ms"
                                     : "no connection within 500 ms"));
}

TEST_CASE("another service at the port is recognised by what it sends") {
  struct Stranger {
    std::string sends;
    bool closes;
    std::string error;
  };
  const auto c = GENERATE(values<Stranger>({
      {"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n", true,
       "unexpected reply \"HTTP/1.1 400 Bad Request\": is it a memcached?"},
      {"-ERR unknown command\r\n", false,
       "unexpected reply \"-ERR unknown command\": is it a memcached?"},
      {"\x15\x03\x01", true, "unexpected reply \"???\": is it a memcached?"},
      {"", true,
       "the server closed the connection without an answer: is it a "
       "memcached?"},
  }));
  CAPTURE(c.error);
  Fixture f;
  f.runtime.on_connect = [&c](Wire& wire) {
    wire.on_write = [&c](Wire& self) {
      self.outgoing += c.sends;
      self.closed = c.closes;
      self.on_write = {};
    };
  };
  Call get(Verb::kGet, "a");
  f.link->Submit(get);
  f.runtime.RunAll();
  CHECK(get.outcome == Outcome::kNotSent);
  CHECK(f.link->last_error() == c.error);
}

TEST_CASE("a request's deadline also counts while the link connects") {
  Fixture f;
  f.runtime.on_connect = [](Wire& wire) { wire.silent = true; };
  Call get(Verb::kGet, "a");
  get.timeout = std::chrono::milliseconds(10);
  f.link->Submit(get);
  f.runtime.Pass(std::chrono::milliseconds(10));
  CHECK(get.outcome == Outcome::kNotSent);
}

TEST_CASE("memcached before 1.6 is refused by its version") {
  struct Version {
    std::string text;
    bool good;
  };
  const auto version = GENERATE(values<Version>({{"1.5.22", false},
                                                 {"1.4.0", false},
                                                 {"0.9", false},
                                                 {"", false},
                                                 {"nonsense", false},
                                                 {"1.6.0", true},
                                                 {"1.6.18_3", true},
                                                 {"1.10.0", true},
                                                 {"2.0", true}}));
  CAPTURE(version.text);
  Fixture f;
  f.runtime.on_connect = [&](Wire& wire) {
    Greet(wire);
    wire.outgoing = "VERSION " + version.text + "\r\n";
    wire.on_write = [](Wire& self) {
      self.outgoing += std::string(kFacts).substr(16) + kNonce;
      self.on_write = {};
    };
  };
  Call get(Verb::kGet, "a");
  f.link->Submit(get);
  // The version waits in the stream before the greeting is written.
  f.runtime.RunAll();
  if (version.good) {
    CHECK(f.link->state() == State::kUp);
    f.link.reset();
    return;
  }
  CHECK(f.link->state() == State::kRefused);
  CHECK(f.link->last_error() ==
        "memcached " + version.text + " is too old: 1.6 or newer is needed");
  CHECK(get.outcome == Outcome::kNotSent);
  CHECK_FALSE(f.runtime.last().open);
  // It is tried again, and taken once it is new enough.
  f.runtime.on_connect = Greet;
  f.runtime.RunUntil([&] { return f.link->state() == State::kUp; });
  CHECK(f.link->state() == State::kUp);
}

TEST_CASE("an ersproxy is no server, though it answers as one") {
  Fixture f;
  f.runtime.on_connect = [](Wire& wire) {
    wire.on_write = [](Wire& self) {
      std::string facts = kFacts;
      facts.insert(facts.find("STAT uptime"), "STAT ers_version 0.1.0\r\n");
      self.outgoing += facts + kNonce;
      self.on_write = {};
    };
  };
  Call get(Verb::kGet, "a");
  f.link->Submit(get);
  f.runtime.RunAll();
  CHECK(f.link->state() == State::kRefused);
  CHECK(f.link->last_error() ==
        "it is an ersproxy: list the memcached servers behind it, or give its "
        "address as --proxy");
  CHECK(get.outcome == Outcome::kNotSent);
}

// Answers the greeting with `nonce` instead, then what follows with `replies`,
// one write each; collects what was asked.
struct NonceScript {
  std::string nonce;
  std::deque<std::string> replies;
  std::vector<std::string> asked = {};

  void Install(FakeRuntime& runtime) {
    runtime.on_connect = [this](Wire& wire) {
      wire.on_write = [this](Wire& self) {
        if (self.received.ends_with(kGreeting)) {
          self.outgoing += kFacts + nonce;
        } else if (!replies.empty()) {
          asked.push_back(self.received);
          self.outgoing += replies.front();
          replies.pop_front();
        }
        self.received.clear();
      };
    };
  }
};

TEST_CASE("a missing nonce is written by cas, and a lost race is read again") {
  struct Case {
    NonceScript script;
    std::string mark;   // "": not up
    std::string error;  // of a link that is not up
  };
  const std::string created = "VA 0 c5 f0 t-1 s0 W\r\n\r\n";
  const std::string stub = "VA 0 c6 f0 t59 s0 Z\r\n\r\n";
  std::vector<Case> cases = {
      {{created, {"STORED\r\n"}}, "7/1000/0123456789abcdef", ""},
      {{stub, {"STORED\r\n"}}, "7/1000/0123456789abcdef", ""},
      {{created, {"EXISTS\r\n", kNonce}}, "7/1000/abcd", ""},
      {{created, {"NOT_FOUND\r\n", created, "STORED\r\n"}},
       "7/1000/0123456789abcdef",
       ""},
      {{"EN\r\n", {}}, "", "no memory"},
      {{created, {"SERVER_ERROR out of memory storing object\r\n"}},
       "",
       "no memory"},
      {{"VA 3 c5 f0 t-1 s3\r\nxyz\r\n", {}}, "", "ers!boot"},
      {{created, {"ERROR\r\n"}}, "", "ERROR"},
      {{"CLIENT_ERROR no\r\n", {}}, "", "CLIENT_ERROR no"},
  };
  Case endless = {{created, {}}, "", "does not stay"};
  for (int i = 0; i < 20; ++i) {
    endless.script.replies.push_back("EXISTS\r\n");
    endless.script.replies.push_back(stub);
  }
  cases.push_back(endless);
  for (Case& c : cases) {
    CAPTURE(c.script.nonce, c.mark, c.error);
    Fixture f;
    c.script.Install(f.runtime);
    Call get(Verb::kGet, "a");
    f.link->Submit(get);
    f.runtime.RunAll();
    if (c.mark.empty()) {
      CHECK(get.outcome == Outcome::kNotSent);
      CHECK(f.link->last_error().find(c.error) != std::string::npos);
    } else {
      CHECK(f.link->facts().boot_mark == c.mark);
    }
    if (!c.script.asked.empty()) {
      const std::string token = c.script.nonce == stub ? "6" : "5";
      CHECK(c.script.asked[0] ==
            "cas ers!boot 0 0 16 " + token + "\r\n0123456789abcdef\r\n");
    }
    f.link.reset();
  }
}

struct Guard : LinkGuard {
  bool Accept(int member, const ServerFacts& facts, std::string* why) override {
    members.push_back(member);
    marks.push_back(facts.boot_mark);
    if (!accept) *why = "not in the view";
    return accept;
  }
  bool accept = true;
  std::vector<int> members;
  std::vector<std::string> marks;
};

TEST_CASE("the guard decides before any request is sent") {
  Guard guard;
  guard.accept = false;
  Fixture f(&guard);
  Call get(Verb::kGet, "a");
  f.link->Submit(get);
  f.runtime.RunAll();
  CHECK(f.link->state() == State::kRefused);
  CHECK(f.link->last_error() == "not in the view");
  CHECK(get.outcome == Outcome::kNotSent);
  CHECK(f.runtime.last().received.empty());
  CHECK_FALSE(f.runtime.last().open);
  f.link->Submit(get);
  f.runtime.RunAll();
  CHECK(get.ends == 2);

  guard.accept = true;
  f.runtime.RunUntil([&] { return f.link->state() == State::kUp; });
  f.Up();
  CHECK(guard.members == std::vector<int>{3, 3});
  CHECK(guard.marks[1] == "7/1000/abcd");
}

TEST_CASE("Retry tries a refused server at once, and requests wait for that") {
  Guard guard;
  guard.accept = false;
  Fixture f(&guard);
  f.link->Retry();  // idle: the first request connects
  CHECK(f.link->state() == State::kIdle);
  Call get(Verb::kGet, "a");
  f.link->Submit(get);
  f.runtime.RunAll();
  REQUIRE(f.link->state() == State::kRefused);

  guard.accept = true;
  f.link->Retry();
  CHECK(f.link->state() == State::kConnecting);
  f.link->Submit(get);
  CHECK(get.outcome == Outcome::kPending);
  f.runtime.RunAll();
  CHECK(f.link->state() == State::kUp);
  CHECK(f.runtime.last().received == "mg a v c f t s\r\n");
  const auto connections = f.runtime.wires.size();
  f.link->Retry();  // up: nothing is to be tried
  CHECK(f.link->state() == State::kUp);
  CHECK(f.runtime.wires.size() == connections);
  f.link.reset();
}

TEST_CASE("a request for another connection or boot is not sent") {
  Fixture f;
  Wire& wire = f.Up();
  Call right(Verb::kDelete, "a");
  right.only_connection = 1;
  right.only_boot = "7/1000/abcd";
  Call connection(Verb::kDelete, "b");
  connection.only_connection = 2;
  Call boot(Verb::kDelete, "c");
  boot.only_boot = "7/1000/abce";
  Call after(Verb::kDelete, "d");
  for (Call* call : {&right, &connection, &boot, &after}) {
    f.link->Submit(*call);
  }
  f.runtime.RunAll();
  CHECK(wire.received == "md a\r\nmd d\r\n");
  CHECK(connection.outcome == Outcome::kNotSent);
  CHECK(boot.outcome == Outcome::kNotSent);
  CHECK(right.ends == 0);
  f.link.reset();
}

TEST_CASE("Abort loses what was sent and probes again") {
  Fixture f;
  Wire& wire = f.Up();
  Call sent(Verb::kGet, "a");
  f.link->Submit(sent);
  f.runtime.RunAll();
  Call waiting(Verb::kGet, "b");
  f.link->Submit(waiting);
  f.link->Abort("left the view");
  CHECK(sent.ends == 0);
  CHECK_FALSE(wire.open);
  f.runtime.RunAll();
  CHECK(sent.outcome == Outcome::kLost);
  CHECK(waiting.outcome == Outcome::kNotSent);
  CHECK(f.link->last_error() == "left the view");
  f.runtime.RunUntil([&] { return f.link->state() == State::kUp; });
  CHECK(f.link->connection() == 2);
}

TEST_CASE("destroying the link ends what is open at once") {
  Fixture f;
  f.Up();
  Call sent(Verb::kGet, "a");
  f.link->Submit(sent);
  f.runtime.RunAll();
  Call waiting(Verb::kGet, "b");
  f.link->Submit(waiting);
  f.link.reset();
  CHECK(sent.outcome == Outcome::kLost);
  CHECK(waiting.outcome == Outcome::kNotSent);
  CHECK(sent.ends + waiting.ends == 2);
  f.runtime.RunAll();  // what was deferred finds nothing
}

TEST_CASE("an answer may destroy the link or send the next request") {
  Fixture f;
  Wire& wire = f.Up();
  SECTION("destroy") {
    Call first(Verb::kGet, "a");
    Call second(Verb::kGet, "b");
    first.context = &f;
    first.done = [](Request& request) {
      static_cast<Fixture*>(request.context)->link.reset();
    };
    f.link->Submit(first);
    f.link->Submit(second);
    f.runtime.RunAll();
    wire.outgoing = "EN\r\n";
    f.runtime.RunAll();
    CHECK(first.outcome == Outcome::kMiss);
    CHECK(second.outcome == Outcome::kLost);
    CHECK(second.ends == 1);
  }
  SECTION("send the same again") {
    Call again(Verb::kGet, "a");
    again.context = &f;
    again.done = [](Request& request) {
      ++static_cast<Call&>(request).ends;
      static_cast<Fixture*>(request.context)->link->Submit(request);
    };
    f.link->Submit(again);
    for (int i = 1; i <= 3; ++i) {
      f.runtime.RunAll();
      CHECK(wire.received == "mg a v c f t s\r\n");
      wire.received.clear();
      wire.outgoing = "EN\r\n";
      f.runtime.RunAll();
      CHECK(again.ends == i);
    }
    again.done = [](Request&) {};
    f.link.reset();
  }
}

}  // namespace
}  // namespace ers::net
