// The checker against histories made by hand, good and bad, and its search
// against all orders of small random ones.
#include "sim/history/checker.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "sim/history/history.h"
#include "sim/world/sim_world.h"

namespace ers::sim {
namespace {

// A history in words; times are small numbers.
class Tale {
 public:
  std::uint32_t Put(int from, int to, Ending ending = Ending::kAcked,
                    std::size_t cells = 3, std::uint64_t attributes = 0) {
    const auto id = history.BeginPut(1, "k", cells, At(from), attributes);
    if (ending != Ending::kOpen) history.End(id, ending, At(to));
    return id;
  }
  std::uint32_t Update(int from, int to, std::size_t first, std::size_t count,
                       Ending ending = Ending::kAcked) {
    const auto id = history.BeginUpdate(1, "k", first, count, At(from));
    if (ending != Ending::kOpen) history.End(id, ending, At(to));
    return id;
  }
  std::uint32_t Append(int from, int to, std::size_t cells,
                       Ending ending = Ending::kAcked) {
    const auto id = history.BeginAppend(1, "k", cells, At(from));
    if (ending != Ending::kOpen) history.End(id, ending, At(to));
    return id;
  }
  std::uint32_t PutIf(OperationKind kind, int from, int to,
                      Ending ending = Ending::kAcked, Cells expected = {},
                      std::size_t cells = 1) {
    const auto id =
        history.BeginPutIf(1, "k", kind, cells, std::move(expected), At(from));
    if (ending != Ending::kOpen) history.End(id, ending, At(to));
    return id;
  }
  void Get(int from, int to, Cells cells, std::uint64_t cas = 0,
           std::uint64_t attributes = 0) {
    const auto id = history.Begin(2, "k", OperationKind::kGet, At(from));
    history.EndGet(id, std::move(cells), At(to), cas, attributes);
  }
  void Other(OperationKind kind, int from, int to,
             Ending ending = Ending::kAcked) {
    const auto id = history.Begin(3, "k", kind, At(from));
    if (ending != Ending::kOpen) history.End(id, ending, At(to));
  }
  // 0: never.
  void Expires(std::uint32_t id, int when) {
    if (when != 0) history.SetExpiry(id, At(when));
  }
  void Touch(int from, int to, int when, Ending ending = Ending::kAcked) {
    const auto id = history.Begin(3, "k", OperationKind::kTouch, At(from));
    Expires(id, when);
    if (ending != Ending::kOpen) history.End(id, ending, At(to));
  }
  void Flush(int from, int to, int when, Ending ending = Ending::kAcked) {
    const auto id = history.BeginFlush(4, At(when), At(from));
    if (ending != Ending::kOpen) history.End(id, ending, At(to));
  }
  void GetUntil(int from, int to, Cells cells, int when) {
    const auto id = history.Begin(2, "k", OperationKind::kGet, At(from));
    history.EndGet(id, std::move(cells), At(to), 0, 0, At(when));
  }
  void Miss(int from, int to) {
    Other(OperationKind::kGet, from, to, Ending::kNotFound);
  }
  void Delete(int from, int to, Ending ending = Ending::kAcked) {
    Other(OperationKind::kDelete, from, to, ending);
  }

  void IsGood(const CheckOptions& options = {}) const {
    for (const Violation& violation : Check(history, options)) {
      FAIL_CHECK(violation.text);
    }
  }
  void Breaks(Invariant invariant, const CheckOptions& options = {}) const {
    const std::vector<Violation> found = Check(history, options);
    REQUIRE(!found.empty());
    CAPTURE(found.front().text);
    CHECK(found.front().invariant == invariant);
    CHECK(found.front().text.starts_with(InvariantName(invariant)));
  }

  static TimePoint At(int time) {
    return TimePoint(std::chrono::milliseconds(time));
  }
  History history;
};

TEST_CASE("good histories pass") {
  Tale tale;
  tale.Miss(0, 1);
  const auto a = tale.Put(2, 3);
  tale.Get(4, 5, {a, a, a}, 7);
  const auto u = tale.Update(6, 10, 1, 1);
  tale.Get(7, 8, {a, a, a}, 7);
  tale.Get(8, 9, {a, u, a}, 8);
  tale.Other(OperationKind::kTransition, 8, 12);
  tale.Get(11, 12, {a, u, a}, 8);
  const auto lost = tale.Put(13, 14, Ending::kUnknown);
  tale.Get(15, 16, {a, u, a});
  tale.Delete(17, 18);
  tale.Miss(19, 20);
  // What is unknown may come late, and once.
  tale.Get(21, 22, {lost, lost, lost});
  tale.Delete(23, 24, Ending::kUnknown);
  tale.Get(25, 26, {lost, lost, lost});
  tale.Miss(27, 28);
  tale.Update(29, 30, 0, 1, Ending::kNotFound);
  tale.Put(31, 32, Ending::kFailed);
  tale.Miss(33, 34);
  tale.IsGood();
}

TEST_CASE("good histories of appends and exports pass") {
  Tale tale;
  tale.Append(0, 1, 1, Ending::kNotFound);
  const auto a = tale.Put(2, 3, Ending::kAcked, 1);
  const auto b = tale.Append(4, 8, 2);
  const auto c = tale.Append(5, 9, 1);
  tale.Get(6, 7, {a});
  tale.Get(10, 11, {a, c, b, b});
  tale.Other(OperationKind::kExport, 12, 13);
  tale.Get(14, 15, {a, c, b, b});
  const auto u = tale.Update(16, 17, 1, 1);
  const auto lost = tale.Append(18, 19, 1, Ending::kUnknown);
  tale.Append(20, 21, 1, Ending::kFailed);
  tale.Get(22, 23, {a, u, b, b});
  tale.Get(24, 25, {a, u, b, b, lost});
  const auto d = tale.Put(26, 27, Ending::kAcked, 1);
  tale.Get(28, 29, {d});
  tale.IsGood();
}

TEST_CASE("an exported value may come back with its server, and no other") {
  CheckOptions options;
  options.values_may_vanish = true;
  const bool exports = GENERATE(true, false);
  Tale tale;
  const auto a = tale.Put(0, 1);
  if (exports) tale.Other(OperationKind::kExport, 2, 3);
  const auto b = tale.Put(4, 5);
  tale.Get(6, 7, {b, b, b});
  tale.Get(8, 9, {a, a, a});
  tale.Breaks(Invariant::kOneChain, options);
  options.exported_may_return = true;
  if (exports) tale.IsGood(options);
  if (!exports) tale.Breaks(Invariant::kOneChain, options);
  // Nor what was put behind the export.
  const auto c = tale.Put(10, 11);
  tale.Get(12, 13, {c, c, c});
  tale.Get(14, 15, {b, b, b});
  tale.Breaks(Invariant::kOneChain, options);
}

constexpr auto kCas = OperationKind::kCas;
constexpr auto kAdd = OperationKind::kAdd;
constexpr auto kReplace = OperationKind::kReplace;

TEST_CASE("good histories of puts under a condition pass") {
  Tale tale;
  tale.PutIf(kReplace, 0, 1, Ending::kNotFound);
  const auto a = tale.PutIf(kAdd, 2, 3);
  tale.PutIf(kAdd, 4, 5, Ending::kRefused);
  const auto b = tale.PutIf(kCas, 6, 7, Ending::kAcked, {a});
  tale.PutIf(kCas, 8, 9, Ending::kRefused, {a});
  // Of two at the same time one is first; what is unknown may be.
  const auto lost = tale.PutIf(kCas, 10, 11, Ending::kUnknown, {b});
  tale.PutIf(kCas, 12, 13, Ending::kRefused, {b});
  tale.Get(14, 15, {lost});
  const auto c = tale.PutIf(kReplace, 16, 17);
  tale.Get(18, 19, {c});
  tale.Delete(20, 21);
  tale.PutIf(kCas, 22, 23, Ending::kNotFound, {c});
  const auto late = tale.PutIf(kAdd, 24, 25, Ending::kUnknown);
  tale.Miss(26, 27);
  tale.PutIf(kAdd, 28, 29, Ending::kRefused);
  tale.Get(30, 31, {late});
  // Contents without a cell cannot be distinguished.
  tale.Put(32, 33, Ending::kAcked, 0);
  tale.PutIf(kCas, 34, 35, Ending::kRefused, {});
  tale.PutIf(kCas, 36, 37, Ending::kAcked, {}, 0);
  tale.IsGood();
}

TEST_CASE("a put over what it must not replace is found") {
  Tale tale;
  const auto a = tale.Put(1, 2, Ending::kAcked, 1);
  SECTION("an add over an object") {
    const auto b = tale.PutIf(kAdd, 3, 4);
    tale.Get(5, 6, {b});
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("an add that is refused by nothing") {
    tale.Delete(3, 4);
    tale.PutIf(kAdd, 5, 6, Ending::kRefused);
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("a replace of nothing") {
    tale.Delete(3, 4);
    tale.PutIf(kReplace, 5, 6);
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("a replace that finds nothing where there is an object") {
    tale.PutIf(kReplace, 3, 4, Ending::kNotFound);
    tale.Breaks(Invariant::kNothingLost);
  }
  SECTION("a cas over another content") {
    const auto b = tale.Put(3, 4, Ending::kAcked, 1);
    tale.PutIf(kCas, 5, 6, Ending::kAcked, {a});
    tale.Breaks(Invariant::kOneChain);
    CheckOptions options;
    options.cas_may_repeat = true;
    tale.IsGood(options);
    CHECK(b > a);
  }
  SECTION("a cas that is refused by its own content") {
    tale.PutIf(kCas, 3, 4, Ending::kRefused, {a});
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("two of the same CAS") {
    tale.PutIf(kCas, 3, 8, Ending::kAcked, {a});
    tale.PutIf(kCas, 4, 9, Ending::kAcked, {a});
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("one that was refused, and shows") {
    const auto b = tale.PutIf(kAdd, 3, 4, Ending::kRefused);
    tale.Get(5, 6, {b});
    tale.Breaks(Invariant::kFailedLeavesWhole);
  }
}

TEST_CASE("good histories of objects that expire pass") {
  Tale tale;
  const auto a = tale.Put(1, 2, Ending::kAcked, 1);
  tale.Expires(a, 10);
  tale.Get(9, 12, {a});
  tale.Miss(9, 12);
  tale.Other(OperationKind::kTransition, 9, 12);
  tale.Miss(13, 14);
  // A longer life, and one that may have come too late.
  const auto b = tale.Put(15, 16, Ending::kAcked, 1);
  tale.Expires(b, 30);
  tale.Touch(17, 18, 40);
  tale.GetUntil(31, 32, {b}, 40);
  tale.Touch(33, 34, 60, Ending::kUnknown);
  tale.GetUntil(41, 42, {b}, 60);
  tale.Miss(61, 62);
  tale.Touch(61, 63, 0, Ending::kNotFound);
  // What began in time may revive what others have missed.
  const auto c = tale.Put(64, 65, Ending::kAcked, 1);
  tale.Expires(c, 70);
  tale.Touch(69, 74, 80);
  tale.Miss(71, 72);
  tale.GetUntil(75, 76, {c}, 80);
  tale.Miss(81, 82);
  // Nothing is in its way any more.
  const auto d = tale.PutIf(kAdd, 83, 84);
  tale.Expires(d, 90);
  tale.PutIf(kCas, 91, 92, Ending::kNotFound, {d});
  tale.IsGood();
}

TEST_CASE("an object that lives on, or ends too early, is found") {
  Tale tale;
  const auto a = tale.Put(1, 2, Ending::kAcked, 1);
  tale.Expires(a, 10);
  SECTION("read when it has expired") {
    tale.Get(11, 12, {a});
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("missed before that") {
    tale.Miss(3, 4);
    tale.Breaks(Invariant::kNothingLost);
  }
  SECTION("missed though it was touched") {
    tale.Touch(3, 4, 20);
    tale.Miss(11, 12);
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("touched when it has expired") {
    tale.Touch(11, 12, 20);
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("with another expiry than the last one") {
    tale.Touch(3, 4, 20);
    tale.GetUntil(5, 6, {a}, 10);
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("in the way of an add") {
    tale.PutIf(kAdd, 11, 12, Ending::kRefused);
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("back after a miss") {
    tale.Miss(11, 12);
    tale.Touch(13, 14, 20);
    tale.Get(15, 16, {a});
    tale.Breaks(Invariant::kMissOnlyIfAbsent);
  }
}

TEST_CASE("good histories of flushes pass") {
  Tale tale;
  const auto a = tale.Put(1, 2, Ending::kAcked, 1);
  tale.Flush(3, 6, 3);
  tale.Get(4, 5, {a});
  tale.Miss(4, 5);
  tale.Miss(7, 8);
  // Put meanwhile: it may be either.
  tale.Flush(9, 13, 9);
  const auto b = tale.Put(10, 11, Ending::kAcked, 1);
  tale.Get(14, 15, {b});
  tale.Flush(16, 18, 16);
  tale.Put(16, 17, Ending::kAcked, 1);
  tale.Miss(18, 19);
  // What was put behind it stays; what is unknown may come late.
  tale.Flush(19, 20, 19, Ending::kUnknown);
  const auto c = tale.Put(21, 22, Ending::kAcked, 1);
  tale.Get(23, 24, {c});
  // With a time to come; no other takes it back.
  tale.Flush(25, 26, 40);
  tale.Get(30, 31, {c});
  tale.Miss(41, 42);
  const auto d = tale.Put(43, 44, Ending::kAcked, 1);
  tale.Flush(45, 46, 60);
  tale.Flush(47, 48, 70);
  tale.Get(49, 50, {d});
  tale.Miss(61, 62);
  const auto e = tale.Put(63, 64, Ending::kAcked, 1);
  tale.Get(65, 66, {e});
  tale.Miss(71, 72);
  tale.IsGood();
}

TEST_CASE("what is packed behind the time of a flush under way may stay") {
  // So may what a backfill has stored anew.
  const OperationKind kind =
      GENERATE(OperationKind::kPack, OperationKind::kKeep);
  Tale tale;
  const auto a = tale.Put(1, 2, Ending::kAcked, 1);
  const auto flushed = [&](Ending packed, int from, int to) {
    tale.Flush(3, 20, 10);
    tale.Other(kind, from, to, packed);
    tale.Get(21, 22, {a});
  };
  SECTION("packed") {
    flushed(Ending::kAcked, 12, 13);
    tale.IsGood();
  }
  SECTION("across that time") {
    flushed(Ending::kAcked, 9, 13);
    tale.IsGood();
  }
  SECTION("cut off") {
    flushed(Ending::kUnknown, 12, 13);
    tale.IsGood();
  }
  SECTION("or goes") {
    tale.Flush(3, 20, 10);
    tale.Other(kind, 12, 13);
    tale.Miss(21, 22);
    tale.IsGood();
  }
  SECTION("not what was packed before") {
    flushed(Ending::kUnknown, 8, 9);
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("nor what was not packed") {
    flushed(Ending::kFailed, 12, 13);
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("nor once it is done") {
    tale.Flush(3, 5, 10);
    tale.Other(kind, 12, 13);
    tale.Get(21, 22, {a});
    tale.Breaks(Invariant::kOneChain);
  }
}

TEST_CASE("a flush that does too much, too little, or is taken back is found") {
  Tale tale;
  const auto a = tale.Put(1, 2, Ending::kAcked, 1);
  SECTION("a value that it left") {
    tale.Flush(3, 4, 3);
    tale.Get(5, 6, {a});
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("a value that comes back") {
    tale.Flush(3, 6, 3);
    tale.Miss(4, 5);
    tale.Get(7, 8, {a});
    tale.Breaks(Invariant::kMissOnlyIfAbsent);
  }
  SECTION("a value that was put behind it") {
    tale.Flush(3, 4, 3);
    tale.Put(5, 6, Ending::kAcked, 1);
    tale.Miss(7, 8);
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("a value that was changed alone while it came") {
    tale.Flush(3, 6, 3);
    tale.Other(OperationKind::kTransition, 4, 5);
    tale.Get(7, 8, {a});
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("before its time") {
    tale.Flush(3, 4, 10);
    tale.Miss(5, 6);
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("not at its time") {
    tale.Flush(3, 4, 10);
    tale.Get(11, 12, {a});
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("taken back by one that is to come") {
    tale.Flush(3, 4, 3);
    tale.Flush(5, 6, 20);
    tale.Get(7, 8, {a});
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("that was reported not to have been") {
    tale.Flush(3, 4, 3, Ending::kFailed);
    tale.Miss(5, 6);
    tale.Breaks(Invariant::kNothingLost);
  }
}

TEST_CASE("an append that is lost, done twice or misplaced is found") {
  Tale tale;
  const auto a = tale.Put(1, 2, Ending::kAcked, 2);
  const auto b = tale.Append(3, 4, 1);
  SECTION("lost") {
    tale.Get(5, 6, {a, a});
    tale.Breaks(Invariant::kNothingLost);
  }
  SECTION("done twice") {
    tale.Get(5, 6, {a, a, b, b});
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("in front") {
    tale.Get(5, 6, {b, a, a});
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("in place of what was there") {
    tale.Get(5, 6, {a, b});
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("to what was cut off") {
    tale.Get(5, 6, {a});
    tale.Breaks(Invariant::kOneChangesBytes);
  }
  SECTION("though it was reported not to have been") {
    const auto c = tale.Append(7, 8, 1, Ending::kFailed);
    tale.Get(9, 10, {a, a, b, c});
    tale.Breaks(Invariant::kFailedLeavesWhole);
  }
}

TEST_CASE("concurrent writers may come in either order") {
  for (const bool first : {false, true}) {
    Tale tale;
    const auto a = tale.Put(1, 10);
    const auto b = tale.Put(2, 11);
    const auto seen = first ? a : b;
    tale.Get(12, 13, {seen, seen, seen});
    tale.IsGood();
  }
}

TEST_CASE("invariant 1: a lost acknowledged change is found") {
  SECTION("behind an older value") {
    Tale tale;
    const auto a = tale.Put(1, 2);
    tale.Put(3, 4);
    tale.Get(5, 6, {a, a, a});
    tale.Breaks(Invariant::kNothingLost);
  }
  SECTION("an update of one cell") {
    Tale tale;
    const auto a = tale.Put(1, 2);
    const auto u = tale.Update(3, 4, 0, 1);
    tale.Update(5, 6, 1, 1);
    tale.Get(7, 8, {u, a, a});
    tale.Breaks(Invariant::kNothingLost);
  }
  SECTION("behind a miss, unless values may vanish") {
    Tale tale;
    tale.Put(1, 2);
    tale.Miss(3, 4);
    tale.Breaks(Invariant::kNothingLost);
    CheckOptions options;
    options.values_may_vanish = true;
    tale.IsGood(options);
  }
}

TEST_CASE("invariant 2: a read that goes back is found") {
  SECTION("past an acknowledged change") {
    Tale tale;
    const auto a = tale.Put(1, 2);
    const auto b = tale.Put(3, 4);
    tale.Get(5, 6, {b, b, b});
    tale.Get(7, 8, {a, a, a});
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("past a change that was only observed") {
    Tale tale;
    const auto a = tale.Put(1, 2);
    const auto b = tale.Put(3, 4, Ending::kUnknown);
    tale.Get(5, 6, {b, b, b});
    tale.Get(7, 8, {a, a, a});
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("a change takes effect twice") {
    Tale tale;
    const auto a = tale.Put(1, 20, Ending::kUnknown);
    const auto b = tale.Put(2, 20, Ending::kUnknown);
    tale.Get(5, 6, {a, a, a});
    tale.Get(7, 8, {b, b, b});
    tale.Get(9, 10, {a, a, a});
    tale.Breaks(Invariant::kOneChain);
  }
  SECTION("what vanished comes back") {
    Tale tale;
    const auto a = tale.Put(1, 2);
    tale.Miss(3, 4);
    tale.Get(5, 6, {a, a, a});
    CheckOptions options;
    options.values_may_vanish = true;
    tale.Breaks(Invariant::kOneChain, options);
  }
  SECTION("only an order of all of them shows it") {
    // Both reads are concurrent with both updates, but disagree on them.
    Tale tale;
    const auto a = tale.Put(1, 2);
    const auto u = tale.Update(3, 20, 0, 1);
    const auto w = tale.Update(3, 20, 1, 1);
    tale.Get(4, 19, {u, a, a});
    tale.Get(4, 19, {a, w, a});
    tale.Breaks(Invariant::kOneChain);
  }
}

TEST_CASE("an update shows that an append before it took effect") {
  Tale tale;
  const auto a = tale.Put(1, 2);
  tale.Append(3, 4, 1, Ending::kUnknown);
  tale.Get(5, 6, {a, a, a});
  tale.Update(7, 8, 3, 1);
  tale.Put(9, 10);
  tale.IsGood();
}

TEST_CASE("a refused cas shows that an update before it took effect") {
  Tale tale;
  const auto a = tale.Put(1, 2);
  tale.Update(3, 10, 0, 1, Ending::kUnknown);
  tale.PutIf(kCas, 4, 5, Ending::kRefused, {a, a, a});
  tale.Put(11, 12);
  tale.IsGood();
}

TEST_CASE("invariant 6: a deleted life that shows is found") {
  Tale tale;
  const auto a = tale.Put(1, 2);
  tale.Delete(3, 4);
  tale.Get(5, 6, {a, a, a});
  tale.Breaks(Invariant::kDeletedStaysDeleted);
}

TEST_CASE("invariant 7: bytes that are not one change's are found") {
  SECTION("a mix of two puts") {
    Tale tale;
    const auto a = tale.Put(1, 2);
    const auto b = tale.Put(3, 10);
    tale.Get(4, 9, {a, b, a});
    tale.Breaks(Invariant::kOneChangesBytes);
  }
  SECTION("bytes that no client wrote") {
    Tale tale;
    const auto a = tale.Put(1, 2);
    tale.Get(3, 4, {a, 99, a});
    tale.Breaks(Invariant::kOneChangesBytes);
  }
  SECTION("an update outside of its range") {
    Tale tale;
    const auto a = tale.Put(1, 2);
    const auto u = tale.Update(3, 4, 0, 1);
    tale.Get(5, 6, {u, u, a});
    tale.Breaks(Invariant::kOneChangesBytes);
  }
  SECTION("a change before it was asked for") {
    Tale tale;
    tale.Get(1, 2, {2, 2, 2});
    tale.Put(3, 4);
    tale.Breaks(Invariant::kOneChangesBytes);
  }
  SECTION("another length") {
    Tale tale;
    const auto a = tale.Put(1, 2);
    tale.Get(3, 4, {a, a});
    tale.Breaks(Invariant::kOneChangesBytes);
  }
  SECTION("other flags") {
    Tale tale;
    const auto a = tale.Put(1, 2, Ending::kAcked, 1, 5);
    tale.Get(3, 4, {a}, 0, 6);
    tale.Breaks(Invariant::kOneChangesBytes);
  }
  SECTION("a transition that changes the CAS") {
    Tale tale;
    const auto a = tale.Put(1, 2, Ending::kAcked, 1);
    tale.Get(3, 4, {a}, 5);
    tale.Other(OperationKind::kTransition, 5, 6);
    tale.Get(7, 8, {a}, 6);
    tale.Breaks(Invariant::kOneChangesBytes);
  }
  SECTION("two contents of one CAS") {
    Tale tale;
    const auto a = tale.Put(1, 2, Ending::kAcked, 1);
    tale.Get(3, 4, {a}, 5);
    const auto b = tale.Put(5, 6, Ending::kAcked, 1);
    tale.Get(7, 8, {b}, 5);
    tale.Breaks(Invariant::kOneChangesBytes);
  }
}

TEST_CASE("invariant 8: a miss of what is there is found") {
  Tale tale;
  const auto a = tale.Put(1, 2);
  tale.Miss(3, 4);
  tale.Get(5, 6, {a, a, a});
  tale.Breaks(Invariant::kMissOnlyIfAbsent);
}

TEST_CASE("invariant 9: a change that did not happen is found") {
  Tale tale;
  tale.Put(1, 2);
  const auto b = tale.Put(3, 4, Ending::kFailed);
  tale.Get(50, 60, {b, b, b});
  tale.Breaks(Invariant::kFailedLeavesWhole);
}

TEST_CASE("invariant 11: an operation that never ends is found") {
  Tale tale;
  tale.Put(1, 0, Ending::kOpen);
  tale.Breaks(Invariant::kEverythingEnds);
  CheckOptions options;
  options.killed_clients = {1};
  tale.IsGood(options);
}

TEST_CASE("every invariant has its number and a name") {
  for (int number = 1; number <= 12; ++number) {
    const std::string name = InvariantName(static_cast<Invariant>(number));
    CHECK(name.starts_with("invariant " + std::to_string(number) + " ("));
  }
}

// Values of one cell or none; written apart from the search.
bool SomeOrderExplains(const std::vector<const Operation*>& operations) {
  std::vector<std::size_t> order(operations.size());
  std::iota(order.begin(), order.end(), 0);
  const auto certain = [](const Operation& op) {
    return op.ending == Ending::kAcked || op.ending == Ending::kNotFound ||
           op.ending == Ending::kRefused;
  };
  const auto fits = [](const Operation& op, const std::optional<Cells>& state) {
    if (op.kind == kAdd) return !state;
    return state && (op.kind != kCas || *state == op.expected);
  };
  do {
    // Any subset of the uncertain ones may be left out.
    std::vector<std::size_t> uncertain;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (!certain(*operations[i])) uncertain.push_back(i);
    }
    for (unsigned out = 0; out < 1U << uncertain.size(); ++out) {
      std::optional<Cells> state;
      bool good = true;
      std::vector<const Operation*> past;
      for (const std::size_t i : order) {
        const Operation& op = *operations[i];
        const auto at = std::find(uncertain.begin(), uncertain.end(), i);
        if (at != uncertain.end() &&
            (out >> (at - uncertain.begin()) & 1) != 0) {
          continue;
        }
        for (const Operation* earlier : past) {
          if (certain(op) && op.returned < earlier->invoked) good = false;
        }
        past.push_back(&op);
        if (op.ending == Ending::kNotFound) {
          good = good && !state;
        } else if (op.ending == Ending::kRefused) {
          const bool same =
              op.kind == kCas && !op.expected.empty() && fits(op, state);
          good = good && state && !same;
        } else if (op.kind == kCas || op.kind == kAdd || op.kind == kReplace) {
          good = good && fits(op, state);
          state = Cells(op.cell_count, op.id);
        } else if (op.kind == OperationKind::kPut) {
          state = Cells(op.cell_count, op.id);
        } else if (op.kind == OperationKind::kUpdate) {
          good = good && state && state->size() == 1;
          state = Cells{op.id};
        } else if (op.kind == OperationKind::kGet) {
          good = good && state == op.cells;
        } else {
          good = good && state;
          if (op.kind == OperationKind::kDelete) state.reset();
        }
      }
      if (good) return true;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

TEST_CASE("the search agrees with all orders of small histories") {
  int explained = 0;
  int impossible = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    SeededRandom random(seed);
    Tale tale;
    const auto below = [&random](int n) {
      return static_cast<int>(random.Below(static_cast<std::uint64_t>(n)));
    };
    for (int i = 0; i < 6; ++i) {
      const int from = below(20);
      const int to = from + below(10);
      constexpr Ending kEndings[] = {Ending::kAcked, Ending::kAcked,
                                     Ending::kUnknown, Ending::kAcked};
      const Ending ending = kEndings[below(4)];
      const Cells some = {static_cast<std::uint32_t>(1 + below(6))};
      constexpr OperationKind kPuts[] = {kCas, kAdd, kReplace};
      const OperationKind kind = kPuts[below(3)];
      switch (below(8)) {
        case 0:
          // Two values without a cell cannot be distinguished.
          tale.Put(from, to, ending, below(3) == 0 ? 0 : 1);
          break;
        case 1:
          tale.Update(from, to, 0, 1, ending);
          break;
        case 2:
          tale.Delete(from, to, ending);
          break;
        case 3:
          tale.Miss(from, to);
          break;
        case 4:
          tale.PutIf(kind, from, to, ending, kind == kCas ? some : Cells());
          break;
        case 5:
          tale.PutIf(kind, from, to,
                     kind == kReplace ? Ending::kNotFound : Ending::kRefused,
                     kind == kCas ? some : Cells());
          break;
        default:
          tale.Get(from, to, below(4) == 0 ? Cells() : some);
      }
    }
    std::vector<const Operation*> operations;
    for (const Operation& op : tale.history.operations()) {
      operations.push_back(&op);
    }
    const bool expected = SomeOrderExplains(operations);
    ++(expected ? explained : impossible);
    const SearchResult result = SearchOrder(operations, {});
    REQUIRE(result ==
            (expected ? SearchResult::kExplained : SearchResult::kImpossible));
  }
  CHECK(explained > 100);
  CHECK(impossible > 100);
}

TEST_CASE("a history of 300 operations with unknown ones is searched soon") {
  Tale tale;
  std::uint32_t current = tale.Put(0, 1);
  for (int i = 1; i < 100; ++i) {
    const int at = i * 10;
    tale.Put(at, at + 1, Ending::kUnknown);
    const auto next = tale.Put(at + 2, at + 6);
    tale.Get(at + 3, at + 4, {current, current, current});
    tale.Get(at + 5, at + 8, {next, next, next});
    current = next;
  }
  tale.IsGood();
}

}  // namespace
}  // namespace ers::sim
