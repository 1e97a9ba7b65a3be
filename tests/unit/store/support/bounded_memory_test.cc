// Memory that tasks share: which get some, which wait, in which order.
#include "store/support/bounded_memory.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "net/event_loop.h"
#include "net/task.h"

namespace ers::store {
namespace {

struct Fixture {
  using Share = BoundedMemory::Share;

  // Notes its name in `order` when it has what it asked for.
  void Take(const std::string& name, std::uint64_t bytes) {
    shares[name] = std::make_unique<Share>(&memory);
    net::Spawn(Note(name, bytes));
  }
  net::Task<void> Note(std::string name, std::uint64_t bytes) {
    co_await shares[name]->Take(bytes);
    order += name;
  }
  void Give(const std::string& name) { shares.erase(name); }
  // Lets those go on that were given what they waited for.
  std::string Order() {
    bool done = false;
    loop->Post([&done] { done = true; });
    loop->RunUntil([&done] { return done; });
    return std::exchange(order, {});
  }

  std::unique_ptr<net::EventLoop> loop = net::NewEventLoop();
  BoundedMemory memory{*loop, 100};
  std::map<std::string, std::unique_ptr<Share>> shares;
  std::string order;
};

TEST_CASE("no more is held than the limit") {
  Fixture f;
  f.Take("a", 60);
  f.Take("b", 40);
  f.Take("c", 1);
  CHECK(f.Order() == "ab");
  CHECK(f.memory.held() == 100);
  f.Give("b");
  CHECK(f.Order() == "c");
  CHECK(f.memory.held() == 61);
  f.Give("a");
  f.Give("c");
  CHECK(f.memory.held() == 0);
}

TEST_CASE(
    "a task that waits for much is not passed by one that asks for little") {
  Fixture f;
  f.Take("a", 50);
  f.Take("b", 80);
  f.Take("c", 10);  // there would be room
  f.Take("d", 20);
  CHECK(f.Order() == "a");
  f.Give("a");
  // As many as there is room for, in turn.
  CHECK(f.Order() == "bc");
  CHECK(f.memory.held() == 90);
  f.Give("c");
  CHECK(f.Order() == "d");
  for (const char* name : {"b", "d"}) f.Give(name);
}

TEST_CASE("a task that asks for more than there is has it alone") {
  Fixture f;
  SECTION("at once where no task holds any") {
    f.Take("a", 101);
    f.Take("b", 1);
    CHECK(f.Order() == "a");
    CHECK(f.memory.held() == 101);
    f.Give("a");
    CHECK(f.Order() == "b");
    f.Give("b");
  }
  SECTION("when all before it are done, and before all after it") {
    f.Take("a", 1);
    f.Take("b", 1);
    f.Take("c", 1000);
    f.Take("d", 1);
    CHECK(f.Order() == "ab");
    f.Give("a");
    CHECK(f.Order().empty());
    f.Give("b");
    CHECK(f.Order() == "c");
    f.Give("c");
    CHECK(f.Order() == "d");
    f.Give("d");
  }
  CHECK(f.memory.held() == 0);
}

TEST_CASE("without a memory no limit holds") {
  Fixture f;
  BoundedMemory::Share share(nullptr);
  net::SyncWait(*f.loop, share.Take(1000));
}

}  // namespace
}  // namespace ers::store
