#include "sim/store/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace ers::sim {
namespace {

template <typename T, std::size_t N>
T OneOf(SeededRandom& random, const std::array<T, N>& choices) {
  return choices[random.Below(N)];
}

std::vector<Scheme> SchemesFor(int m) {
  using Kind = SchemeKind;
  std::vector<Scheme> schemes = {
      ParseScheme(fmt::format("rep:{}", m + 1)).value(),
      {Kind::kRs, 2, m, 2},
      {Kind::kRs, 3, m, 3},
      {Kind::kSrs, 2, m, 3},
      {Kind::kErs1, 2, m, 3},
      {Kind::kErs2, 2, m, 3},
      {Kind::kErs2, 2, m, 4},
  };
  if (m == 1) schemes.push_back({Kind::kErs2, 3, 1, 4});
  return schemes;
}

void Shuffle(SeededRandom& random, std::vector<int>& numbers) {
  for (std::size_t i = numbers.size(); i > 1; --i) {
    std::swap(numbers[i - 1], numbers[random.Below(i)]);
  }
}

}  // namespace

Scenario DrawScenario(SeededRandom& random, Profile profile) {
  Scenario scenario;
  scenario.max_parity = OneOf(random, std::array{1, 1, 2, 3});
  scenario.schemes = SchemesFor(scenario.max_parity);
  // Two or three schemes a run: transitions between them come up more often.
  const std::size_t kept = 2 + random.Below(2);
  while (scenario.schemes.size() > kept) {
    scenario.schemes.erase(
        scenario.schemes.begin() +
        static_cast<std::ptrdiff_t>(random.Below(scenario.schemes.size())));
  }
  int nodes = 0;
  for (const Scheme& scheme : scenario.schemes) {
    nodes = std::max(nodes, NodeCount(scheme));
  }
  scenario.servers = nodes + static_cast<int>(random.Below(3));
  scenario.sessions = 1 + static_cast<int>(random.Below(2));
  scenario.clients = 2 + static_cast<int>(random.Below(3));
  const auto keys = 1 + random.Below(3);
  for (std::uint64_t i = 0; i < keys; ++i) {
    scenario.keys.push_back(i == 2 ? "ers!key" : fmt::format("key{}", i));
  }
  scenario.cell_bytes =
      OneOf(random, std::array<std::size_t, 5>{4, 8, 24, 100, 1024});
  scenario.inline_below =
      OneOf(random, std::array<std::size_t, 4>{0, 0, 64, 4096});
  if (random.Below(4) == 0) scenario.item_size_max = 2048;
  scenario.stress = random.Below(3) == 0 || profile == Profile::kRivals;
  if (scenario.stress) {
    // As many servers as homes: whatever happens to one happens to the chain.
    scenario.max_parity = OneOf(random, std::array{1, 2, 2, 3});
    scenario.schemes = {SchemesFor(scenario.max_parity).front()};
    scenario.servers = scenario.max_parity + 1;
    scenario.keys.resize(1);
    scenario.inline_below = 4096;
    scenario.cell_bytes = 4;
    scenario.operations = 60;
    scenario.clients += 2;
    scenario.sessions = scenario.clients;
    if (random.Below(2) == 0 || profile == Profile::kRivals) {
      scenario.latency = std::chrono::milliseconds(20);
    }
  }
  scenario.scope =
      OneOf(random, std::array{FaultScope::kNone, FaultScope::kWithin,
                               FaultScope::kWithin, FaultScope::kWithin,
                               FaultScope::kBeyond});
  if (profile == Profile::kRivals) scenario.scope = FaultScope::kWithin;
  scenario.exports = random.Below(4) == 0 && profile != Profile::kRivals;
  std::vector<int> members;
  for (int i = 0; i < scenario.servers; ++i) members.push_back(i);
  Shuffle(random, members);
  const int victims = scenario.scope == FaultScope::kWithin
                          ? scenario.max_parity
                          : scenario.servers;
  scenario.victims.assign(members.begin(), members.begin() + victims);
  // A plain item goes away and comes back with its server.
  scenario.fills = random.Below(2) == 0 && !scenario.exports;
  scenario.rolls = scenario.fills && scenario.scope == FaultScope::kWithin &&
                   random.Below(3) != 0;
  // One fault after the other, and what was stored before them all.
  if (scenario.rolls) scenario.pause = std::chrono::milliseconds(60);
  return scenario;
}

std::string Describe(const Scenario& scenario) {
  std::string schemes;
  for (const Scheme& scheme : scenario.schemes) {
    schemes += fmt::format(" {}", FormatScheme(scheme));
  }
  std::string victims;
  for (const int victim : scenario.victims) {
    victims += fmt::format(" {}", victim);
  }
  const char* scope = scenario.scope == FaultScope::kNone     ? "no faults"
                      : scenario.scope == FaultScope::kWithin ? "within M"
                                                              : "beyond M";
  return fmt::format(
      "{}{} servers, M={},{}; {} clients on {} sessions, {} keys, up to {} "
      "cells "
      "of {} bytes, inline below {}, item limit {}{}; {}, victims{}{}",
      scenario.stress ? "stress, " : "", scenario.servers, scenario.max_parity,
      schemes, scenario.clients, scenario.sessions, scenario.keys.size(),
      scenario.max_cells, scenario.cell_bytes, scenario.inline_below,
      scenario.item_size_max, scenario.exports ? ", exports" : "", scope,
      victims,
      scenario.rolls   ? ", then others"
      : scenario.fills ? ", filled again"
                       : "");
}

}  // namespace ers::sim
