// The bytes of one client: where they go, when they leave, and what is left of
// the stream at each of its ends.
#include "server/client_stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

using namespace ers;
using namespace ers::proxy;

namespace {

// A client at the other end of a pair of sockets.
struct Fixture {
  Fixture() {
    std::array<int, 2> ends{};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) ==
            0);
    client = ends[0];
    stream = std::make_unique<ClientStream>(
        *loop, ends[1], "", buffers, counters, account, [this] { ++progress; });
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;
  ~Fixture() {
    stream.reset();
    if (client >= 0) close(client);
  }

  void Write(std::string_view bytes) const {
    REQUIRE(write(client, bytes.data(), bytes.size()) ==
            static_cast<ssize_t>(bytes.size()));
  }
  // All that has come to the client.
  [[nodiscard]] std::string Read() const {
    std::string all;
    std::array<char, 65536> part;
    for (;;) {
      const ssize_t got = read(client, part.data(), part.size());
      if (got <= 0) return all;
      all.append(part.data(), static_cast<std::size_t>(got));
    }
  }
  void Leave() { close(std::exchange(client, -1)); }
  // What is due on the loop.
  void Turn() {
    bool done = false;
    loop->Post([&done] { done = true; });
    loop->RunUntil([&done] { return done; });
  }
  net::Task<void> Await(net::Task<void> what) {
    co_await std::move(what);
    ++resumed;
  }

  std::unique_ptr<net::EventLoop> loop = net::NewEventLoop();
  Counters counters;
  MemoryBudget budget{*loop, counters};
  MemoryAccount account{budget};
  ReadBuffers buffers;
  int progress = 0;
  int resumed = 0;
  int client = -1;
  std::unique_ptr<ClientStream> stream;
};

TEST_CASE("what came before it was made is read first") {
  Fixture fixture;
  fixture.stream.reset();
  std::array<int, 2> ends{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) ==
          0);
  fixture.stream = std::make_unique<ClientStream>(
      *fixture.loop, ends[1], "came before", fixture.buffers, fixture.counters,
      fixture.account, [] {});
  CHECK(fixture.stream->input() == "came before");
  CHECK(fixture.stream->socket() == ends[1]);
  fixture.stream->input() = {};
  REQUIRE(write(ends[0], "later", 5) == 5);
  const auto more = fixture.loop.get();
  CHECK(net::SyncWait(*more, fixture.stream->ReadMore()));
  CHECK(fixture.stream->input() == "later");
  close(ends[0]);
}

Value ValueOf(std::size_t bytes) {
  Value value;
  REQUIRE(value.Resize(bytes));
  std::fill_n(value.data(), bytes, std::byte{'v'});
  return value;
}

}  // namespace

TEST_CASE("bytes go straight as far as they fit, and the rest to the input") {
  Fixture f;
  f.Write("valuerest");
  std::array<std::byte, 5> straight{};
  CHECK(net::SyncWait(*f.loop, f.stream->ReadMore(straight)));
  CHECK(f.stream->placed() == 5);
  CHECK(std::string_view(reinterpret_cast<const char*>(straight.data()), 5) ==
        "value");
  CHECK(f.stream->input() == "rest");
  CHECK(f.counters.Get(Counter::kBytesRead) == 9);
}

TEST_CASE("what one turn sends leaves behind it, in order") {
  Fixture f;
  MemoryHold hold(f.account, WaitsFor::kServers);
  REQUIRE(hold.TryTake(3));
  f.stream->Send("a ");
  f.stream->Send(ValueOf(3), hold);
  f.stream->Send(" b");
  CHECK(f.Read().empty());
  CHECK(f.account.held == 3);
  f.Turn();
  CHECK(f.Read() == "a vvv b");
  CHECK(f.account.held == 0);
  CHECK(f.progress > 0);
  CHECK(f.stream->all_sent());
}

TEST_CASE("a drained stream reads no more and still sends") {
  Fixture f;
  f.Write("more");
  f.stream->Drain();
  CHECK_FALSE(net::SyncWait(*f.loop, f.stream->ReadMore()));
  CHECK_FALSE(f.stream->closing());
  f.stream->Send("answer");
  f.Turn();
  CHECK(f.Read() == "answer");
}

TEST_CASE("a client that ends its side still gets its answers") {
  Fixture f;
  f.Write("last");
  shutdown(f.client, SHUT_WR);
  CHECK(net::SyncWait(*f.loop, f.stream->ReadMore()));
  CHECK(f.stream->input() == "last");
  CHECK_FALSE(net::SyncWait(*f.loop, f.stream->ReadMore()));
  CHECK_FALSE(f.stream->closing());
  f.stream->Send("answer");
  f.Turn();
  CHECK(f.Read() == "answer");
}

TEST_CASE(
    "a stream that closes wakes its reader and sends what is on its way") {
  Fixture f;
  bool more = true;
  const auto read = [](Fixture& in, bool& out) -> net::Task<void> {
    out = co_await in.stream->ReadMore();
  };
  net::Spawn(read(f, more));
  CHECK(f.stream->awaits_input());
  f.stream->Send("answer");
  f.stream->Close();
  f.Turn();
  CHECK_FALSE(more);
  CHECK_FALSE(f.stream->awaits_input());
  CHECK(f.Read() == "answer");
}

TEST_CASE("a client that does not read holds back what is sent to it") {
  Fixture f;
  MemoryHold hold(f.account, WaitsFor::kServers);
  constexpr std::size_t kBytes = 16 << 20;  // more than any socket takes
  REQUIRE(hold.TryTake(kBytes));
  f.stream->Send(ValueOf(kBytes), hold);
  f.Turn();
  CHECK(f.stream->full());
  CHECK_FALSE(f.stream->has_room());
  net::Spawn(f.Await(f.stream->UntilAllSent()));
  CHECK(f.resumed == 0);
  std::size_t read = 0;
  while (read < kBytes) {
    read += f.Read().size();
    f.Turn();
  }
  CHECK(f.stream->all_sent());
  CHECK_FALSE(f.stream->full());
  CHECK(f.resumed == 1);
  CHECK(f.account.held == 0);
}

TEST_CASE("a stream that breaks holds nothing and lets all go that wait") {
  Fixture f;
  MemoryHold hold(f.account, WaitsFor::kServers);
  constexpr std::size_t kBytes = 16 << 20;
  REQUIRE(hold.TryTake(kBytes));
  f.stream->Send(ValueOf(kBytes), hold);
  f.Turn();
  net::Spawn(f.Await(f.stream->UntilRoom()));
  CHECK(f.resumed == 0);
  f.progress = 0;
  f.stream->Break();
  f.Turn();
  CHECK(f.resumed == 1);
  CHECK(f.progress == 1);
  CHECK(f.stream->broken());
  CHECK(f.stream->closing());
  CHECK(f.stream->all_sent());
  CHECK(f.account.held == 0);
  CHECK_FALSE(net::SyncWait(*f.loop, f.stream->ReadMore()));
}

TEST_CASE("a client that has left breaks the stream when it is sent to") {
  Fixture f;
  f.Leave();
  f.stream->Send("answer");
  f.Turn();
  CHECK(f.stream->broken());
}
