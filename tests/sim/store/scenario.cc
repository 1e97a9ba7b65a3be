#include "sim/store/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ers/options.h"

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
      {Kind::kChain, 2, m, 4, {3}},
  };
  if (m == 1) schemes.push_back({Kind::kErs2, 3, 1, 4});
  return schemes;
}

void Shuffle(SeededRandom& random, std::vector<int>& numbers) {
  for (std::size_t i = numbers.size(); i > 1; --i) {
    std::swap(numbers[i - 1], numbers[random.Below(i)]);
  }
}

// The same schemes with another m, or fewer parity blocks than f: transitions
// between them add and drop parity.
void AddTwins(SeededRandom& random, Scenario& scenario) {
  if (scenario.max_failures == 1 || random.Below(2) == 0) return;
  const std::vector<Scheme> schemes = scenario.schemes;
  for (Scheme twin : schemes) {
    twin.m = 1 + static_cast<int>(random.Below(
                     static_cast<std::uint64_t>(scenario.max_failures) - 1));
    scenario.schemes.push_back(twin);
  }
}

// How many servers any object can do without.
int LeastParity(const Scenario& scenario) {
  int least = scenario.max_failures;
  for (const Scheme& scheme : scenario.schemes) {
    least = std::min(least, scheme.m);
  }
  return least;
}

// Two processes at least, each of which may miss what the other does, and
// pauses that let the time go by in which no process may act yet.
void DrawLosses(SeededRandom& random, Scenario& scenario) {
  scenario.loses = true;
  scenario.scope = FaultScope::kBeyond;
  scenario.servers = std::max(scenario.servers, 2 * scenario.max_failures + 1);
  scenario.victims.resize(static_cast<std::size_t>(scenario.servers));
  for (int i = 0; i < scenario.servers; ++i) {
    scenario.victims[static_cast<std::size_t>(i)] = i;
  }
  scenario.processes = 2;
  scenario.clients = 2;
  scenario.sessions = std::min(scenario.sessions, scenario.clients);
  scenario.exports = false;
  scenario.rolls = false;
  scenario.fills = random.Below(3) != 0;
  scenario.grace = {};
  scenario.latency = NetworkOptions().latency_max;
  scenario.pause = std::chrono::milliseconds(400);
}

// Within f, and where n - f members are a majority: otherwise processes part
// ways. With pauses in which servers leave and return.
void DrawChanges(SeededRandom& random, Scenario& scenario) {
  scenario.stops_in_changes = true;
  scenario.rests = false;
  scenario.scope = FaultScope::kWithin;
  scenario.servers = std::max(scenario.servers, 2 * scenario.max_failures + 1);
  scenario.victims.clear();
  const int victims =
      scenario.stress ? scenario.max_failures : LeastParity(scenario);
  const auto first = static_cast<int>(
      random.Below(static_cast<std::uint64_t>(scenario.servers)));
  for (int i = 0; i < victims; ++i) {
    scenario.victims.push_back((first + i) % scenario.servers);
  }
  scenario.processes = 3;
  scenario.clients = 2;
  scenario.sessions = std::min(scenario.sessions, scenario.clients);
  scenario.exports = false;
  scenario.fills = random.Below(2) == 0;
  scenario.rolls = scenario.fills;
  scenario.grace = {};
  scenario.latency = NetworkOptions().latency_max;
  scenario.pause = std::chrono::milliseconds(200);
}

// So that many changes are old enough, and few take that long.
std::chrono::milliseconds DrawGrace(SeededRandom& random,
                                    const Scenario& scenario) {
  const bool far = scenario.latency > std::chrono::milliseconds(1);
  const std::chrono::milliseconds unit(far ? 80 : 1);
  return OneOf(random, std::array{3, 10}) * unit;
}

void DrawPacks(SeededRandom& random, Scenario& scenario, Profile profile) {
  const bool all = profile == Profile::kPacks;
  scenario.packs = all || (profile != Profile::kRivals && random.Below(6) == 0);
  if (!scenario.packs) return;
  scenario.inline_below = std::max<std::size_t>(scenario.inline_below, 4096);
  // A value in a manifest survives f servers, one in a pack as many as its
  // scheme says.
  const auto least = static_cast<std::size_t>(LeastParity(scenario));
  if (scenario.scope == FaultScope::kWithin &&
      scenario.victims.size() > least) {
    scenario.victims.resize(least);
  }
  if (all && scenario.grace.count() == 0 && !scenario.clocks) {
    scenario.grace = DrawGrace(random, scenario);
  }
}

}  // namespace

Scenario DrawScenario(SeededRandom& random, Profile profile) {
  Scenario scenario;
  scenario.max_failures = OneOf(random, std::array{1, 1, 2, 3});
  scenario.schemes = SchemesFor(scenario.max_failures);
  // Two or three schemes a run: transitions between them come up more often.
  const std::size_t kept = 2 + random.Below(2);
  while (scenario.schemes.size() > kept) {
    scenario.schemes.erase(
        scenario.schemes.begin() +
        static_cast<std::ptrdiff_t>(random.Below(scenario.schemes.size())));
  }
  AddTwins(random, scenario);
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
  const bool kinds = profile == Profile::kKinds || profile == Profile::kViews ||
                     profile == Profile::kPacks;
  scenario.stress =
      random.Below(kinds ? 2 : 3) == 0 || profile == Profile::kRivals;
  if (scenario.stress) {
    // As many servers as replicas: whatever happens to one happens to the
    // chain.
    scenario.max_failures = OneOf(random, std::array{1, 2, 2, 3});
    scenario.schemes = {SchemesFor(scenario.max_failures).front()};
    scenario.servers = scenario.max_failures + 1;
    scenario.keys.resize(1);
    scenario.inline_below = 4096;
    scenario.cell_bytes = 4;
    scenario.operations = 60;
    scenario.clients += 2;
    scenario.sessions = scenario.clients;
    if (random.Below(2) == 0 || profile == Profile::kRivals) {
      scenario.latency = std::chrono::milliseconds(20);
    }
    if (kinds) {
      scenario.operations = Scenario().operations;
      scenario.even = true;
      // For transitions. The values are in manifests, of which there are f+1.
      scenario.schemes.push_back(ParseScheme("rep:2").value());
    }
  }
  scenario.scope =
      OneOf(random, std::array{FaultScope::kNone, FaultScope::kWithin,
                               FaultScope::kWithin, FaultScope::kWithin,
                               FaultScope::kBeyond});
  if (profile == Profile::kRivals || profile == Profile::kGarbage) {
    scenario.scope = FaultScope::kWithin;
  }
  scenario.hides = profile == Profile::kGarbage;
  scenario.exports =
      random.Below(kinds ? 2 : 4) == 0 && profile != Profile::kRivals;
  // Where n - f members are no majority, processes that reach different ones
  // part ways beyond f (docs/internals/view.md).
  const bool may_split = scenario.scope == FaultScope::kBeyond &&
                         scenario.servers <= 2 * scenario.max_failures;
  if (kinds && may_split) scenario.servers = 2 * scenario.max_failures + 1;
  std::vector<int> members;
  for (int i = 0; i < scenario.servers; ++i) members.push_back(i);
  Shuffle(random, members);
  int victims = scenario.servers;
  if (scenario.scope == FaultScope::kWithin) {
    victims = scenario.stress ? scenario.max_failures : LeastParity(scenario);
  }
  scenario.victims.assign(members.begin(), members.begin() + victims);
  // A plain item goes away and comes back with its server.
  scenario.fills = random.Below(2) == 0 && !scenario.exports;
  scenario.rolls = scenario.fills && scenario.scope == FaultScope::kWithin &&
                   random.Below(3) != 0;
  const bool half = random.Below(2) != 0;
  const bool two = kinds || scenario.hides || (half && !may_split);
  scenario.processes = two ? 2 : 1;
  if (scenario.processes > 1) {
    scenario.clients = (scenario.clients + 1) / 2;
    if (kinds) scenario.clients = std::max(scenario.clients, 2);
    scenario.sessions = std::min(scenario.sessions, scenario.clients);
  }
  // One fault after the other, and what was stored before them all.
  if (scenario.rolls) scenario.pause = std::chrono::milliseconds(60);
  if (random.Below(2) == 0 || scenario.hides) {
    scenario.grace = DrawGrace(random, scenario);
  }
  // Drawn aside: the rest of the run is the same with it.
  SeededRandom aside = random;
  scenario.bumps_lru = aside.Below(2) == 0;
  scenario.all_kinds = kinds;
  // A plain item is never flushed.
  scenario.flushes =
      scenario.all_kinds && aside.Below(2) == 0 && !scenario.exports;
  scenario.lifetimes =
      scenario.all_kinds && aside.Below(2) == 0 && !scenario.exports;
  const bool calm = profile != Profile::kRivals &&
                    profile != Profile::kGarbage && profile != Profile::kLosses;
  scenario.rests =
      calm && scenario.scope != FaultScope::kNone && two && aside.Below(8) == 0;
  scenario.writes_last =
      profile == Profile::kRivals && two && aside.Below(2) == 0;
  scenario.far = profile == Profile::kRivals && two && aside.Below(8) == 0;
  if (scenario.far) {
    scenario.latency = std::chrono::milliseconds(100);
    scenario.grace = {};
  }
  if (profile == Profile::kLosses) DrawLosses(random, scenario);
  if (profile == Profile::kViews) DrawChanges(random, scenario);
  scenario.replaces = calm && scenario.scope != FaultScope::kNone &&
                      aside.Below(kinds ? 4 : 8) == 0;
  scenario.clocks =
      scenario.flushes && aside.Below(3) == 0 && !scenario.stops_in_changes;
  if (scenario.clocks) {
    // What lives for a second, or has a G of as much, is by the clocks.
    scenario.lifetimes = false;
    scenario.grace = {};
  }
  scenario.adopts = scenario.exports || aside.Below(2) == 0;
  scenario.column_below =
      OneOf(aside, std::array<std::size_t, 4>{0, 0, 200, kMaxColumnBelow});
  DrawPacks(aside, scenario, profile);
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
                      : scenario.scope == FaultScope::kWithin ? "within m"
                                                              : "beyond m";
  return fmt::format(
      "{}{}{} servers, f={},{}; {} processes of {} clients on {} sessions, {} "
      "keys, up to {} "
      "cells "
      "of {} bytes, inline below {}, columns below {}, item limit "
      "{}{}{}{}{}{}; {}, "
      "victims{}{}{}{}{}",
      scenario.stress ? "stress, " : "", scenario.packs ? "packs, " : "",
      scenario.servers, scenario.max_failures, schemes, scenario.processes,
      scenario.clients, scenario.sessions, scenario.keys.size(),
      scenario.max_cells, scenario.cell_bytes, scenario.inline_below,
      scenario.column_below, scenario.item_size_max,
      scenario.exports  ? ", exports"
      : scenario.adopts ? ", adopts"
                        : "",
      scenario.bumps_lru ? ", kept warm" : "",
      scenario.lifetimes ? ", lifetimes" : "",
      scenario.clocks    ? ", flushes, wrong clocks"
      : scenario.flushes ? ", flushes"
                         : "",
      scenario.grace.count() > 0
          ? fmt::format(", garbage after {} ms", 2 * scenario.grace.count())
          : std::string(),
      scope, victims,
      scenario.stops_in_changes ? ", processes stop in changes of the view"
      : scenario.rests          ? ", a process rests"
      : scenario.writes_last    ? ", one is killed as it writes"
                                : "",
      scenario.far ? ", far away" : "",
      scenario.replaces ? ", servers are replaced"
      : scenario.loses  ? ", more than f are lost"
                        : "",
      scenario.rolls   ? ", then others"
      : scenario.fills ? ", filled again"
                       : "");
}

}  // namespace ers::sim
