#include "bench/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/code_bench.h"
#include "bench/store_bench.h"

namespace ers::bench {
namespace {

using Bound = Verdict::Bound;

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

struct Comparison {
  Case test_case;
  const char* base;  // in comparison with it
  Bound bound;
  double limit;
};

struct Setting {
  const char* scheme;
  std::size_t bytes;
  std::vector<std::string> names;  // the first one is compared with others
  std::vector<Case> cases;
  std::vector<Comparison> comparisons;
};

// Values of up to `kMaxColumnBelow`, beside the same items by bare sockets.
Setting SmallSetting(std::size_t bytes) {
  return {"ers2:4,1,5",
          bytes,
          {"columns", "bare-columns", "plain", "copies", "rep"},
          {Case::kPut, Case::kGet},
          {{Case::kPut, "bare-columns", Bound::kReported, 0},
           {Case::kPut, "copies", Bound::kReported, 0},
           {Case::kPut, "rep", Bound::kReported, 0},
           {Case::kGet, "bare-columns", Bound::kAtMost, 1.25},
           {Case::kGet, "plain", Bound::kReported, 0},
           {Case::kGet, "rep", Bound::kReported, 0}}};
}

std::vector<Setting> Settings() {
  return {SmallSetting(16 * kKiB),
          SmallSetting(64 * kKiB),
          {"ers2:4,1,5",
           1 * kMiB,
           {"libers", "libers-reuse", "bare", "plain", "copies", "rep",
            "one-by-one"},
           {Case::kPut, Case::kGet},
           {{Case::kPut, "bare", Bound::kAtMost, 1.25},
            {Case::kPut, "copies", Bound::kReported, 0},
            {Case::kPut, "one-by-one", Bound::kReported, 0},
            {Case::kPut, "rep", Bound::kReported, 0},
            {Case::kPut, "plain", Bound::kReported, 0},
            {Case::kGet, "bare", Bound::kAtMost, 1.15},
            {Case::kGet, "plain", Bound::kReported, 0},
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

std::string SizeText(std::size_t bytes) {
  return bytes < kMiB ? fmt::format("{} KiB", bytes / kKiB)
                      : fmt::format("{} MiB", bytes / kMiB);
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
  const std::string& subject = setting.names.front();
  for (const Comparison& comparison : setting.comparisons) {
    verdicts->push_back(
        {fmt::format("{} {}, {}: {} / {}", CaseName(comparison.test_case),
                     SizeText(setting.bytes), setting.scheme, subject,
                     comparison.base),
         Median(*rows, comparison.test_case, subject) /
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
