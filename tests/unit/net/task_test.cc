#include "net/task.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "net/event_loop.h"

namespace ers::net {
namespace {

Task<int> Plus(int a, int b) { co_return a + b; }

Task<long> SumAtOnce(int count) {
  long sum = 0;
  for (int i = 0; i < count; ++i) sum += co_await Plus(i, 1);
  co_return sum;
}

TEST_CASE("a million awaits that complete at once need no stack") {
  const auto loop = NewEventLoop();
  CHECK(SyncWait(*loop, SumAtOnce(1000000)) == 500000500000L);
}

Task<int> OneLater(Runtime& runtime, Latch& latch) {
  latch.Add();
  runtime.Post([&latch] { latch.CountDown(); });
  co_await latch;
  co_return 1;
}

Task<int> CountLater(Runtime& runtime, int count) {
  Latch latch(runtime);
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += co_await OneLater(runtime, latch);
  }
  co_return sum;
}

TEST_CASE("100,000 awaits that complete later need no stack") {
  const auto loop = NewEventLoop();
  CHECK(SyncWait(*loop, CountLater(*loop, 100000)) == 100000);
}

Task<int> Descend(int depth) {
  if (depth == 0) co_return 0;
  co_return 1 + co_await Descend(depth - 1);
}

TEST_CASE("tasks nest") {
  const auto loop = NewEventLoop();
  CHECK(SyncWait(*loop, Descend(1000)) == 1000);
}

Task<std::unique_ptr<std::string>> Owned(std::unique_ptr<std::string> text) {
  *text += "!";
  co_return std::move(text);
}

TEST_CASE("values that only move pass through a task") {
  const auto loop = NewEventLoop();
  auto text = std::make_unique<std::string>("moved");
  CHECK(*SyncWait(*loop, Owned(std::move(text))) == "moved!");
}

Task<void> Worker(Latch& started, Latch& ended, int& running) {
  ++running;
  co_await started;
  --running;
  ended.CountDown();
}

Task<void> Boss(Runtime& runtime, int workers, int& running) {
  Latch ended(runtime, workers);
  std::vector<std::unique_ptr<Latch>> started;
  for (int i = 0; i < workers; ++i) {
    started.push_back(std::make_unique<Latch>(runtime, 1));
    Spawn(Worker(*started.back(), ended, running));
  }
  for (const auto& latch : started) latch->CountDown();
  co_await ended;
}

TEST_CASE("a latch waits for all that were spawned") {
  const auto loop = NewEventLoop();
  int running = 0;
  SyncWait(*loop, Boss(*loop, 100, running));
  CHECK(running == 0);
}

// Counts how many of it there are.
struct Alive {
  explicit Alive(int& to) : count(&to) { ++*count; }
  Alive(const Alive& other) : count(other.count) { ++*count; }
  Alive& operator=(const Alive&) = delete;
  ~Alive() { --*count; }
  int* count;
};

Task<void> Hold(Alive, Latch& latch) { co_await latch; }

TEST_CASE("a spawned task frees itself, at once or later") {
  const auto loop = NewEventLoop();
  int alive = 0;
  Latch open(*loop);
  Latch closed(*loop, 1);
  Spawn(Hold(Alive(alive), open));
  CHECK(alive == 0);
  Spawn(Hold(Alive(alive), closed));
  CHECK(alive == 1);
  closed.CountDown();
  loop->RunUntil([&] { return alive == 0; });
}

Task<std::string> Both(Task<std::string> first, Task<void> second) {
  co_await std::move(second);
  co_return co_await std::move(first) + "!";
}

TEST_CASE("a task may have ended before it began") {
  const auto loop = NewEventLoop();
  Task<std::string> ready = Task<std::string>::Ready("ready");
  Task<std::string> moved = std::move(ready);
  CHECK(SyncWait(*loop, Both(std::move(moved), Task<void>::Ready())) ==
        "ready!");
  Spawn(Task<void>::Ready());
}

Task<int> UpAgain(Runtime& runtime) {
  Latch latch(runtime, 1);
  int fired = 0;
  const auto first = runtime.NewTimer([&] {
    ++fired;
    latch.CountDown();
    latch.Add();  // before the waiter runs: it goes on waiting
  });
  const auto second = runtime.NewTimer([&] {
    ++fired;
    latch.CountDown();
  });
  first->Start(Duration{});
  second->Start(std::chrono::milliseconds(1));
  co_await latch;
  co_return fired;
}

TEST_CASE("a latch that is counted up again before its waiter ran waits on") {
  const auto loop = NewEventLoop();
  CHECK(SyncWait(*loop, UpAgain(*loop)) == 2);
}

}  // namespace
}  // namespace ers::net
