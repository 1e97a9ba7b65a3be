#include "store/membership/key_lines.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "net/event_loop.h"
#include "unit/net/fake_runtime.h"

namespace ers::store {
namespace {

using std::chrono::seconds;

constexpr net::Duration kPatience = seconds(5);

// Those that have come to their turn, in order, and hold it until they are
// notified.
struct Queue {
  struct Place {
    bool done = false;
    std::optional<KeyLines::Turn> turn;
  };

  test::FakeRuntime runtime;
  KeyLines lines;
  std::vector<std::unique_ptr<Place>> places;

  static net::Task<void> Wait(Queue& queue, std::string key, Place& place) {
    std::optional<KeyLines::Turn> turn =
        co_await queue.lines.Take(queue.runtime, key, kPatience);
    if (turn) place.turn.emplace(std::move(*turn));
    place.done = true;
  }
  Place& Join(const std::string& key) {
    Place& place = *places.emplace_back(std::make_unique<Place>());
    net::Spawn(Wait(*this, key, place));
    return place;
  }
  void End(Place& place) {
    place.turn.reset();
    runtime.RunAll();
  }
};

TEST_CASE("changes of one key come one after the other, of others at once") {
  Queue queue;
  Queue::Place& first = queue.Join("key");
  Queue::Place& second = queue.Join("key");
  Queue::Place& third = queue.Join("key");
  Queue::Place& other = queue.Join("other");
  CHECK(first.turn);
  CHECK_FALSE(first.turn->waited());
  CHECK(other.turn);
  CHECK_FALSE(second.done);
  CHECK_FALSE(queue.lines.TryTake(queue.runtime, "key"));
  queue.End(first);
  REQUIRE(second.turn);
  CHECK(second.turn->waited());
  CHECK_FALSE(third.done);
  queue.End(second);
  CHECK(third.turn);
  CHECK(queue.lines.size() == 2);
  queue.End(third);
  queue.End(other);
  CHECK(queue.lines.size() == 0);
  CHECK(queue.lines.TryTake(queue.runtime, "key"));
}

TEST_CASE("a change waits on while turns end, and gives up when not") {
  Queue queue;
  Queue::Place& first = queue.Join("key");
  Queue::Place& second = queue.Join("key");
  Queue::Place& third = queue.Join("key");
  Queue::Place& fourth = queue.Join("key");
  queue.runtime.Pass(kPatience - seconds(1));
  queue.End(first);
  queue.runtime.Pass(kPatience - seconds(1));
  CHECK(second.turn);
  CHECK_FALSE(third.done);
  queue.runtime.Pass(2 * kPatience);
  CHECK(third.done);
  CHECK_FALSE(third.turn);
  CHECK_FALSE(fourth.turn);
  // The line is as if they had not been there.
  Queue::Place& fifth = queue.Join("key");
  queue.End(second);
  CHECK(fifth.turn);
  queue.End(fifth);
  CHECK(queue.lines.size() == 0);
}

TEST_CASE("the next in line gets what is there") {
  Queue queue;
  Queue::Place& first = queue.Join("key");
  Queue::Place& second = queue.Join("key");
  Queue::Place& third = queue.Join("key");
  CHECK_FALSE(first.turn->found());
  const auto manifest = std::make_shared<const Manifest>();
  first.turn->Leave(manifest);
  queue.End(first);
  CHECK(second.turn->found() == manifest);
  // It changed nothing.
  queue.End(second);
  CHECK(third.turn->found() == manifest);
  queue.End(third);
  CHECK_FALSE(queue.Join("key").turn->found());
}

net::Task<void> Work(net::Runtime& runtime, KeyLines& lines, int times,
                     std::atomic<int>& inside, int& sum, int& left) {
  for (int i = 0; i < times; ++i) {
    std::optional<KeyLines::Turn> turn = lines.TryTake(runtime, "key");
    if (!turn) turn.emplace(*co_await lines.Take(runtime, "key", seconds(60)));
    if (inside.fetch_add(1) == 0) ++sum;
    net::Turn others(runtime);
    co_await others;
    inside.fetch_sub(1);
  }
  --left;
}

TEST_CASE("threads wait in one line, and no call is lost") {
  constexpr int kThreads = 4;
  constexpr int kTasks = 8;
  constexpr int kTimes = 200;
  KeyLines lines;
  std::atomic<int> inside{0};
  int sum = 0;  // the thread that has the turn adds to it
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const auto loop = net::NewEventLoop();
      int left = kTasks;
      for (int task = 0; task < kTasks; ++task) {
        net::Spawn(Work(*loop, lines, kTimes, inside, sum, left));
      }
      loop->RunUntil([&left] { return left == 0; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(sum == kThreads * kTasks * kTimes);
  CHECK(lines.size() == 0);
}

}  // namespace
}  // namespace ers::store
