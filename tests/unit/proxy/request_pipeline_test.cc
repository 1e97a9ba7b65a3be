// The requests of one client under way: which may run beside which, and in
// which order their answers leave.
#include "server/request_pipeline.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "unit/net/fake_runtime.h"

using namespace ers;
using namespace ers::proxy;

namespace {

using Slot = RequestPipeline::Slot;

ClientRequest Asked(Operation operation, std::string key = "") {
  ClientRequest request;
  request.operation = operation;
  request.key = std::move(key);
  request.want_value = operation == Operation::kGet;
  return request;
}

struct Fixture {
  Slot& Add(Operation operation, std::string key = "") {
    return pipeline.Add(Asked(operation, std::move(key)));
  }
  // With `answer` as its answer.
  void End(Slot& slot, const std::string& answer) {
    slot.head = answer;
    pipeline.End(slot);
  }
  void Fail(Slot& slot, const std::string& why) {
    slot.outcome = ReplyStatus::kServerError;
    slot.text = why;
    pipeline.End(slot);
  }
  // What was answered since the last call.
  std::string Answered() { return std::exchange(answered, {}); }
  net::Task<void> AwaitTurn(Slot& slot, std::string name) {
    co_await pipeline.TurnOf(slot);
    turns += name;
  }
  net::Task<void> AwaitEmpty() {
    const auto over = [this] { return pipeline.empty() || gone; };
    co_await pipeline.Until(over);
    turns += "empty";
  }

  test::FakeRuntime runtime;
  Counters counters;
  MemoryBudget budget{runtime, counters};
  MemoryAccount account{budget};
  std::string answered;
  std::string turns;
  bool gone = false;
  RequestPipeline pipeline{runtime, account,
                           [this](Slot& slot, auto) { answered += slot.head; }};
};

}  // namespace

TEST_CASE("answers leave in the order of their requests") {
  Fixture f;
  Slot& a = f.Add(Operation::kGet, "a");
  Slot& b = f.Add(Operation::kStore, "b");
  Slot& c = f.Add(Operation::kNoop);
  f.End(c, "c ");
  f.End(b, "b ");
  CHECK(f.Answered().empty());
  f.End(a, "a ");
  CHECK(f.Answered() == "a b c ");
  CHECK(f.pipeline.empty());
}

TEST_CASE("of one key, only reads run side by side") {
  Fixture f;
  Slot& get = f.Add(Operation::kGet, "k");
  CHECK(f.pipeline.MayStart(Asked(Operation::kGet, "k")));
  CHECK_FALSE(f.pipeline.MayStart(Asked(Operation::kStore, "k")));
  CHECK(f.pipeline.MayStart(Asked(Operation::kStore, "other")));
  ClientRequest touching = Asked(Operation::kGet, "k");
  touching.exptime = 10;
  CHECK_FALSE(f.pipeline.MayStart(touching));
  f.End(get, "");
  CHECK(f.pipeline.MayStart(Asked(Operation::kStore, "k")));

  Slot& first = f.Add(Operation::kGet, "other");
  Slot& store = f.Add(Operation::kStore, "k");
  CHECK_FALSE(f.pipeline.MayStart(Asked(Operation::kGet, "k")));
  f.End(store, "");  // its answer waits for the first one's, its key does not
  CHECK(f.pipeline.MayStart(Asked(Operation::kGet, "k")));
  f.End(first, "");
}

TEST_CASE("so many requests are under way and no more") {
  Fixture f;
  std::vector<Slot*> slots;
  while (f.pipeline.HasRoom()) {
    slots.push_back(&f.Add(Operation::kGet, std::to_string(slots.size())));
  }
  CHECK(slots.size() == 64);
  CHECK_FALSE(f.pipeline.MayStart(Asked(Operation::kGet, "one more")));
  f.End(*slots[1], "");  // it still holds its place
  CHECK_FALSE(f.pipeline.HasRoom());
  f.End(*slots[0], "");
  CHECK(f.pipeline.HasRoom());
}

TEST_CASE("a get line's end says the first error of its keys") {
  Fixture f;
  Slot& a = f.Add(Operation::kGet, "a");
  Slot& b = f.Add(Operation::kGet, "b");
  Slot& c = f.Add(Operation::kGet, "c");
  Slot& end = f.Add(Operation::kEndOfGets);
  f.pipeline.End(end);
  f.Fail(c, "the second");
  f.Fail(b, "the first");
  a.outcome = ReplyStatus::kNotFound;  // which is no error
  f.pipeline.End(a);
  CHECK(f.Answered() == "SERVER_ERROR the first\r\n");

  Slot& good = f.Add(Operation::kGet, "a");
  Slot& its_end = f.Add(Operation::kEndOfGets);
  f.End(good, "a ");
  f.pipeline.End(its_end);
  CHECK(f.Answered() == "a END\r\n");
}

TEST_CASE("a get line that is refused in its middle leaves no error behind") {
  Fixture f;
  f.Fail(f.Add(Operation::kGet, "a"), "an error");
  Slot& refused = f.Add(Operation::kDelete);
  refused.refused = true;
  f.End(refused, "CLIENT_ERROR ");
  f.pipeline.End(f.Add(Operation::kEndOfGets));
  CHECK(f.Answered() == "CLIENT_ERROR END\r\n");
}

TEST_CASE("a slot has its turn when all before it are answered") {
  Fixture f;
  Slot& a = f.Add(Operation::kGet, "a");
  Slot& b = f.Add(Operation::kGet, "b");
  Slot& c = f.Add(Operation::kGet, "c");
  net::Spawn(f.AwaitTurn(a, "a"));
  CHECK(f.turns == "a");
  net::Spawn(f.AwaitTurn(b, "b"));
  net::Spawn(f.AwaitTurn(c, "c"));
  f.runtime.RunAll();
  CHECK(f.turns == "a");
  f.pipeline.End(a);
  f.runtime.RunAll();
  CHECK(f.turns == "ab");
  f.pipeline.Release();
  f.runtime.RunAll();
  CHECK(f.turns == "abc");
  f.pipeline.End(b);
  f.pipeline.End(c);
}

TEST_CASE("what waits for the pipeline is woken by an end and by a wake") {
  Fixture f;
  Slot& a = f.Add(Operation::kGet, "a");
  net::Spawn(f.AwaitEmpty());
  f.pipeline.Wake();
  f.runtime.RunAll();
  CHECK(f.turns.empty());
  f.pipeline.End(a);
  f.runtime.RunAll();
  CHECK(f.turns == "empty");

  Slot& b = f.Add(Operation::kGet, "b");
  net::Spawn(f.AwaitEmpty());
  f.gone = true;
  f.pipeline.Wake();
  f.runtime.RunAll();
  CHECK(f.turns == "emptyempty");
  f.pipeline.End(b);
}
