// A link to a server that is silent: when that makes it a dead one.
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fake_runtime.h"
#include "net/server_link.h"
#include "net_calls.h"

namespace ers::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Call;
using test::FakeRuntime;
using test::Wire;
using State = ServerLink::State;

constexpr char kFacts[] =
    "VERSION 1.6.18\r\n"
    "STAT pid 7\r\nSTAT uptime 40\r\nSTAT time 1040\r\nEND\r\n"
    "STAT maxbytes 1\r\nSTAT evictions off\r\nSTAT item_size_max 2097152\r\n"
    "STAT slab_chunk_max 1000\r\nEND\r\n"
    "VA 4 c9 f0 t-1 s4\r\nabcd\r\n";

constexpr Duration kSilence = milliseconds(100);

struct Guard : LinkGuard {
  bool Accept(int, const ServerFacts&, std::string*) override { return true; }
  bool MaySuspect(int, TimePoint since) override {
    silent_since.push_back(since);
    return may;
  }
  bool may = true;
  std::vector<TimePoint> silent_since;
};

struct Fixture {
  explicit Fixture(LinkGuard* guard = nullptr) {
    LinkOptions options;
    options.silence_timeout = kSilence;
    // Of the link, and then of each probe.
    runtime.on_connect = [this](Wire& wire) {
      const bool first = runtime.wires.size() == 1;
      wire.on_write = [this, first](Wire& self) {
        if (first) {
          self.outgoing += kFacts;
          self.on_write = {};
        } else if (probe_reply != nullptr) {
          self.outgoing += probe_reply;
        }
      };
    };
    link.emplace(runtime, *ParseEndpoint("server:1"), 3, options, guard);
  }
  ~Fixture() { link.reset(); }

  Wire& wire() { return *runtime.wires.front(); }
  std::size_t probes() { return runtime.wires.size() - 1; }

  // Reads that are answered after so long.
  void Answer(int count, Duration each) {
    for (int i = 0; i < count; ++i) {
      Call get(Verb::kGet, "key");
      link->Submit(get);
      runtime.RunAll();
      runtime.Pass(each);
      wire().outgoing += "EN\r\n";
      runtime.RunAll();
      REQUIRE(get.outcome == Outcome::kMiss);
    }
  }

  // A read that is there as long as the link.
  const Call& Ask() {
    link->Submit(asked.emplace(Verb::kGet, "key"));
    runtime.RunAll();
    return *asked;
  }

  FakeRuntime runtime;
  std::optional<Call> asked;
  const char* probe_reply = nullptr;
  std::optional<ServerLink> link;
};

TEST_CASE("a server that is silent on two connections is dead") {
  Fixture f;
  f.Answer(50, milliseconds(1));
  const Call& get = f.Ask();
  f.runtime.Pass(kSilence - milliseconds(1));
  CHECK(f.probes() == 0);
  f.runtime.Pass(milliseconds(30));
  CHECK(f.probes() == 1);
  CHECK(f.runtime.last().received == "version\r\n");
  CHECK(f.link->state() == State::kUp);
  f.runtime.Pass(kSilence);
  CHECK(f.link->state() == State::kFailed);
  CHECK(get.outcome == Outcome::kLost);
  CHECK(f.link->last_error() == "no reply, nor over another connection");
}

// Each read is a system call, on every connection of an idle process.
TEST_CASE("nothing is read by the clock where nothing is awaited") {
  Fixture f;
  f.Answer(1, milliseconds(1));
  const std::size_t reads = f.wire().reads;
  f.runtime.Pass(seconds(5));
  CHECK(f.wire().reads == reads);
  f.Ask();
  f.runtime.Pass(kSilence / 2);
  CHECK(f.wire().reads > reads);
}

TEST_CASE("what others answer counts since the silence, then since the probe") {
  Guard guard;
  Fixture f(&guard);
  f.Answer(50, milliseconds(1));
  const TimePoint begun = f.runtime.Now();
  f.Ask();
  f.runtime.Pass(kSilence + milliseconds(30));
  REQUIRE(guard.silent_since.size() == 1);
  CHECK(guard.silent_since[0] >= begun);
  CHECK(guard.silent_since[0] <= begun + milliseconds(30));
  guard.may = false;
  f.runtime.Pass(kSilence);
  REQUIRE(guard.silent_since.size() >= 2);
  CHECK(guard.silent_since[1] >= begun + kSilence);
  CHECK(f.link->state() == State::kUp);
}

TEST_CASE("one that refuses another connection is dead at once") {
  Fixture f;
  f.Answer(50, milliseconds(1));
  f.runtime.on_connect = [](Wire& wire) { wire.refuse = "refused"; };
  const Call& get = f.Ask();
  f.runtime.Pass(kSilence + milliseconds(30));
  CHECK(f.link->state() == State::kFailed);
  CHECK(get.outcome == Outcome::kLost);
}

TEST_CASE("one that answers another connection has the time of a request") {
  Fixture f;
  f.probe_reply = "VERSION 1.6.18\r\n";
  f.Answer(50, milliseconds(1));
  const Call& get = f.Ask();
  f.runtime.Pass(milliseconds(970));
  CHECK(f.probes() >= 5);
  CHECK(f.probes() <= 10);
  CHECK(f.link->state() == State::kUp);
  CHECK(get.outcome == Outcome::kPending);
  f.runtime.Pass(milliseconds(60));
  CHECK(f.link->state() == State::kFailed);
  CHECK(f.link->last_error() == "no reply in time");
}

TEST_CASE("what comes byte by byte is no silence, nor what comes at the end") {
  Fixture f;
  f.Answer(50, milliseconds(1));
  const Call& get = f.Ask();
  for (const char byte : std::string("VA 4 c9")) {
    f.runtime.Pass(milliseconds(80));
    f.wire().outgoing += byte;
    f.runtime.RunAll();
  }
  CHECK(f.probes() == 0);
  f.runtime.Pass(kSilence + milliseconds(30));
  CHECK(f.probes() == 1);
  f.wire().outgoing += " f0 t-1 s4\r\nabcd\r\n";
  f.runtime.Pass(2 * kSilence);
  CHECK(f.link->state() == State::kUp);
  CHECK(get.outcome == Outcome::kOk);
}

TEST_CASE("this thread's own absence is no silence of the server's") {
  Fixture f;
  f.Answer(50, milliseconds(1));
  f.Ask();
  f.runtime.Stall(milliseconds(400));
  f.runtime.Pass(kSilence - milliseconds(30));
  CHECK(f.probes() == 0);
  f.runtime.Pass(milliseconds(60));
  CHECK(f.probes() == 1);
  // Nor while the other connection is waited for.
  f.runtime.Stall(milliseconds(400));
  f.runtime.Pass(kSilence - milliseconds(30));
  CHECK(f.link->state() == State::kUp);
}

TEST_CASE("silence is long beside what replies take as a rule") {
  Fixture f;
  f.Answer(50, milliseconds(30));
  f.Ask();
  f.runtime.Pass(milliseconds(290));
  CHECK(f.probes() == 0);
  f.runtime.Pass(milliseconds(80));
  CHECK(f.probes() == 1);
}

TEST_CASE("a server of which too little is known has the time of a request") {
  Fixture f;
  f.Answer(3, milliseconds(1));
  f.Ask();
  f.runtime.Pass(milliseconds(970));
  CHECK(f.probes() == 0);
  CHECK(f.link->state() == State::kUp);
}

}  // namespace
}  // namespace ers::net
