#include "bench/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/code_bench.h"
#include "bench/store_bench.h"

namespace ers::bench {
namespace {

using Bound = Verdict::Bound;

constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Comparison {
  Case test_case;
  const char* base;
  Bound bound;
  double limit;
};

struct Setting {
  const char* scheme;
  std::size_t bytes;
  std::vector<std::string> names;
  std::vector<Case> cases;
  std::vector<Comparison> comparisons;  // of libers with others
};

std::vector<Setting> Settings() {
  return {{"ers2:4,1,5",
           1 * kMiB,
           {"libers", "libers-reuse", "plain", "copies", "rep", "one-by-one"},
           {Case::kPut, Case::kGet},
           {{Case::kPut, "copies", Bound::kAtMost, 0.55},
            {Case::kPut, "one-by-one", Bound::kAtMost, 0.25},
            {Case::kPut, "rep", Bound::kReported, 0},
            {Case::kPut, "plain", Bound::kReported, 0},
            {Case::kGet, "plain", Bound::kAtMost, 0.75},
            {Case::kGet, "libers-reuse", Bound::kReported, 0},
            {Case::kGet, "rep", Bound::kReported, 0},
            {Case::kGet, "one-by-one", Bound::kReported, 0}}},
          {"ers2:12,3,14",
           4 * kMiB,
           {"libers", "srs", "reencode", "one-by-one"},
           {Case::kForward, Case::kBackward},
           {{Case::kForward, "srs", Bound::kAtMost, 0.6},
            {Case::kForward, "reencode", Bound::kReported, 0},
            {Case::kForward, "one-by-one", Bound::kReported, 0},
            {Case::kBackward, "srs", Bound::kReported, 0},
            {Case::kBackward, "reencode", Bound::kReported, 0},
            {Case::kBackward, "one-by-one", Bound::kReported, 0}}}};
}

double Median(const std::vector<StoreRow>& rows, Case c,
              const std::string& name) {
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const StoreRow& candidate) {
        return candidate.test_case == c && candidate.name == name;
      });
  return row == rows.end() ? 0 : row->microseconds.median;
}

Status CheckStore(const CheckOptions& options, const Setting& setting,
                  std::vector<Verdict>* verdicts) {
  const auto scheme = ParseScheme(setting.scheme);
  if (!scheme.has_value()) return scheme.error();
  StoreOptions store;
  store.scheme = *scheme;
  store.bytes = setting.bytes;
  store.memcached = options.memcached;
  store.repetitions = options.repetitions;
  store.cases = setting.cases;
  store.names = setting.names;
  store.seed = options.seed;
  store.stopped = options.stopped;
  const auto rows = RunStore(store);
  if (!rows.has_value()) return rows.error();
  for (const Comparison& comparison : setting.comparisons) {
    verdicts->push_back(
        {fmt::format("{} {} MiB, {}: libers / {}",
                     CaseName(comparison.test_case), setting.bytes / kMiB,
                     setting.scheme, comparison.base),
         Median(*rows, comparison.test_case, "libers") /
             Median(*rows, comparison.test_case, comparison.base),
         comparison.bound, comparison.limit});
  }
  return {};
}

// The slowest of all (k, m), and where that is.
Status CheckCode(const CheckOptions& options, std::vector<Verdict>* verdicts) {
  CodeOptions code;
  code.repetitions = options.repetitions;
  code.seed = options.seed;
  code.stopped = options.stopped;
  const auto rows = RunCode(code);
  if (!rows.has_value()) return rows.error();
  const CodeRow* slowest = nullptr;
  for (const CodeRow& row : *rows) {
    if (row.name != "put") continue;
    if (slowest == nullptr || row.over_raw < slowest->over_raw) slowest = &row;
  }
  if (slowest == nullptr) {
    return {StatusCode::kCorruption, "the code benchmark gave no rows"};
  }
  verdicts->push_back(
      {fmt::format("encode 64 KiB blocks, k=4..12, m=1..4: put / raw ISA-L in "
                   "GB/s, slowest at k={}, m={}",
                   slowest->k, slowest->m),
       slowest->over_raw, Bound::kAtLeast, 0.9});
  return {};
}

}  // namespace

bool Verdict::passed() const {
  switch (bound) {
    case Bound::kAtMost:
      return ratio <= limit;
    case Bound::kAtLeast:
      return ratio >= limit;
    case Bound::kReported:
      return true;
  }
  return false;
}

Result<std::vector<Verdict>> RunCheck(const CheckOptions& options) {
  std::vector<Verdict> verdicts;
  for (const Setting& setting : Settings()) {
    Status done = CheckStore(options, setting, &verdicts);
    if (!done.ok()) return Fail(std::move(done));
  }
  Status done = CheckCode(options, &verdicts);
  if (!done.ok()) return Fail(std::move(done));
  return verdicts;
}

std::string RenderCheck(const std::vector<Verdict>& verdicts, Format format) {
  std::vector<std::vector<std::string>> lines = {
      {"what", "ratio", "bound", "limit", "verdict"}};
  for (const Verdict& verdict : verdicts) {
    const bool judged = verdict.bound != Bound::kReported;
    lines.push_back(
        {verdict.what, fmt::format("{:.3f}", verdict.ratio),
         !judged ? "-"
                 : (verdict.bound == Bound::kAtMost ? "at most" : "at least"),
         judged ? fmt::format("{:.2f}", verdict.limit) : "-",
         !judged ? "reported" : (verdict.passed() ? "pass" : "FAIL")});
  }
  return Render(lines, format);
}

}  // namespace ers::bench
