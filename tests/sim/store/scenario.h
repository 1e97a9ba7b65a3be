// Scenario: what one run of the store's simulation is about, drawn from its
// seed: the cluster, the objects, the clients, and which faults may happen.
#ifndef ERS_TESTS_SIM_STORE_SCENARIO_H_
#define ERS_TESTS_SIM_STORE_SCENARIO_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ers/scheme.h"
#include "sim/world/sim_world.h"

namespace ers::sim {

// Which promises hold, by what the faults leave.
enum class FaultScope {
  // None: at the end the servers hold exactly what manifests name.
  kNone,
  // Memory loss, long silence and eviction strike at most as many servers as
  // the smallest m says: nothing may vanish, and all calls work once the faults
  // are over.
  kWithin,
  // Anything strikes anywhere: values may vanish, whole.
  kBeyond,
};

struct Scenario {
  int max_failures = 1;         // f
  std::vector<Scheme> schemes;  // with m up to f
  int servers = 0;
  int processes = 1;
  int sessions = 1;  // loops of a process, each with its own connections
  int clients = 3;   // of a process, spread over its sessions
  std::vector<std::string> keys;
  int operations = 200;  // of all clients together
  // Small values of one key, many faults in a short time: all about the commit.
  bool stress = false;
  // Changes of each kind come up as often.
  bool even = false;
  // The longest way of a piece of bytes: a long one lets much happen between
  // the sending of a command and its being applied.
  Duration latency = NetworkOptions().latency_max;
  std::size_t cell_bytes = 8;
  std::size_t max_cells = 12;
  std::size_t inline_below = 0;
  std::size_t column_below = 0;
  std::uint64_t item_size_max = 1 << 20;
  // Values become plain items now and then, which have no redundancy.
  bool exports = false;
  // Puts take the place of plain items, as a proxy's do; with exports always.
  bool adopts = false;
  // Objects expire on the way. (What is exported ends when memcached says so,
  // which is up to a second later.)
  bool lifetimes = false;
  // Also puts under a condition, touches, and checks that repair.
  bool all_kinds = false;
  bool flushes = false;  // now and then
  // Processes' clocks, and some servers', are wrong by up to an hour, and step.
  bool clocks = false;
  // Reads touch what they do not read, and end what cannot be read any more.
  bool bumps_lru = false;
  FaultScope scope = FaultScope::kWithin;
  std::vector<int> victims;  // kWithin: where anything may happen
  // Members that are out are backfilled as soon as they answer again.
  bool fills = false;
  // kWithin, with fills: once all members are in sync again, others are
  // victims.
  bool rolls = false;
  // Garbage is collected again and again, by this G; 0: only at the end.
  std::chrono::milliseconds grace{0};
  // With garbage, a network that fails one process fails no other, and servers
  // may refuse to list their keys: what a collection cannot see.
  bool hides = false;
  // Servers are replaced by others, at new addresses.
  bool replaces = false;
  // A process has nothing to do for longer than the others wait for it.
  bool rests = false;
  // Servers are so far away that leases are long.
  bool far = false;
  // A process is killed just after it wrote something, and that comes late.
  bool writes_last = false;
  // A process that is changing the view stands still for longer than the others
  // wait for it, now and then.
  bool stops_in_changes = false;
  // kBeyond: more than f servers restart, empty, at about the same time, again
  // and again. All are up in the end, and then everything must go on.
  bool loses = false;
  // Small values are packed, and packs are packed anew, all the time.
  bool packs = false;
  // The longest that a client waits from one operation to the next.
  Duration pause = std::chrono::milliseconds(2);
};

enum class Profile {
  kAny,
  kRivals,   // every run a stress of the commit, within f
  kGarbage,  // every run collects garbage all the time, within f
  kLosses,   // in every run more than f servers lose their memory, and return
  kViews,    // in every run three processes change the view all the time
  // Operations of all kinds, by two processes with three clients and more, at
  // least 200; every other run a stress of the commit, with as many of each.
  kKinds,
  kPacks,  // the same, and in every run small values are packed
};

Scenario DrawScenario(SeededRandom& random, Profile profile);
std::string Describe(const Scenario& scenario);

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_STORE_SCENARIO_H_
