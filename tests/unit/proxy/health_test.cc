// What a person wants to know of a cluster first.
#include "admin/health.h"

#include <catch2/catch.hpp>
#include <chrono>

#include "metrics/event_log.h"

using namespace ers;
using namespace ers::proxy;
using namespace std::chrono_literals;

namespace {

using Latencies = std::vector<std::optional<ServerLatency>>;

Facts Serving() {
  Facts facts;
  facts.serving.known = true;
  facts.epoch = 3;
  facts.max_failures = 2;
  for (const char* name : {"a:1", "b:1", "c:1"}) {
    facts.servers.push_back({name, name, "in_sync"});
  }
  return facts;
}

std::string Shown(const Facts& facts, const Latencies& latency = {}) {
  const Health health = HealthOf(facts, latency);
  return std::string(kHealthStates[static_cast<std::size_t>(health.state)]) +
         ": " + health.because;
}

}  // namespace

TEST_CASE("health is of the servers' states") {
  Facts facts = Serving();
  CHECK(Shown(facts) ==
        "healthy: All 3 servers are in sync. At most 2 may be out at once.");
  facts.servers[1].state = "backfilling";
  CHECK(
      Shown(facts) ==
      "rebuilding: 1 of 3 servers is being backfilled (b:1). At most 2 may be "
      "out at once.");
  facts.servers[0].state = "unreachable";
  CHECK(Shown(facts) ==
        "degraded: 1 of 3 servers is out (a:1). b:1 is being backfilled. At "
        "most 2 may be out at once.");
  facts.servers[2].state = "down";
  CHECK(
      Shown(facts).starts_with("degraded: 2 of 3 servers are out (a:1, c:1)"));
}

TEST_CASE("what cannot be served is said first") {
  Facts facts = Serving();
  facts.servers[0].state = "down";
  facts.serving.status =
      Status(StatusCode::kUnavailable, "too many are silent");
  CHECK(Shown(facts) == "failing: too many are silent");
  facts.stopping = true;
  CHECK(Shown(facts) == "failing: The daemon is stopping.");
  Facts fresh;
  CHECK(Shown(fresh) == "unused: The servers are being probed.");
  fresh.serving.known = true;
  CHECK(Shown(fresh) == "unused: No command has needed the servers yet.");
}

TEST_CASE("a slow server is named, where its times are no small ones") {
  const Facts facts = Serving();
  Latencies latency(3);
  latency[1] = ServerLatency{20ms, 30ms, 100.0};
  CHECK(Shown(facts, latency).ends_with("b:1 is much slower than the others."));
  latency[1] = ServerLatency{900us, 30ms, 100.0};
  CHECK_FALSE(Shown(facts, latency).ends_with("others."));
  latency[1] = ServerLatency{20ms, 30ms, 3.0};
  CHECK_FALSE(Shown(facts, latency).ends_with("others."));
}

TEST_CASE("the event log keeps the last events, each as one line") {
  EventLog log;
  CHECK(log.last_id() == 0);
  CHECK(log.Last().empty());
  log.Add(EventKind::kJob, LogLevel::kInfo, "job\n'a\rb'",
          {"10.0.0.1", "agent\n" + std::string(500, 'x')});
  REQUIRE(log.Last().size() == 1);
  const Event event = log.Last().front();
  CHECK(event.id == 1);
  CHECK(event.text == "job 'a b'");
  CHECK(event.asker.address == "10.0.0.1");
  CHECK(event.asker.agent.starts_with("agent x"));
  CHECK(event.asker.agent.size() == EventLog::kMaxAgent);
  CHECK(event.time_ms > 1'600'000'000'000);
  for (std::size_t i = 0; i < EventLog::kMaxEvents; ++i) {
    log.AddLogged(EventKind::kView, LogLevel::kInfo,
                  std::string(2 * EventLog::kMaxText, 'y'));
  }
  const std::vector<Event> last = log.Last();
  REQUIRE(last.size() == EventLog::kMaxEvents);
  CHECK(last.front().id == EventLog::kMaxEvents + 1);
  CHECK(last.back().id == 2);
  CHECK(last.front().text.size() == EventLog::kMaxText);
}
