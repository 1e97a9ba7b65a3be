#include "net/resolver.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/event_loop.h"
#include "net/server_link.h"
#include "net/socket_stream.h"
#include "net_calls.h"
#include "unit/net/sockets.h"

namespace ers::net {
namespace {

using test::RunUntil;
using Kind = test::Listener::Kind;

Resolved At(const std::vector<Endpoint>& endpoints) {
  Resolved found;
  for (const Endpoint& endpoint : endpoints) {
    found.addresses.push_back(PlainAddresses(endpoint).front());
  }
  return found;
}

Resolved None(const char* why, bool answered) {
  Resolved found;
  found.error = why;
  found.answered = answered;
  return found;
}

// A system's resolver that answers when a test lets it, and is silent else.
class Answers {
 public:
  Resolved Next() {
    std::unique_lock lock(mutex_);
    ++asked_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !answers_.empty(); });
    Resolved found = std::move(answers_.front());
    answers_.pop_front();
    return found;
  }
  void Give(Resolved found) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(found));
    changed_.notify_all();
  }
  void AwaitAsked(int times) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asked_ >= times; });
  }
  [[nodiscard]] int asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Resolved> answers_;
  int asked_ = 0;
};

struct World {
  // A call that hangs outlives its test, and keeps them.
  std::shared_ptr<Answers> kept = std::make_shared<Answers>();
  Answers& answers = *kept;
  Resolver resolver{[all = kept](const Endpoint&) { return all->Next(); }};
  std::unique_ptr<EventLoop> loop = NewEventLoopWith(resolver);
  const Endpoint name = *ParseEndpoint("cache.example:11211");

  // What is found of the name.
  Resolved Ask() {
    std::optional<Resolved> answer;
    const auto query =
        resolver.Ask(*loop, name, [&answer](const Resolved& found) {
          CHECK_FALSE(answer);
          answer = found;
        });
    CHECK_FALSE(answer);  // never from inside
    REQUIRE(RunUntil(*loop, [&] { return answer.has_value(); }));
    return *answer;
  }
};

const Endpoint kFirst = *ParseEndpoint("127.0.0.2:11211");
const Endpoint kSecond = *ParseEndpoint("[::1]:11211");

TEST_CASE("a loop goes on while a name is resolved") {
  World world;
  std::optional<Resolved> answer;
  const auto query =
      world.resolver.Ask(*world.loop, world.name,
                         [&answer](const Resolved& found) { answer = found; });
  world.answers.AwaitAsked(1);
  bool fired = false;
  const auto timer = world.loop->NewTimer([&fired] { fired = true; });
  timer->Start(std::chrono::milliseconds(1));
  REQUIRE(RunUntil(*world.loop, [&] { return fired; }));
  CHECK_FALSE(answer);
  world.answers.Give(At({kFirst}));
  REQUIRE(RunUntil(*world.loop, [&] { return answer.has_value(); }));
  CHECK(answer->addresses == PlainAddresses(kFirst));
}

TEST_CASE("what was found last is used while no answer comes") {
  World world;
  world.answers.Give(At({kFirst}));
  CHECK(world.Ask().addresses == PlainAddresses(kFirst));
  // Resolved again each time, once at a time, and not waited for.
  CHECK(world.Ask().addresses == PlainAddresses(kFirst));
  CHECK(world.Ask().addresses == PlainAddresses(kFirst));
  world.answers.AwaitAsked(2);
  CHECK(world.answers.asked() == 2);
  world.answers.Give(None("try again", false));
  CHECK(world.Ask().addresses == PlainAddresses(kFirst));
}

TEST_CASE("an address that has changed is found by queries that come later") {
  World world;
  world.answers.Give(At({kFirst}));
  CHECK(world.Ask().addresses == PlainAddresses(kFirst));
  world.answers.Give(At({kSecond}));
  Resolved found;
  do {
    found = world.Ask();
  } while (found.addresses == PlainAddresses(kFirst));
  CHECK(found.addresses == PlainAddresses(kSecond));
}

TEST_CASE("a name that is gone is no name any more, unlike silence") {
  World world;
  world.answers.Give(None("try again", false));
  CHECK(world.Ask().error == "try again");
  world.answers.Give(At({kFirst}));
  CHECK(world.Ask().error.empty());
  for (int i = 0; i < 3; ++i) world.answers.Give(None("unknown", true));
  Resolved found;
  do {
    found = world.Ask();
  } while (!found.addresses.empty());
  CHECK(found.error == "unknown");
}

TEST_CASE("an address that does not connect is the last from then on") {
  World world;
  const Resolved both = At({kFirst, kSecond});
  world.answers.Give(both);
  CHECK(world.Ask().addresses == both.addresses);
  world.resolver.PutLast(world.name, both.addresses.front());
  const std::vector<Address> turned = At({kSecond, kFirst}).addresses;
  CHECK(world.Ask().addresses == turned);
  world.answers.AwaitAsked(2);
  world.answers.Give(both);  // also if it is given in the old order
  world.answers.Give(both);
  const int before = world.answers.asked();
  do {
    CHECK(world.Ask().addresses == turned);
  } while (world.answers.asked() == before);
}

TEST_CASE("a start waits until each name is known or its time is over") {
  World world;
  const std::vector<Endpoint> servers = {kFirst, world.name};
  SECTION("an answer comes") {
    world.answers.Give(At({kFirst}));
    world.resolver.Prepare(servers, std::chrono::hours(1));
  }
  SECTION("there is no such name") {
    world.answers.Give(None("unknown", true));
    world.resolver.Prepare(servers, std::chrono::hours(1));
  }
  SECTION("no answer comes") {
    world.resolver.Prepare(servers, std::chrono::milliseconds(1));
    world.answers.AwaitAsked(1);
  }
  CHECK(world.answers.asked() == 1);  // and not for numbers
}

TEST_CASE("many names at once are all found") {
  World world;
  std::vector<Endpoint> names;
  for (int i = 0; i < 100; ++i) {
    names.push_back(*ParseEndpoint(fmt::format("n{}.example:1", i)));
    world.answers.Give(At({kFirst}));
  }
  world.resolver.Prepare(names, std::chrono::hours(1));
  CHECK(world.answers.asked() == 100);
}

bool Resolving(const test::Handler& handler) {
  return dynamic_cast<const AwaitsName&>(*handler.stream).Resolving();
}

TEST_CASE("numbers need no resolver") {
  World world;
  test::Listener listener(Kind::kIpv4);
  test::Handler handler;
  handler.stream = world.loop->Connect(listener.endpoint, handler);
  CHECK_FALSE(Resolving(handler));
  REQUIRE(RunUntil(*world.loop, [&] { return handler.connected == 1; }));
  CHECK(world.answers.asked() == 0);
}

TEST_CASE("a name's addresses are tried until one connects") {
  World world;
  test::Listener refuses(Kind::kIpv4);
  refuses.Close();
  test::Listener listens(Kind::kIpv4);
  SECTION("the first is refused") {
    world.answers.Give(At({refuses.endpoint, listens.endpoint}));
  }
  SECTION("the first does not answer") {
    // Those that came before wait to be accepted, and there is no more room.
    test::Listener full(Kind::kIpv4, 0);
    std::vector<test::Handler> before(4);
    for (test::Handler& one : before) {
      one.stream = world.loop->Connect(full.endpoint, one);
    }
    REQUIRE(RunUntil(*world.loop, [&] { return before[0].connected == 1; }));
    world.answers.Give(At({full.endpoint, listens.endpoint}));
    test::Handler handler;
    handler.stream = world.loop->Connect(world.name, handler);
    CHECK(Resolving(handler));
    REQUIRE(RunUntil(*world.loop, [&] { return handler.connected == 1; }));
    world.answers.Give(At({full.endpoint, listens.endpoint}));
  }
  test::Handler handler;
  handler.stream = world.loop->Connect(world.name, handler);
  REQUIRE(RunUntil(*world.loop, [&] { return handler.connected == 1; }));
  CHECK_FALSE(Resolving(handler));
  CHECK(world.Ask().addresses.front() ==
        PlainAddresses(listens.endpoint).front());
}

TEST_CASE("a stream without an address says why") {
  World world;
  test::Handler handler;
  world.answers.Give(None("unknown", true));
  handler.stream = world.loop->Connect(world.name, handler);
  REQUIRE(RunUntil(*world.loop, [&] { return !handler.failure.empty(); }));
  CHECK(handler.failure == "cannot resolve the host name: unknown");
}

// Nor does the end of this program, which leaves calls that hang.
TEST_CASE("the end of a stream or loop does not wait for a name") {
  World world;
  test::Handler handler;
  handler.stream = world.loop->Connect(world.name, handler);
  world.answers.AwaitAsked(1);
  SECTION("of a stream") {
    handler.stream.reset();
    world.answers.Give(At({kFirst}));
    CHECK_FALSE(world.Ask().addresses.empty());
    CHECK(handler.failure.empty());
  }
  SECTION("of all") {
    handler.stream.reset();
    world.loop.reset();
  }
}

TEST_CASE("a link says that it waits for a name") {
  World world;
  LinkOptions options;
  options.connect_timeout = std::chrono::milliseconds(10);
  ServerLink link(*world.loop, world.name, 0, options, nullptr);
  test::Call call(Verb::kVersion);
  CHECK(test::Do(*world.loop, link, call) == Outcome::kNotSent);
  CHECK(link.last_error().starts_with("its host name is not resolved "));
}

TEST_CASE("a child resolves for itself") {
  // What was being resolved when it forked is of no use to it.
  Resolver* const parents = &Resolver::OfProcess();
  const pid_t child = fork();
  if (child == 0) _exit(&Resolver::OfProcess() != parents ? 0 : 1);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace
}  // namespace ers::net
