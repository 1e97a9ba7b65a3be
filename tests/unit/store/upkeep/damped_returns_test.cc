// DampedReturns: a server that comes and goes stays out for longer each time.
#include "store/upkeep/damped_returns.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

namespace ers::store {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kMark = "12 34 56";

struct Fixture {
  Fixture() {
    view.members.resize(2);
    for (Member& member : view.members) {
      member.incarnation = 1;
      member.boot_mark = kMark;
    }
    returns.Note(view, now);
  }
  // Of the second member.
  void Return(const std::string& mark = kMark) {
    ++view.members[1].incarnation;
    view.members[1].boot_mark = mark;
    returns.Note(view, now);
  }
  net::Duration Wait(const std::string& mark = kMark) const {
    return returns.Wait(1, mark, now);
  }

  View view;
  DampedReturns returns;
  net::TimePoint now{std::chrono::hours(10)};
};

TEST_CASE("the first return is at once") {
  const Fixture f;
  CHECK(f.Wait() == net::Duration());
  CHECK(DampedReturns().Wait(1, kMark, f.now) == net::Duration());
}

TEST_CASE("each return more takes twice as long, up to a quarter of an hour") {
  Fixture f;
  for (const int wait : {1, 2, 4, 8, 15, 15}) {
    f.Return();
    CHECK(f.Wait() == minutes(wait));
    f.now += minutes(wait) - seconds(1);
    CHECK(f.Wait() == seconds(1));
    f.now += seconds(2);
    CHECK(f.Wait() == net::Duration());
  }
  CHECK(f.returns.Wait(0, kMark, f.now) == net::Duration());
}

TEST_CASE("it waits since its last return: what held for long may come back") {
  Fixture f;
  f.Return();
  f.now += minutes(1);
  CHECK(f.Wait() == net::Duration());
}

TEST_CASE("returns are forgotten after an hour") {
  Fixture f;
  f.Return();
  f.Return();
  f.now += DampedReturns::kRemembered + seconds(1);
  f.returns.Note(f.view, f.now);
  f.Return();
  CHECK(f.Wait() == DampedReturns::kFirstWait);
}

TEST_CASE("a restart is no return, and never waits") {
  Fixture f;
  f.Return();
  CHECK(f.Wait("another memory") == net::Duration());
  f.Return("another memory");
  // The one before counts still.
  CHECK(f.Wait("another memory") == DampedReturns::kFirstWait);
  f.now += DampedReturns::kFirstWait;
  CHECK(f.Wait("another memory") == net::Duration());
  f.Return("a third memory");
  CHECK(f.Wait("a third memory") == net::Duration());
}

}  // namespace
}  // namespace ers::store
