#include "admin/metrics_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "admin/facts.h"
#include "metrics/commands.h"
#include "metrics/counters.h"
#include "metrics/histogram.h"
#include "metrics/metric_table.h"
#include "metrics/store_table.h"
#include "store/support/step_timer.h"

namespace ers::proxy {
namespace {

constexpr char kHead[] =
    "# Metrics of ersproxy\n\n"
    "Made by `ersproxy --list-metrics` from the tables that `/metrics` and "
    "`stats` are made of; a test compares.\n\n"
    "## /metrics\n\n"
    "Prometheus' text format, version 0.0.4. Counters begin at 0 with the "
    "process; `stats reset` leaves them. A command or result that there\n"
    "never was has no sample. Buckets of histograms end at ";
constexpr char kFamilies[] =
    " seconds.\n\n"
    "| name | type | labels | in `stats` | meaning |\n"
    "| --- | --- | --- | --- | --- |\n";
constexpr char kOnlyStats[] =
    "\n## Only in stats\n\n"
    "As in memcached: ";

std::string Code(std::string_view text) {
  return text.empty() ? "" : fmt::format("`{}`", text);
}

// The name in `stats` of what a metric's samples add up to.
std::string_view StatOf(Metric metric) {
  const auto row =
      std::find_if(std::begin(kStoreTable), std::end(kStoreTable),
                   [metric](const StoreRow& r) { return r.metric == metric; });
  return row == std::end(kStoreTable) ? "" : row->stat;
}

void AddRow(std::string_view name, std::string_view type,
            std::string_view labels, std::string_view stat,
            std::string_view help, std::string& out) {
  fmt::format_to(std::back_inserter(out), "| `{}` | {} | {} | {} | {} |\n",
                 name, type, labels, Code(stat), help);
}

void AddValues(std::string_view label, std::span<const std::string_view> values,
               std::string& out) {
  fmt::format_to(std::back_inserter(out), "| `{}` | `{}` |\n", label,
                 fmt::join(values, "`, `"));
}

// Those of a label that the store's rows have.
std::vector<std::string_view> StoreValues(Metric metric, std::size_t label) {
  std::vector<std::string_view> values;
  for (const StoreRow& row : kStoreTable) {
    const bool known = std::find(values.begin(), values.end(),
                                 row.labels[label]) != values.end();
    if (row.metric == metric && !known) values.push_back(row.labels[label]);
  }
  return values;
}

void AddLabels(std::string& out) {
  out += "\n## Values of labels\n\n| label | values |\n| --- | --- |\n";
  AddValues("command", kCommandNames, out);
  AddValues("result", kResultNames, out);
  AddValues("reason", StoreValues(Metric::kCommitAborts, 0), out);
  AddValues("kind", StoreValues(Metric::kTransitionReadBlocks, 0), out);
  AddValues("block", StoreValues(Metric::kTransitionReadBlocks, 1), out);
  AddValues("state", kServerStates, out);
  AddValues("job_state", kJobStates, out);
  AddValues("outcome", kJobOutcomes, out);
  AddValues("policy", kPolicyKinds, out);
  AddValues("policy_outcome", kPolicyOutcomes, out);
  AddValues("backfill_outcome", kBackfillOutcomes, out);
  AddValues("drop_reason", kTraceDrops, out);
  out += "\nAnd of `step`, in the order in which `ers trace` lists them:\n\n";
  out += "| step | while |\n| --- | --- |\n";
  for (const store::StepInfo& step : store::kStepTable) {
    fmt::format_to(std::back_inserter(out), "| `{}` | {} |\n", step.name,
                   step.help);
  }
}

}  // namespace

std::string MetricsList() {
  std::string out = kHead;
  std::vector<double> bounds;
  for (const std::int64_t bound : kBucketBounds) {
    bounds.push_back(static_cast<double>(bound) / 1e9);
  }
  out += fmt::format("{:g}", fmt::join(bounds, ", "));
  out += kFamilies;
  for (const CounterInfo& row : kCounterTable) {
    if (!row.metric.empty()) {
      AddRow(row.metric, "counter", "", row.stat, row.help, out);
    }
  }
  for (std::size_t i = 0; i < kMetricTable.size(); ++i) {
    const MetricInfo& info = kMetricTable[i];
    AddRow(info.name, info.type, info.labels, StatOf(static_cast<Metric>(i)),
           info.help, out);
  }
  AddLabels(out);
  out += kOnlyStats;
  std::vector<std::string_view> stats;
  for (const CounterInfo& row : kCounterTable) {
    if (row.metric.empty()) stats.push_back(row.stat);
  }
  out += fmt::format("`{}`.\n", fmt::join(stats, "`, `"));
  return out;
}

}  // namespace ers::proxy
