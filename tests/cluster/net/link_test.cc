// ServerLink against real memcached processes.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cluster/memcached_process.h"
#include "net/event_loop.h"
#include "net/server_link.h"
#include "net_calls.h"

namespace ers {
namespace {

using net::Outcome;
using net::ServerLink;
using net::Verb;
using test::Call;
using test::Do;
using test::MemcachedProcess;
using test::RunUntil;

// Patient: a loaded machine must not make a test fail.
net::LinkOptions Patient() {
  net::LinkOptions options;
  options.connect_timeout = std::chrono::seconds(60);
  options.request_timeout = std::chrono::seconds(60);
  options.backoff_min = std::chrono::milliseconds(1);
  options.backoff_max = std::chrono::milliseconds(10);
  return options;
}

struct Cluster {
  explicit Cluster(
      std::vector<std::string> arguments = {},
      MemcachedProcess::Listen listen = MemcachedProcess::Listen::kTcp)
      : server(std::move(arguments), listen),
        loop(net::NewEventLoop()),
        link(std::make_unique<ServerLink>(*loop, server.endpoint(), 0,
                                          Patient(), nullptr)) {}

  Outcome Do(Call& call) { return test::Do(*loop, *link, call); }
  Outcome Set(const std::string& key, std::string value) {
    Call set(Verb::kSet, key);
    set.Body(std::move(value));
    return Do(set);
  }
  bool ReachUp() {
    return RunUntil(*loop,
                    [this] { return link->state() == ServerLink::State::kUp; });
  }

  MemcachedProcess server;
  std::unique_ptr<net::Runtime> loop;
  std::unique_ptr<ServerLink> link;
};

TEST_CASE("every verb against a real server, over TCP and a unix socket") {
  const auto listen =
      GENERATE(MemcachedProcess::Listen::kTcp, MemcachedProcess::Listen::kUnix);
  Cluster cluster({}, listen);

  Call set(Verb::kSet, "key");
  set.Body("hello");
  set.client_flags = 0xffffffff;
  set.exptime = 100;
  CHECK(cluster.Do(set) == Outcome::kOk);

  Call get(Verb::kGet, "key");
  CHECK(cluster.Do(get) == Outcome::kOk);
  CHECK(get.value == "hello");
  CHECK(get.item_bytes == 5);
  CHECK(get.item_flags == 0xffffffff);
  CHECK(get.item_ttl > 0);
  CHECK(get.item_ttl <= 100);
  CHECK(get.connection == cluster.link->connection());

  get.Pieces({2, 0, 3});
  CHECK(cluster.Do(get) == Outcome::kOk);
  CHECK(get.Into() == "hello");
  get.Pieces({6});
  CHECK(cluster.Do(get) == Outcome::kWrongSize);
  CHECK(get.item_bytes == 5);

  Call touch(Verb::kTouch, "key");
  CHECK(cluster.Do(touch) == Outcome::kOk);
  Call head(Verb::kHead, "key");
  CHECK(cluster.Do(head) == Outcome::kOk);
  CHECK(head.item_ttl == -1);
  CHECK(head.item_bytes == 5);
  CHECK(head.item_token == get.item_token);

  Call cas(Verb::kCas, "key");
  cas.Body("other");
  cas.token = head.item_token;
  CHECK(cluster.Do(cas) == Outcome::kOk);
  CHECK(cluster.Do(cas) == Outcome::kExists);

  Call drop(Verb::kDelete, "key");
  CHECK(cluster.Do(drop) == Outcome::kOk);
  CHECK(cluster.Do(drop) == Outcome::kMiss);
  CHECK(cluster.Do(head) == Outcome::kMiss);
  CHECK(cluster.Do(touch) == Outcome::kMiss);
  CHECK(cluster.Do(cas) == Outcome::kMiss);
  CHECK(cluster.Do(get) == Outcome::kMiss);

  Call vivify(Verb::kVivify, "key");
  vivify.exptime = 60;
  CHECK(cluster.Do(vivify) == Outcome::kCreated);
  cas.token = vivify.item_token;
  CHECK(cluster.Do(vivify) == Outcome::kOk);
  CHECK(vivify.item_bytes == 0);
  CHECK(vivify.item_token == cas.token);
  CHECK(cluster.Do(cas) == Outcome::kOk);

  Call version(Verb::kVersion);
  CHECK(cluster.Do(version) == Outcome::kOk);
  CHECK(version.value == cluster.link->facts().version);
  Call stats(Verb::kStats);
  CHECK(cluster.Do(stats) == Outcome::kOk);
  CHECK(stats.value.find("STAT cmd_set ") != std::string::npos);
  Call unknown(Verb::kStats, "nonsense");
  CHECK(cluster.Do(unknown) == Outcome::kServerError);
  CHECK(unknown.value == "ERROR");
  CHECK(cluster.Set(std::string(250, 'k'), "") == Outcome::kOk);
  CHECK(cluster.link->counters().connections.Get() == 1);
  CHECK(cluster.link->counters().failures.Get() == 0);
}

TEST_CASE("metadumps on a link of their own list every key") {
  Cluster cluster;
  std::deque<Call> sets;
  for (int i = 0; i < 2000; ++i) {
    sets.emplace_back(Verb::kSet, fmt::format("key{}", i)).Body("x");
    cluster.link->Submit(sets.back());
  }
  REQUIRE(RunUntil(*cluster.loop, [&sets] { return sets.back().ends == 1; }));
  ServerLink link(*cluster.loop, cluster.server.endpoint(), 0, Patient(),
                  nullptr);
  Call dump(Verb::kMetadump);
  link.Submit(dump);
  Call get(Verb::kGet, "key7");
  CHECK(cluster.Do(get) == Outcome::kOk);
  REQUIRE(RunUntil(*cluster.loop, [&dump] { return dump.ends == 1; }));
  // The server's crawler may still be at the end of the first one.
  std::deque<Call> again;
  do {
    (void)test::Do(*cluster.loop, link, again.emplace_back(Verb::kMetadump));
  } while (again.back().value.starts_with("BUSY"));
  for (const Call* list : {&dump, &again.back()}) {
    CHECK(list->outcome == Outcome::kOk);
    for (int i = 0; i < 2000; ++i) {
      const std::string line = fmt::format("key=key{} ", i);
      if (list->value.find(line) == std::string::npos) FAIL(line);
    }
  }
}

TEST_CASE("values of every kind of size come back whole and in order") {
  Cluster cluster({"-m", "512", "-I", "16m"});
  std::deque<Call> calls;
  std::vector<Call*> order;
  std::vector<std::string> values;
  for (const std::size_t size :
       {0, 1, 4095, 4096, 4097, 16384, 52429, 1000000, 8 << 20}) {
    std::string value(size, '\0');
    for (std::size_t i = 0; i < size; ++i) {
      value[i] = static_cast<char>((i * 2654435761U) >> 13);
    }
    values.push_back(std::move(value));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    calls.emplace_back(Verb::kSet, fmt::format("v{}", i)).Body(values[i]);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t half = values[i].size() / 2;
    calls.emplace_back(Verb::kGet, fmt::format("v{}", i))
        .Pieces({half, values[i].size() - half});
  }
  for (Call& call : calls) {
    call.order = &order;
    call.timeout = std::chrono::seconds(30);
    cluster.link->Submit(call);
  }
  REQUIRE(
      RunUntil(*cluster.loop, [&] { return order.size() == calls.size(); }));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CHECK(order[i] == &calls[i]);
    CHECK(calls[i].outcome == Outcome::kOk);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(calls[values.size() + i].Into() == values[i]);
  }
}

TEST_CASE("an oversized value is refused and the connection goes on") {
  Cluster cluster;
  const std::string big(1 << 20, 'x');
  CHECK(cluster.Set("key", "old") == Outcome::kOk);
  Call cas(Verb::kCas, "key");
  cas.Body(big);
  cas.token = 1;
  CHECK(cluster.Do(cas) == Outcome::kTooLarge);
  CHECK(cluster.Set("key", big) == Outcome::kTooLarge);
  // A failed ms deletes what was there.
  Call get(Verb::kGet, "key");
  CHECK(cluster.Do(get) == Outcome::kMiss);
  CHECK(cluster.link->counters().connections.Get() == 1);
  CHECK(cluster.link->facts().item_size_max == 1 << 20);
}

TEST_CASE("a full server says so, and only cas leaves the old item") {
  Cluster cluster({"-m", "2", "-M"});
  const std::string value(50000, 'y');
  int stored = 0;
  while (stored < 1000) {
    const Outcome outcome = cluster.Set(fmt::format("k{}", stored), value);
    if (outcome != Outcome::kOk) {
      CHECK(outcome == Outcome::kNoMemory);
      break;
    }
    ++stored;
  }
  REQUIRE(stored > 1);
  REQUIRE(stored < 1000);
  CHECK_FALSE(cluster.link->facts().evictions);

  Call head(Verb::kHead, "k0");
  REQUIRE(cluster.Do(head) == Outcome::kOk);
  Call cas(Verb::kCas, "k0");
  cas.Body(value);
  cas.token = head.item_token;
  CHECK(cluster.Do(cas) == Outcome::kNoMemory);
  CHECK(cluster.Do(head) == Outcome::kOk);
  CHECK(cluster.Set("k0", value) == Outcome::kNoMemory);
  CHECK(cluster.Do(head) == Outcome::kMiss);

  // A stub fits until its slab class is full as well.
  Outcome outcome = Outcome::kCreated;
  for (int i = 0; i < 100000 && outcome == Outcome::kCreated; ++i) {
    Call vivify(Verb::kVivify, std::string(200, 'w') + std::to_string(i));
    vivify.exptime = 3600;
    outcome = cluster.Do(vivify);
  }
  CHECK(outcome == Outcome::kNoMemory);
}

TEST_CASE("the boot mark lasts for one life of the server's memory") {
  Cluster cluster;
  REQUIRE(cluster.Set("key", "value") == Outcome::kOk);
  const std::string mark = cluster.link->facts().boot_mark;
  CHECK(mark.starts_with(fmt::format("{}/", cluster.server.pid())));

  // Another client of the same server reads the same mark.
  ServerLink other(*cluster.loop, cluster.server.endpoint(), 1, Patient(),
                   nullptr);
  Call get(Verb::kGet, "key");
  CHECK(Do(*cluster.loop, other, get) == Outcome::kOk);
  CHECK(other.facts().boot_mark == mark);

  cluster.link->Abort("for the test");
  REQUIRE(cluster.ReachUp());
  CHECK(cluster.link->facts().boot_mark == mark);
  CHECK(cluster.link->connection() == 2);

  Call old_boot(Verb::kGet, "key");
  old_boot.only_boot = mark;
  CHECK(cluster.Do(old_boot) == Outcome::kOk);
  Call old_connection(Verb::kGet, "key");
  old_connection.only_connection = 1;
  CHECK(cluster.Do(old_connection) == Outcome::kNotSent);

  cluster.server.Ask("flush_all\r\n");
  cluster.link->Abort("for the test");
  REQUIRE(cluster.ReachUp());
  const std::string flushed = cluster.link->facts().boot_mark;
  CHECK(flushed != mark);

  cluster.server.Restart();
  REQUIRE(RunUntil(*cluster.loop, [&] {
    return cluster.link->state() == ServerLink::State::kUp &&
           cluster.link->facts().boot_mark != flushed;
  }));
  CHECK(cluster.Do(old_boot) == Outcome::kNotSent);
}

TEST_CASE("many links that meet an empty server agree on its mark") {
  MemcachedProcess server;
  const auto loop = net::NewEventLoop();
  std::deque<ServerLink> links;
  std::deque<Call> calls;
  for (int i = 0; i < 20; ++i) {
    links.emplace_back(*loop, server.endpoint(), i, Patient(), nullptr);
    calls.emplace_back(Verb::kGet, "key");
    links.back().Submit(calls.back());
  }
  REQUIRE(RunUntil(*loop, [&] {
    for (const Call& call : calls) {
      if (call.ends == 0) return false;
    }
    return true;
  }));
  for (const ServerLink& link : links) {
    CHECK(link.facts().boot_mark == links[0].facts().boot_mark);
    CHECK(link.facts().boot_mark.size() > 16);
  }
}

TEST_CASE("kill -9: what was sent is lost, what comes after ends at once") {
  Cluster cluster;
  REQUIRE(cluster.Set("key", "value") == Outcome::kOk);
  cluster.server.Pause();
  Call get(Verb::kGet, "key");
  cluster.link->Submit(get);
  const auto sent = cluster.link->counters().bytes_sent.Get();
  REQUIRE(RunUntil(*cluster.loop, [&] {
    return cluster.link->counters().bytes_sent.Get() > sent;
  }));
  cluster.server.Kill();
  REQUIRE(RunUntil(*cluster.loop, [&] { return get.ends == 1; }));
  CHECK(get.outcome == Outcome::kLost);
  CHECK_FALSE(cluster.link->last_error().empty());
  CHECK(cluster.Do(get) == Outcome::kNotSent);

  cluster.server.Restart();
  REQUIRE(cluster.ReachUp());
  CHECK(cluster.Do(get) == Outcome::kMiss);
}

TEST_CASE("a paused server runs into the deadline and comes back") {
  Cluster cluster;
  REQUIRE(cluster.Set("key", "value") == Outcome::kOk);
  const std::string mark = cluster.link->facts().boot_mark;
  cluster.server.Pause();
  Call get(Verb::kGet, "key");
  get.timeout = std::chrono::milliseconds(50);
  CHECK(cluster.Do(get) == Outcome::kLost);
  CHECK(cluster.Do(get) == Outcome::kNotSent);
  cluster.server.Resume();
  REQUIRE(cluster.ReachUp());
  CHECK(cluster.link->facts().boot_mark == mark);
  get.timeout = {};
  CHECK(cluster.Do(get) == Outcome::kOk);
}

}  // namespace
}  // namespace ers
