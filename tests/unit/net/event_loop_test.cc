#include "net/event_loop.h"

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "net_calls.h"
#include "unit/net/sockets.h"

namespace ers::net {
namespace {

using test::Handler;
using test::Listener;
using test::RunUntil;

TEST_CASE("a stream connects, writes, reads and ends over every kind") {
  const auto kind = GENERATE(Listener::Kind::kIpv4, Listener::Kind::kIpv6,
                             Listener::Kind::kUnix);
  Listener listener(kind);
  if (!listener.usable) {
    WARN("this machine has no such addresses");
    return;
  }
  const auto loop = NewEventLoop();
  Handler handler;
  handler.stream = loop->Connect(listener.endpoint, handler);
  CHECK(handler.connected == 0);  // never from inside Connect
  REQUIRE(RunUntil(*loop, [&] { return handler.connected == 1; }));
  const int peer = listener.Accept();
  REQUIRE(peer >= 0);

  char hello[] = "hello";
  char world[] = " world";
  const iovec pieces[] = {{hello, 5}, {world, 6}};
  CHECK(handler.stream->WriteV(pieces, 2) == 11);
  char buffer[32];
  CHECK(recv(peer, buffer, 11, MSG_WAITALL) == 11);
  CHECK(std::string(buffer, 11) == "hello world");

  char none[8];
  const iovec nothing{none, sizeof none};
  CHECK(handler.stream->ReadV(&nothing, 1) == -1);
  CHECK(errno == EAGAIN);
  const std::string reply(5000, 'r');  // several reads: level-triggered
  CHECK(send(peer, reply.data(), reply.size(), 0) == 5000);
  REQUIRE(RunUntil(*loop, [&] { return handler.received == reply; }));
  CHECK(handler.writable == 0);
  close(peer);
  REQUIRE(RunUntil(*loop, [&] { return handler.ended; }));
}

// Invariant V1. The end of a killed process's connections is the same.
TEST_CASE("what the peer has not got when a stream is closed is never sent") {
  Listener listener(Listener::Kind::kIpv4);
  REQUIRE(listener.usable);
  const auto loop = NewEventLoop();
  Handler handler;
  handler.stream = loop->Connect(listener.endpoint, handler);
  REQUIRE(RunUntil(*loop, [&] { return handler.connected == 1; }));
  const int peer = listener.Accept();
  REQUIRE(peer >= 0);
  // More than the peer's kernel takes while nothing is read there.
  std::string much(std::size_t{64} << 20, 'x');
  const iovec piece{much.data(), much.size()};
  const ssize_t written = handler.stream->WriteV(&piece, 1);
  REQUIRE(written > 0);
  handler.stream.reset();
  ssize_t got = 0;
  ssize_t moved = 0;
  while ((moved = recv(peer, much.data(), much.size(), 0)) > 0) got += moved;
  CHECK(moved == -1);
  CHECK(errno == ECONNRESET);
  CHECK(got < written);
  close(peer);
}

TEST_CASE("a host name tries each of its addresses") {
  Listener listener(Listener::Kind::kIpv4);
  Endpoint endpoint = listener.endpoint;
  endpoint.host = "localhost";  // often ::1 first, where no server listens
  const auto loop = NewEventLoop();
  Handler handler;
  handler.stream = loop->Connect(endpoint, handler);
  REQUIRE(RunUntil(*loop, [&] { return handler.connected == 1; }));
}

TEST_CASE("failures to connect come from the loop, with their reason") {
  const auto loop = NewEventLoop();
  Handler handler;
  SECTION("nothing listens on the port") {
    Listener listener(Listener::Kind::kIpv4);
    listener.Close();
    handler.stream = loop->Connect(listener.endpoint, handler);
    CHECK(handler.failure.empty());
    REQUIRE(RunUntil(*loop, [&] { return !handler.failure.empty(); }));
    CHECK(handler.failure == "connection refused");
  }
  SECTION("there is no such socket") {
    handler.stream = loop->Connect(*ParseEndpoint("/nowhere/at/all"), handler);
    CHECK(handler.failure.empty());
    REQUIRE(RunUntil(*loop, [&] { return !handler.failure.empty(); }));
    CHECK(handler.failure == "no such file or directory");
  }
  SECTION("there is no such host") {
    handler.stream = loop->Connect(*ParseEndpoint("a..b:1"), handler);
    REQUIRE(RunUntil(*loop, [&] { return !handler.failure.empty(); }));
    CHECK(handler.failure.starts_with("cannot resolve the host name: "));
  }
  SECTION("a stream destroyed before says nothing") {
    handler.stream = loop->Connect(*ParseEndpoint("/nowhere/at/all"), handler);
    handler.stream.reset();
    bool fired = false;
    const auto timer = loop->NewTimer([&] { fired = true; });
    timer->Start(std::chrono::milliseconds(5));
    REQUIRE(RunUntil(*loop, [&] { return fired; }));
    CHECK(handler.failure.empty());
  }
}

TEST_CASE("a full socket says when it takes bytes again, and no SIGPIPE") {
  Listener listener(Listener::Kind::kUnix);
  const auto loop = NewEventLoop();
  Handler handler;
  handler.stream = loop->Connect(listener.endpoint, handler);
  REQUIRE(RunUntil(*loop, [&] { return handler.connected == 1; }));
  const int peer = listener.Accept();
  std::string chunk(65536, 'c');
  const iovec piece{chunk.data(), chunk.size()};
  std::size_t written = 0;
  ssize_t moved = 0;
  while ((moved = handler.stream->WriteV(&piece, 1)) > 0) {
    written += static_cast<std::size_t>(moved);
  }
  CHECK(errno == EAGAIN);
  handler.stream->WantWrite(true);
  std::string sink(written, '\0');
  REQUIRE(recv(peer, sink.data(), written, MSG_WAITALL) ==
          static_cast<ssize_t>(written));
  REQUIRE(RunUntil(*loop, [&] { return handler.writable > 0; }));
  handler.stream->WantWrite(false);

  close(peer);
  while ((moved = handler.stream->WriteV(&piece, 1)) > 0) {
  }
  CHECK(errno == EPIPE);
}

struct Note : Deferred {
  Note(std::vector<int>& to, int what) : list(to), number(what) {
    run = [](Deferred& self) {
      auto& note = static_cast<Note&>(self);
      note.list.push_back(note.number);
      if (note.then) note.then();
    };
  }
  std::vector<int>& list;
  int number;
  std::function<void()> then;
};

TEST_CASE("what is deferred runs once, in order, before the loop waits") {
  const auto loop = NewEventLoop();
  std::vector<int> ran;
  Note first(ran, 1);
  Note second(ran, 2);
  Note third(ran, 3);
  int again = 2;
  first.then = [&] {
    loop->Defer(third);
    if (again-- > 0) loop->Defer(first);  // from inside its own run
  };
  loop->Defer(first);
  loop->Defer(second);
  loop->Defer(first);  // queued already
  // With nothing else to wake it up, the loop would wait for ever.
  loop->RunUntil([&] { return ran.size() == 7; });
  CHECK(ran == std::vector<int>{1, 2, 3, 1, 3, 1, 3});
}

TEST_CASE("what the callbacks of one turn deferred runs behind all of them") {
  const auto loop = NewEventLoop();
  std::vector<int> ran;
  Note late(ran, 5);
  late.late = true;
  Note first(ran, 3);
  Note second(ran, 4);
  // It also stays behind what is deferred while others run.
  first.then = [&] { loop->Defer(second); };
  loop->Post([&] {
    ran.push_back(1);
    loop->Defer(late);
    loop->Defer(first);
  });
  loop->Post([&] { ran.push_back(2); });
  loop->RunUntil([&] { return ran.size() == 5; });
  CHECK(ran == std::vector<int>{1, 2, 3, 4, 5});
}

TEST_CASE("what is still deferred at the end of the loop runs") {
  std::vector<int> ran;
  Note note(ran, 1);
  {
    const auto loop = NewEventLoop();
    loop->Defer(note);
  }
  CHECK(ran == std::vector<int>{1});
}

TEST_CASE("tasks posted by many threads all run on the loop's thread") {
  const auto loop = NewEventLoop();
  constexpr int kThreads = 4;
  constexpr int kTasks = 5000;
  int ran = 0;  // no atomic: the loop's thread alone touches it
  const auto self = std::this_thread::get_id();
  bool elsewhere = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < kTasks; ++j) {
        loop->Post([&] {
          ++ran;
          elsewhere = elsewhere || std::this_thread::get_id() != self;
        });
      }
    });
  }
  CHECK(RunUntil(*loop, [&] { return ran == kThreads * kTasks; }));
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(elsewhere);
}

TEST_CASE("timers fire in order, move, stop, and may destroy themselves") {
  const auto loop = NewEventLoop();
  const bool fine = GENERATE(false, true);
  const auto new_timer = [&loop, fine](std::function<void()> fire) {
    return fine ? loop->NewFineTimer(std::move(fire))
                : loop->NewTimer(std::move(fire));
  };
  std::vector<int> fired;
  const TimePoint start = loop->Now();
  auto late = new_timer([&] { fired.push_back(2); });
  auto early = new_timer([&] { fired.push_back(1); });
  auto moved = new_timer([&] { fired.push_back(3); });
  auto stopped = new_timer([&] { fired.push_back(4); });
  auto destroyed = new_timer([&] { fired.push_back(5); });
  std::unique_ptr<Timer> own;
  own = new_timer([&fired, &own] {
    own.reset();
    fired.push_back(0);
  });
  own->Start(Duration{-1});
  late->Start(std::chrono::milliseconds(10));
  early->Start(std::chrono::milliseconds(5));
  moved->Start(std::chrono::milliseconds(1));
  moved->Start(std::chrono::milliseconds(20));
  stopped->Start(std::chrono::milliseconds(1));
  stopped->Stop();
  destroyed->Start(std::chrono::milliseconds(1));
  destroyed.reset();
  REQUIRE(RunUntil(*loop, [&] { return fired.size() == 4; }));
  CHECK(fired == std::vector<int>{0, 1, 2, 3});
  CHECK(loop->Now() - start >= std::chrono::milliseconds(20));
}

TEST_CASE("two loops draw different numbers") {
  const auto a = NewEventLoop();
  const auto b = NewEventLoop();
  std::set<std::uint64_t> drawn;
  for (int i = 0; i < 1000; ++i) {
    drawn.insert(a->Random());
    drawn.insert(b->Random());
  }
  CHECK(drawn.size() == 2000);
}

}  // namespace
}  // namespace ers::net
