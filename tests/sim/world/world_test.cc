// The world itself: runtime promises, faults, and what a kill leaves behind.
#include <catch2/catch.hpp>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "net/task.h"
#include "sim/world/sim_connection.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"

namespace ers::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

net::Endpoint ServerEndpoint() {
  net::Endpoint endpoint;
  endpoint.host = "10.0.0.1";
  endpoint.port = 11211;
  return endpoint;
}

// A client that sends and keeps what it hears.
class Talker : public net::StreamHandler {
 public:
  explicit Talker(SimRuntime& process) : process_(process) {
    stream_ = process_.Connect(ServerEndpoint(), *this);
  }
  void OnConnected() override { connected = true; }
  void OnReadable() override {
    ++readable;
    if (deaf) return;
    char buffer[64];
    const iovec piece{buffer, sizeof(buffer)};
    const ssize_t got = stream_->ReadV(&piece, 1);
    if (got > 0) {
      heard.append(buffer, static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EAGAIN) {
      broken = true;
      stream_.reset();
    }
  }
  void OnWritable() override {
    ++writable;
    stream_->WantWrite(false);
  }
  void OnFailed(const std::string& reason) override {
    failure = reason;
    broken = true;
    stream_.reset();
  }
  // Bytes taken.
  std::size_t Say(std::string text) {
    const iovec piece{text.data(), text.size()};
    const ssize_t sent = stream_->WriteV(&piece, 1);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  void Close() { stream_.reset(); }
  net::Stream& stream() { return *stream_; }

  bool connected = false;
  bool broken = false;
  bool deaf = false;
  int readable = 0;
  int writable = 0;
  std::string heard;
  std::string failure;

 private:
  SimRuntime& process_;
  std::unique_ptr<net::Stream> stream_;
};

struct Fixture {
  explicit Fixture(std::uint64_t seed = 1) : world(seed) {
    world.network().split_chance = 0;
    server = &world.AddServer("10.0.0.1:11211");
    process = &world.AddProcess("p");
  }
  void Wait(Duration time) {
    world.RunUntil([] { return false; }, time);
  }
  // Connected, or the test fails.
  std::unique_ptr<Talker> Talk() {
    auto talker = std::make_unique<Talker>(*process);
    REQUIRE(world.RunUntil([&] { return talker->connected; }, seconds(1)));
    return talker;
  }

  World world;
  SimServer* server;
  SimRuntime* process;
};

TEST_CASE("a server answers over the simulated network") {
  Fixture f;
  const auto talker = f.Talk();
  talker->Say("set a 0 0 1\r\nx\r\ngets a\r\n");
  REQUIRE(f.world.RunUntil([&] { return talker->heard.ends_with("END\r\n"); },
                           seconds(1)));
  CHECK(talker->heard == "STORED\r\nVALUE a 0 1 1\r\nx\r\nEND\r\n");
}

TEST_CASE("unread bytes are reported again and again") {
  Fixture f;
  const auto talker = f.Talk();
  talker->deaf = true;
  talker->Say("mn\r\n");
  REQUIRE(f.world.RunUntil([&] { return talker->readable > 5; }, seconds(1)));
  talker->deaf = false;
  f.Wait(milliseconds(1));
  CHECK(talker->heard == "MN\r\n");
  const int calls = talker->readable;
  f.Wait(milliseconds(1));
  CHECK(talker->readable == calls);
}

TEST_CASE("a full window takes no more and reports when it does") {
  Fixture f;
  f.world.network().window_bytes = 10;
  const auto talker = f.Talk();
  CHECK(talker->Say("mn\r\nmn\r\nmn\r\n") == 10);
  CHECK(talker->Say("x") == 0);
  CHECK(errno == EAGAIN);
  talker->stream().WantWrite(true);
  CHECK(talker->writable == 0);
  REQUIRE(f.world.RunUntil([&] { return talker->writable > 0; }, seconds(1)));
}

TEST_CASE("bytes are split at every place") {
  std::vector<bool> split(32);
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Fixture f(seed);
    const auto talker = f.Talk();
    f.world.network().split_chance = 500'000;
    talker->Say("version\r\n");
    f.world.RunUntil(
        [&] {
          split[talker->heard.size()] = true;
          return talker->heard.ends_with('\n');
        },
        seconds(1));
  }
  // "VERSION 1.6.18\r\n" and all that comes before its end.
  for (std::size_t i = 1; i <= 16; ++i) CHECK(split[i]);
}

TEST_CASE("nothing listens on a crashed server or at a wrong address") {
  Fixture f;
  f.server->Crash();
  Talker talker(*f.process);
  REQUIRE(f.world.RunUntil([&] { return talker.broken; }, seconds(1)));
  CHECK(talker.failure == "connection refused");
}

TEST_CASE("a crash breaks connections and forgets; a restart is empty") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Fixture f(seed);
    const auto talker = f.Talk();
    talker->Say("set a 0 0 1\r\nx\r\n");
    f.Wait(milliseconds(1));
    const int pid = f.server->model().pid();
    f.server->Crash();
    REQUIRE(f.world.RunUntil([&] { return talker->broken; }, seconds(1)));
    f.Wait(seconds(2));
    f.server->Restart();
    CHECK(f.server->model().pid() != pid);
    const auto again = f.Talk();
    again->Say("get a\r\nmg b c N9\r\n");
    f.Wait(milliseconds(1));
    CHECK(again->heard == "END\r\nHD c1 W\r\n");
  }
}

TEST_CASE("a stalled server applies what it got when it goes on") {
  Fixture f;
  const auto talker = f.Talk();
  f.server->Stall();
  talker->Say("set a 0 0 1\r\nx\r\n");
  f.Wait(seconds(1));
  CHECK(talker->heard.empty());
  CHECK(f.server->items().Find("a") == nullptr);
  talker->Close();  // "still applied later"
  f.Wait(seconds(10));
  f.server->Continue();
  CHECK(f.server->items().Find("a") != nullptr);
}

TEST_CASE("an unreachable server hears everything afterwards") {
  Fixture f;
  const auto talker = f.Talk();
  SimRuntime& other = f.world.AddProcess("q");
  f.server->SetReachableFrom(*f.process, false);
  talker->Say("set a 0 0 1\r\nx\r\n");
  f.Wait(seconds(1));
  CHECK(f.server->items().Find("a") == nullptr);
  Talker friendly(other);
  REQUIRE(f.world.RunUntil([&] { return friendly.connected; }, seconds(1)));
  Talker late(*f.process);
  f.Wait(seconds(1));
  CHECK_FALSE(late.connected);
  f.server->SetReachableFrom(*f.process, true);
  f.Wait(seconds(1));
  CHECK(late.connected);
  CHECK(talker->heard == "STORED\r\n");
}

TEST_CASE("a write on a closed connection is applied later, or in part") {
  int late = 0;
  int never = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Fixture f(seed);
    const auto talker = f.Talk();
    talker->Say("set a 0 0 1\r\nx\r\n");
    talker->Close();
    f.Wait(milliseconds(10));
    const bool soon = f.server->items().Find("a") != nullptr;
    f.Wait(seconds(6));
    if (!soon) ++(f.server->items().Find("a") != nullptr ? late : never);
  }
  CHECK(late > 10);
  CHECK(never > 5);
}

TEST_CASE("dropped and cut replies were applied") {
  for (const bool whole : {false, true}) {
    Fixture f;
    ServerFaults& faults = f.server->faults();
    (whole ? faults.drop_reply_chance : faults.cut_reply_chance) = 1'000'000;
    const auto talker = f.Talk();
    talker->Say("set a 0 0 1\r\nx\r\n");
    REQUIRE(f.world.RunUntil([&] { return talker->broken; }, seconds(1)));
    CHECK(talker->heard.size() < 8);
    if (whole) CHECK(talker->heard.empty());
    CHECK(f.server->items().Find("a") != nullptr);
  }
}

TEST_CASE("eviction and a server without memory") {
  Fixture f;
  const auto talker = f.Talk();
  talker->Say("set a 0 0 1\r\nx\r\nset b 0 0 1\r\nx\r\n");
  f.Wait(milliseconds(1));
  CHECK(f.server->Evict("a"));
  CHECK_FALSE(f.server->Evict("a"));
  f.server->EvictRandom(5);
  CHECK(f.server->items().size() == 0);
  f.server->faults().out_of_memory_chance = 1'000'000;
  talker->heard.clear();
  talker->Say("set a 0 0 1\r\nx\r\n");
  f.Wait(milliseconds(1));
  CHECK(talker->heard == "SERVER_ERROR out of memory storing object\r\n");
}

TEST_CASE("a dump of all misses items, a dump by hash does not") {
  Fixture f;
  const auto talker = f.Talk();
  f.server->faults().dump_miss_chance = 1'000'000;
  talker->Say("set a 0 0 1\r\nx\r\nlru_crawler metadump all\r\n");
  f.Wait(milliseconds(1));
  CHECK(talker->heard == "STORED\r\nEND\r\n");
  talker->heard.clear();
  talker->Say("lru_crawler metadump hash\r\n");
  f.Wait(milliseconds(1));
  CHECK(talker->heard.starts_with("key=a exp=-1 "));
  f.server->faults().dump_busy_chance = 1'000'000;
  talker->heard.clear();
  talker->Say("lru_crawler metadump hash\r\n");
  f.Wait(milliseconds(1));
  CHECK(talker->heard == "BUSY currently processing crawler request\r\n");
}

TEST_CASE("items expire in virtual time") {
  Fixture f;
  const auto talker = f.Talk();
  talker->Say("set a 0 60 1\r\nx\r\n");
  f.Wait(seconds(58));
  CHECK(f.server->items().Find("a") != nullptr);
  f.Wait(seconds(3));
  CHECK(f.server->items().Find("a") == nullptr);
}

struct Noted : net::Deferred {
  std::vector<int>* log = nullptr;
  int number = 0;
};

TEST_CASE("timers fire once, move, stop; what is deferred comes in order") {
  Fixture f;
  std::vector<int> log;
  std::vector<Noted> noted(3);
  for (int i = 0; i < 3; ++i) {
    noted[static_cast<std::size_t>(i)].log = &log;
    noted[static_cast<std::size_t>(i)].number = i;
    noted[static_cast<std::size_t>(i)].run = [](net::Deferred& self) {
      auto& mine = static_cast<Noted&>(self);
      mine.log->push_back(mine.number);
    };
  }
  const auto start = f.world.now();
  const auto timer = f.process->NewTimer([&] {
    log.push_back(10);
    for (Noted& one : noted) f.process->Defer(one);
    f.process->Defer(noted[0]);  // queued already
    log.push_back(11);
  });
  timer->Start(seconds(5));
  timer->Start(seconds(2));
  f.Wait(milliseconds(1999));
  CHECK(log.empty());
  f.Wait(milliseconds(2));
  CHECK(log == std::vector<int>{10, 11, 0, 1, 2});
  timer->Start(seconds(1));
  timer->Start(seconds(3));
  f.Wait(seconds(2));
  CHECK(log.size() == 5);
  timer->Stop();
  f.process->Post([&] { log.push_back(20); });
  f.Wait(seconds(9));
  CHECK(log == std::vector<int>{10, 11, 0, 1, 2, 20});
  CHECK(f.world.now() - start > seconds(12));
  CHECK(f.world.RunUntilIdle(seconds(1)));
}

TEST_CASE("a paused process is late, not deaf") {
  Fixture f;
  int fired = 0;
  const auto timer = f.process->NewTimer([&] { ++fired; });
  timer->Start(milliseconds(5));
  f.process->PauseFor(seconds(1));
  f.Wait(milliseconds(900));
  CHECK(fired == 0);
  f.Wait(milliseconds(200));
  CHECK(fired == 1);
}

// A process's objects, as a store would be: they end with the process.
struct Victim {
  explicit Victim(SimRuntime& runtime)
      : process(runtime), latch(runtime, 1), talker(runtime) {
    timer = runtime.NewTimer([this] {
      ++resumed;
      latch.CountDown();
    });
  }
  net::Task<void> Operate() {
    timer->Start(milliseconds(10));
    const std::string held(1000, 'x');  // a frame with something in it
    co_await latch;
    resumed += static_cast<int>(held.size());
  }

  SimRuntime& process;
  net::Latch latch;
  Talker talker;
  std::unique_ptr<net::Timer> timer;
  int resumed = 0;
};

TEST_CASE("a killed process never resumes, and leaks nothing unreachable") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Fixture f(seed);
    SimRuntime& process = f.world.AddProcess("victim");
    auto victim = std::make_shared<Victim>(process);
    REQUIRE(
        f.world.RunUntil([&] { return victim->talker.connected; }, seconds(1)));
    net::Spawn(victim->Operate());
    victim->talker.Say("set a 0 0 1\r\nx\r\n");
    f.world.After(microseconds(1), [&] { process.Kill(); });
    f.Wait(seconds(10));
    CHECK(victim->resumed == 0);
    CHECK(victim->talker.heard.empty());
    CHECK_FALSE(victim->talker.broken);
    CHECK(process.killed());
    ParkForever(std::move(victim));
  }
}

TEST_CASE("a wait without an end is reported") {
  Fixture f;
  CHECK_THROWS_AS(f.process->RunUntil([] { return false; }),
                  std::runtime_error);
}

}  // namespace
}  // namespace ers::sim
