#include "admin/health.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <initializer_list>

namespace ers::proxy {
namespace {

// Much slower than the others; of small times a difference says nothing.
constexpr double kSlowBeside = 4;
constexpr net::Duration kSlowFrom = std::chrono::milliseconds(1);

using Names = std::vector<std::string_view>;

Names Named(const Facts& facts,
            std::initializer_list<std::string_view> states) {
  Names names;
  for (const Facts::Server& server : facts.servers) {
    if (std::find(states.begin(), states.end(), server.state) != states.end()) {
      names.push_back(server.name);
    }
  }
  return names;
}

Names Slow(const Facts& facts,
           const std::vector<std::optional<ServerLatency>>& latency) {
  Names names;
  for (std::size_t i = 0; i < std::min(latency.size(), facts.servers.size());
       ++i) {
    const std::optional<ServerLatency>& one = latency[i];
    if (one && one->beside_others.value_or(0) > kSlowBeside &&
        one->p50 > kSlowFrom) {
      names.push_back(facts.servers[i].name);
    }
  }
  return names;
}

std::string_view IsOrAre(const Names& names) {
  return names.size() == 1 ? "is" : "are";
}

}  // namespace

Health HealthOf(const Facts& facts,
                const std::vector<std::optional<ServerLatency>>& latency) {
  if (facts.stopping) return {HealthState::kFailing, "The daemon is stopping."};
  if (!facts.serving.known) {
    return {HealthState::kUnused, "The servers are being probed."};
  }
  if (!facts.serving.serves()) {
    return {HealthState::kFailing, std::string(facts.serving.status.message())};
  }
  const std::size_t all = facts.servers.size();
  const Names out = Named(facts, {"down", "unreachable"});
  const Names back = Named(facts, {"backfilling"});
  const Names slow = Slow(facts, latency);
  std::string more =
      facts.epoch == 0
          ? ""
          : fmt::format(" At most {} may be out at once.", facts.max_failures);
  if (!slow.empty()) {
    more += fmt::format(" {} {} much slower than the others.",
                        fmt::join(slow, ", "), IsOrAre(slow));
  }
  if (!out.empty()) {
    std::string because =
        fmt::format("{} of {} servers {} out ({}).", out.size(), all,
                    IsOrAre(out), fmt::join(out, ", "));
    if (!back.empty()) {
      because += fmt::format(" {} {} being backfilled.", fmt::join(back, ", "),
                             IsOrAre(back));
    }
    return {HealthState::kDegraded, because + more};
  }
  if (!back.empty()) {
    return {
        HealthState::kRebuilding,
        fmt::format("{} of {} servers {} being backfilled ({}).", back.size(),
                    all, IsOrAre(back), fmt::join(back, ", ")) +
            more};
  }
  if (facts.epoch == 0) {
    return {HealthState::kUnused, "No command has needed the servers yet."};
  }
  return {HealthState::kHealthy,
          fmt::format("All {} servers are in sync.", all) + more};
}

}  // namespace ers::proxy
