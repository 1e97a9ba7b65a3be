#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "bench/check.h"
#include "bench/code_bench.h"
#include "bench/codes_bench.h"
#include "bench/samples.h"
#include "bench/store_bench.h"

namespace ers::bench {
namespace {

// Holds values in memory and notes what is asked of it, in a log shared by
// all.
class FakeContender final : public Contender {
 public:
  struct Faults {
    bool corrupt_update = false;
    bool fail_forward = false;
  };
  FakeContender(std::string name, std::vector<std::string>* log, Faults faults)
      : name_(std::move(name)), log_(log), faults_(faults) {}

  std::string name() const override { return name_; }
  std::string scheme() const override { return "fake"; }
  bool Measures(Case c) const override {
    return name_ != "no-update" || c != Case::kUpdate;
  }
  Status Put(const Key& key, std::span<const std::byte> value) override {
    log_->push_back(name_ + " put");
    values_[key.number].assign(value.begin(), value.end());
    widths_[key.number] = Width::kNarrow;
    return {};
  }
  Result<std::span<const std::byte>> Get(const Key& key) override {
    return std::span<const std::byte>(values_[key.number]);
  }
  Status Update(const Key& key, std::span<const std::byte> value,
                Range range) override {
    log_->push_back(name_ + " update");
    std::copy_n(value.begin() + static_cast<std::ptrdiff_t>(range.offset),
                range.length,
                values_[key.number].begin() +
                    static_cast<std::ptrdiff_t>(range.offset));
    if (faults_.corrupt_update) values_[key.number].back() ^= std::byte{1};
    return {};
  }
  Status Transition(const Key& key, Width to) override {
    log_->push_back(name_ + (to == Width::kWide ? " wide" : " narrow"));
    if (faults_.fail_forward) return {StatusCode::kUnavailable, "no server"};
    // The runner never asks for the width that is there.
    CHECK(widths_[key.number] != to);
    widths_[key.number] = to;
    return {};
  }
  void Release() override {}
  Status Remove(const Key& key) override {
    values_.erase(key.number);
    log_->push_back(name_ + " remove");
    return {};
  }

 private:
  std::string name_;
  std::vector<std::string>* log_;
  Faults faults_;
  std::map<std::size_t, std::vector<std::byte>> values_;
  std::map<std::size_t, Width> widths_;
};

StoreOptions Options(std::vector<Case> cases) {
  StoreOptions options;
  options.bytes = 10000;
  options.repetitions = 20;
  options.cases = std::move(cases);
  options.seed = 7;
  return options;
}

std::vector<std::unique_ptr<Contender>> Fakes(
    std::vector<std::string>* log, const std::vector<std::string>& names,
    FakeContender::Faults faults = {}) {
  std::vector<std::unique_ptr<Contender>> fakes;
  for (const std::string& name : names) {
    fakes.push_back(std::make_unique<FakeContender>(name, log, faults));
  }
  return fakes;
}

TEST_CASE("The median of odd and even numbers of samples") {
  CHECK(Summarise({5}).median == 5);
  CHECK(Summarise({9, 1, 5}).median == 5);
  const Spread even = Summarise({4, 1, 2, 10});
  CHECK(even.median == 3);
  CHECK(even.min == 1);
  CHECK(even.max == 10);
}

TEST_CASE("CSV quotes commas, JSON keeps numbers, tables align them") {
  const std::vector<std::vector<std::string>> lines = {
      {"scheme", "bytes"}, {"ers2:4,1,5", "100"}, {"none", "2.5"}};
  CHECK(Render(lines, Format::kCsv) ==
        "scheme,bytes\n\"ers2:4,1,5\",100\nnone,2.5\n");
  CHECK(Render(lines, Format::kTable) ==
        "scheme      bytes\n"
        "ers2:4,1,5    100\n"
        "none          2.5\n");
  const std::string json = Render(lines, Format::kJson);
  CHECK_THAT(json, Catch::Contains("\"scheme\": \"ers2:4,1,5\""));
  CHECK_THAT(json, Catch::Contains("\"bytes\": 100"));
}

TEST_CASE("Everyone has one row per case that says something about it") {
  std::vector<std::string> log;
  const auto rows = RunTurns(Options({kAllCases.begin(), kAllCases.end()}),
                             Fakes(&log, {"one", "no-update"}));
  REQUIRE(rows.has_value());
  CHECK(rows->size() == 9);
  for (const StoreRow& row : *rows) {
    CHECK_FALSE((row.name == "no-update" && row.test_case == Case::kUpdate));
    CHECK(row.microseconds.min <= row.microseconds.median);
    CHECK(row.microseconds.median <= row.microseconds.max);
  }
  // The untimed one is kept at the same content all the same.
  CHECK(std::count(log.begin(), log.end(), "no-update update") == 22);
}

TEST_CASE("Contenders take turns, in an order that changes") {
  std::vector<std::string> log;
  auto options = Options({Case::kPut});
  options.keys = 1;
  REQUIRE(RunTurns(options, Fakes(&log, {"a", "b", "c"})).has_value());
  // Three loads, then 22 repetitions of three puts, then three removals.
  REQUIRE(log.size() == 3 + 22 * 3 + 3);
  std::set<std::vector<std::string>> orders;
  for (std::size_t i = 3; i + 3 <= log.size() - 3; i += 3) {
    std::vector<std::string> turn(
        log.begin() + static_cast<std::ptrdiff_t>(i),
        log.begin() + static_cast<std::ptrdiff_t>(i + 3));
    orders.insert(turn);
    std::sort(turn.begin(), turn.end());
    CHECK(turn == std::vector<std::string>{"a put", "b put", "c put"});
  }
  CHECK(orders.size() > 3);
}

TEST_CASE("The same seed gives the same order") {
  std::vector<std::string> first;
  std::vector<std::string> second;
  REQUIRE(RunTurns(Options({Case::kPut}), Fakes(&first, {"a", "b", "c"})));
  REQUIRE(RunTurns(Options({Case::kPut}), Fakes(&second, {"a", "b", "c"})));
  CHECK(first == second);
}

TEST_CASE("Forward alone goes back untimed in between") {
  std::vector<std::string> log;
  const auto rows = RunTurns(Options({Case::kForward}), Fakes(&log, {"one"}));
  REQUIRE(rows.has_value());
  CHECK(rows->size() == 1);
  CHECK(std::count(log.begin(), log.end(), "one wide") == 22);
  // Each of four keys starts narrow.
  CHECK(std::count(log.begin(), log.end(), "one narrow") == 18);
}

TEST_CASE("A contender with wrong bytes ends the run and is named") {
  std::vector<std::string> log;
  const auto rows = RunTurns(
      Options({Case::kUpdate}),
      Fakes(&log, {"liar"}, {.corrupt_update = true, .fail_forward = false}));
  REQUIRE_FALSE(rows.has_value());
  CHECK(rows.error().code() == StatusCode::kCorruption);
  CHECK_THAT(rows.error().message(), Catch::Contains("update of liar"));
}

TEST_CASE("A failed operation ends the run and is named") {
  std::vector<std::string> log;
  const auto rows = RunTurns(
      Options({Case::kForward}),
      Fakes(&log, {"weak"}, {.corrupt_update = false, .fail_forward = true}));
  REQUIRE_FALSE(rows.has_value());
  CHECK_THAT(rows.error().message(), Catch::Contains("forward of weak") &&
                                         Catch::Contains("no server"));
}

TEST_CASE("A run that is stopped ends early") {
  std::vector<std::string> log;
  auto options = Options({Case::kPut});
  options.stopped = [] { return true; };
  CHECK_FALSE(RunTurns(options, Fakes(&log, {"one"})).has_value());
}

TEST_CASE("A verdict passes at its limit and fails beyond it") {
  using Bound = Verdict::Bound;
  CHECK(Verdict{"", 0.55, Bound::kAtMost, 0.55}.passed());
  CHECK_FALSE(Verdict{"", 0.551, Bound::kAtMost, 0.55}.passed());
  CHECK(Verdict{"", 0.9, Bound::kAtLeast, 0.9}.passed());
  CHECK_FALSE(Verdict{"", 0.899, Bound::kAtLeast, 0.9}.passed());
  CHECK(Verdict{"", 9, Bound::kReported, 0}.passed());
  const std::string csv = RenderCheck({{"a", 0.6, Bound::kAtMost, 0.55},
                                       {"b", 0.5, Bound::kAtMost, 0.55},
                                       {"c", 2, Bound::kReported, 0}},
                                      Format::kCsv);
  CHECK(csv ==
        "what,ratio,bound,limit,verdict\n"
        "a,0.600,at most,0.55,FAIL\n"
        "b,0.500,at most,0.55,pass\n"
        "c,2.000,-,-,reported\n");
}

TEST_CASE("The code benchmark measures every way and checks their bytes") {
  CodeOptions options;
  options.k_max = 5;
  options.m_max = 2;
  options.block_bytes = 1000;
  options.repetitions = 2;
  const auto rows = RunCode(options);
  REQUIRE(rows.has_value());
  std::map<std::pair<int, int>, std::set<std::string>> names;
  for (const CodeRow& row : *rows) {
    names[{row.k, row.m}].insert(row.name);
    CHECK(row.gb_per_s.median > 0);
    if (row.name == "raw") CHECK(row.over_raw == 1);
  }
  CHECK(names.size() == 4);
  for (const auto& [km, ways] : names) {
    CHECK(ways.count("raw") == 1);
    CHECK(ways.count("gf-complete") == 1);
    CHECK(ways.count("put") == 1);
  }
}

TEST_CASE("Each foreign code gives back lost data, padded as it asks for") {
  CodesOptions options;
  options.repetitions = 1;
  options.object_bytes = {1, 5000};
  // k, m, the word of Liberation codes: the least prime that is not below k.
  for (const auto& [k, m, w] : {std::tuple{4, 2, 5},
                                {2, 2, 3},
                                {7, 2, 7},
                                {12, 2, 13},
                                {4, 3, 0},
                                {2, 4, 0}}) {
    CAPTURE(k, m);
    options.k = k;
    options.m = m;
    const auto rows = RunCodes(options);
    REQUIRE(rows.has_value());
    std::map<std::string, int> words;
    for (const CodesRow& row : *rows) {
      words[row.code] = row.w;
      CHECK(row.block_bytes * static_cast<std::size_t>(k) >= row.object_bytes);
      if (row.w != 0) CHECK(row.microseconds.median > 0);
    }
    std::map<std::string, int> expected = {
        {"none", 0}, {"isal", 8}, {"rs", 8}, {"rs-16", 16}, {"cauchy-rs", 4}};
    if (m == 2) expected["liberation"] = w;
    CHECK(words == expected);
    CHECK(rows->size() == 2 * expected.size());
  }
}

TEST_CASE("A stripe that no code has is refused") {
  CodesOptions options;
  for (const auto& [k, m] : {std::pair{1, 1}, {4, 0}, {250, 6}}) {
    options.k = k;
    options.m = m;
    const auto rows = RunCodes(options);
    REQUIRE(!rows.has_value());
    CHECK(rows.error().code() == StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace ers::bench
