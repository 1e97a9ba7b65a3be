#include "ctl/commands/top_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "cli/units.h"
#include "ctl/support/admin_text.h"

namespace ers::ctl {
namespace {

// SGR parameters of ANSI terminals.
constexpr std::string_view kBold = "1";
constexpr std::string_view kDim = "2";
constexpr std::string_view kRed = "31";
constexpr std::string_view kGreen = "32";
constexpr std::string_view kYellow = "33";
constexpr std::string_view kBlue = "34";

constexpr std::size_t kFewEvents = 8;
constexpr std::size_t kMaxJobs = 6;

// A line, and what of it is in which colour: a line is cut where it is shown.
struct Row {
  std::string text;
  std::string_view colour;
};
using Rows = std::vector<Row>;

double RealIn(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_number() ? at->get<double>() : 0;
}

std::string BarText(double part, std::size_t width) {
  const double within = std::clamp(part, 0.0, 1.0);
  const auto full =
      static_cast<std::size_t>(within * static_cast<double>(width));
  return fmt::format("[{}{}] {:3.0f} %", std::string(full, '#'),
                     std::string(width - full, '.'), 100 * within);
}

// Rows of cells under each other; each takes the colour that stands beside it.
void AddTable(const std::vector<std::vector<std::string>>& cells,
              const std::vector<std::string_view>& colours, Rows& rows) {
  const std::string text = Columns(cells);
  std::size_t from = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t end = text.find('\n', from);
    rows.push_back({text.substr(from, end - from), colours[i]});
    from = end + 1;
  }
  rows.push_back({});
}

std::string_view ColourOfHealth(std::string_view health) {
  if (health == "healthy") return kGreen;
  if (health == "rebuilding") return kBlue;
  if (health == "degraded") return kYellow;
  return health == "failing" ? kRed : kBold;
}

void AddHead(const Json& status, std::string_view proxy, std::string_view lost,
             Rows& rows) {
  rows.push_back(
      {fmt::format(
           "ersproxy {}  version {}  up {}  view {}  {}", proxy,
           TextIn(status, "version"),
           cli::SecondsText(static_cast<double>(NumberIn(status, "uptime_s"))),
           NumberIn(status, "epoch"),
           TimeText(static_cast<std::int64_t>(NumberIn(status, "time_s")))),
       kBold});
  if (!lost.empty()) {
    rows.push_back(
        {fmt::format("UNREACHABLE  what follows is of then: {}", lost), kRed});
  } else {
    std::string health = TextIn(status, "health");
    const std::string_view colour = ColourOfHealth(health);
    std::transform(health.begin(), health.end(), health.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    rows.push_back(
        {fmt::format("{}  {}", health, TextIn(status, "health_because")),
         colour});
  }
  const Json backfill = ObjectIn(status, "backfill");
  if (!ListIn(backfill, "servers").empty()) {
    const double all = RealIn(backfill, "objects_total");
    const double done = RealIn(backfill, "objects");
    const std::string left =
        ObjectIn(status, "backfill").value("seconds_left", Json()).is_number()
            ? fmt::format(", about {:.0f} s left",
                          RealIn(backfill, "seconds_left"))
            : "";
    rows.push_back(
        {fmt::format("backfill walk {} {} {:.0f} of {:.0f} objects{}",
                     NumberIn(backfill, "walk"),
                     BarText(all > 0 ? done / all : 0, 20), done, all, left),
         kBlue});
  }
  rows.push_back({});
}

void AddRequests(const Json& status, Rows& rows) {
  const Json requests = ObjectIn(status, "requests");
  std::vector<std::vector<std::string>> cells = {
      {"requests", "a second", "p50", "p99"}};
  for (const char* kind : {"get", "set"}) {
    const Json rate = ObjectIn(requests, kind);
    cells.push_back({kind, fmt::format("{:.1f}", RealIn(rate, "per_second")),
                     TookText(rate, "p50_us"), TookText(rate, "p99_us")});
  }
  const double errors = RealIn(requests, "errors_per_second");
  cells.push_back({"errors", fmt::format("{:.1f}", errors)});
  cells.push_back(
      {"clients", fmt::format("{}", NumberIn(status, "connections"))});
  AddTable(cells, {kDim, "", "", errors > 0 ? kRed : "", ""}, rows);
}

std::string_view ColourOfState(std::string_view state) {
  if (state == "in_sync") return kGreen;
  if (state == "backfilling") return kBlue;
  return state == "unknown" ? std::string_view() : kRed;
}

void AddServers(const Json& status, Rows& rows) {
  std::vector<std::vector<std::string>> cells = {
      {"server", "state", "for", "p50", "p99", "beside others", "memory", "",
       "items", "evictions"}};
  std::vector<std::string_view> colours = {kDim};
  const std::uint64_t now = NumberIn(status, "time_s");
  for (const Json& server : ListIn(status, "servers")) {
    const std::string state = TextIn(server, "state");
    const Json latency = ObjectIn(server, "latency");
    const Json memory = ObjectIn(server, "memory");
    const std::uint64_t since = NumberIn(server, "since_s");
    const std::uint64_t limit = NumberIn(memory, "limit_bytes");
    const std::uint64_t used = NumberIn(memory, "used_bytes");
    const double part =
        limit == 0 ? 0 : static_cast<double>(used) / static_cast<double>(limit);
    cells.push_back(
        {ServerText(TextIn(server, "name"), TextIn(server, "slot")), state,
         since == 0 ? "-"
                    : cli::SecondsText(
                          static_cast<double>(now - std::min(now, since))),
         TookText(latency, "p50_us"), TookText(latency, "p99_us"),
         BesideText(latency), memory.empty() ? "-" : BarText(part, 10),
         memory.empty() ? "-" : cli::BytesText(limit),
         memory.empty() ? "-" : fmt::format("{}", NumberIn(memory, "items")),
         memory.empty() ? "-"
                        : fmt::format("{}", NumberIn(memory, "evictions"))});
    colours.push_back(ColourOfState(state));
  }
  AddTable(cells, colours, rows);
}

std::string_view ColourOfJob(std::string_view state, std::uint64_t failed) {
  if (state == "failed" || failed > 0) return kRed;
  return state == "running" || state == "listing" ? kBlue : "";
}

void AddJobs(const Json& status, Rows& rows) {
  const Json jobs = ListIn(status, "jobs");
  if (jobs.empty()) return;
  std::vector<std::vector<std::string>> cells = {
      {"job", "to", "state", "progress", "failed", "left"}};
  std::vector<std::string_view> colours = {kDim};
  for (const Json& job : jobs) {
    if (cells.size() > kMaxJobs) break;
    if (!job.is_object()) continue;
    const Json objects = ObjectIn(job, "objects");
    const double selected = RealIn(objects, "selected");
    const double done = selected - RealIn(objects, "left");
    const std::string state = TextIn(job, "state");
    const std::uint64_t failed = NumberIn(objects, "failed");
    const Json left = job.value("seconds_left", Json());
    cells.push_back(
        {TextIn(job, "id"), TextIn(job, "to"), state,
         fmt::format("{} {:.0f} of {:.0f}",
                     BarText(selected > 0 ? done / selected : 0, 20), done,
                     selected),
         fmt::format("{}", failed),
         left.is_number() ? fmt::format("{:.0f} s", left.get<double>()) : "-"});
    colours.push_back(ColourOfJob(state, failed));
  }
  AddTable(cells, colours, rows);
}

void AddObjects(const Json& status, Rows& rows) {
  const Json objects = ListIn(status, "objects");
  if (objects.empty()) return;
  std::vector<std::vector<std::string>> cells = {
      {"objects of", "width", "count", "bytes"}};
  for (const Json& form : objects) {
    cells.push_back({TextIn(form, "scheme"), TextIn(form, "width"),
                     fmt::format("{}", NumberIn(form, "objects")),
                     cli::BytesText(NumberIn(form, "bytes"))});
  }
  std::vector<std::string_view> colours(cells.size());
  colours.front() = kDim;
  AddTable(cells, colours, rows);
}

void AddCounts(const Json& status, Rows& rows) {
  const Json policies = ObjectIn(status, "policies");
  for (const char* name : {"widen", "narrow"}) {
    const Json policy = ObjectIn(policies, name);
    if (ListIn(policy, "tiers").empty()) continue;
    rows.push_back(
        {fmt::format("policy {}: {} changed, {} failed, {} waiting, {} moved",
                     name, NumberIn(policy, "changed"),
                     NumberIn(policy, "failed"), NumberIn(policy, "waiting"),
                     cli::BytesText(NumberIn(policy, "moved_bytes"))),
         ""});
  }
  const Json counters = ObjectIn(status, "counters");
  rows.push_back(
      {fmt::format("hedges: {} sent, {} first, {} at once, {} refused; {} "
                   "reads decoded, {} blocks repaired",
                   NumberIn(counters, "ers_hedges_sent"),
                   NumberIn(counters, "ers_hedges_won"),
                   NumberIn(counters, "ers_hedges_at_once"),
                   NumberIn(counters, "ers_hedges_refused"),
                   NumberIn(counters, "ers_degraded_reads"),
                   NumberIn(counters, "ers_repaired_blocks")),
       ""});
  rows.push_back({});
}

// The newest first, as many as there is room for.
void AddEvents(const Json& events, std::size_t lines, Rows& rows) {
  const std::size_t used = rows.size() + 1;
  const std::size_t most =
      lines == 0 ? kFewEvents : std::max(lines, used) - used;
  if (most < 2 || events.empty()) return;
  rows.push_back({"last events", kDim});
  for (const Json& event : events) {
    if (rows.size() + 1 >= used + most) break;
    const std::string level = TextIn(event, "level");
    rows.push_back({EventText(event), level == "warning" ? kYellow
                                      : level == "error" ? kRed
                                                         : ""});
  }
}

// At most so many bytes, and no part of a character.
std::string_view Cut(std::string_view text, std::size_t columns) {
  if (columns == 0 || text.size() <= columns) return text;
  const auto continues = [&text](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U;
  };
  while (columns > 0 && continues(columns)) --columns;
  return text.substr(0, columns);
}

}  // namespace

std::string TopText(const Json& status, const Json& events,
                    std::string_view proxy, std::string_view lost,
                    const Screen& screen) {
  Rows rows;
  AddHead(status, proxy, lost, rows);
  const std::size_t head = rows.size();
  AddRequests(status, rows);
  AddServers(status, rows);
  AddJobs(status, rows);
  AddObjects(status, rows);
  AddCounts(status, rows);
  AddEvents(events, screen.lines, rows);
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (screen.lines != 0 && i + 1 >= screen.lines) break;
    const std::string plain = Plain(rows[i].text);
    const std::string_view line = Cut(plain, screen.columns);
    // What is of a while ago is grey.
    const std::string_view colour =
        !lost.empty() && i >= head ? kDim : rows[i].colour;
    text += screen.colours && !colour.empty()
                ? fmt::format("\x1b[{}m{}\x1b[0m", colour, line)
                : std::string(line);
    text += '\n';
  }
  return text;
}

}  // namespace ers::ctl
