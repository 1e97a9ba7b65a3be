// FaultPlan: what goes wrong during one run, and when.
#ifndef ERS_TESTS_SIM_STORE_FAULT_PLAN_H_
#define ERS_TESTS_SIM_STORE_FAULT_PLAN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/store/scenario.h"
#include "sim/world/sim_server.h"
#include "store/format/view.h"

namespace ers::sim {

enum class FaultKind : std::uint8_t {
  kCrash,        // memory is gone, nothing listens
  kRestart,      // a crash, and an empty server comes back
  kStall,        // longer than the request timeout
  kHiccup,       // a shorter one
  kPartition,    // no byte gets through for a time
  kCut,          // connections break, once
  kLostReplies,  // commands are applied, connections cut before the answer
  kCutReplies,   // the same in the middle of the answer
  kSlow,         // late answers
  kEvict,        // items are gone
  kNoMemory,     // stores are refused
  kCorrupt,      // a byte of an item is flipped
  kClientPause,  // the process is stopped for a while
  kClientKill,   // the process is killed, another one starts
  // Drawn aside: a server is replaced by a new one at another address; felt
  // until that is in sync.
  kReplace,
  kCount
};
std::string_view FaultName(FaultKind kind);

// When a fault could be felt.
struct FaultWindow {
  FaultKind kind = FaultKind::kCut;
  TimePoint begin{};
  TimePoint end{};
};

// How long a process may be cut off from a server while others lose their
// memory; not shortened by Heal.
inline constexpr Duration kLongestCut = std::chrono::seconds(4);

// Schedules its faults with World::After as soon as it is made. One thread.
class FaultPlan {
 public:
  struct ProcessFaults {
    std::function<SimRuntime&()> any;
    std::function<void(Duration)> pause;
    std::function<void()> kill;
    // One that is stopped so long just before it writes, and killed behind
    // that.
    std::function<void(Duration)> write_last;
    // `over`: the new server is in sync. False: it is being replaced already.
    std::function<bool(SimServer&, std::function<void()> over)> replace;
    std::function<bool()> replacing;     // a process does
    std::function<bool()> keep_all;      // no process is about to drop a member
    std::function<void(Duration)> rest;  // its clients do nothing for a while
    // The view in force; null where the process knows none.
    std::function<std::shared_ptr<const store::View>()> view;
    // Which has the slot, and all that have, or had, or are to have it.
    std::function<SimServer&(int)> server_of;
    std::function<std::vector<SimServer*>(int)> servers_of;
  };

  // Faults begin within `span`.
  FaultPlan(World& world, const Scenario& scenario, Duration span,
            ProcessFaults process);

  // Ends all that is not over, for good; what is lost stays lost.
  void Heal();
  [[nodiscard]] const std::vector<FaultWindow>& windows() const {
    return windows_;
  }

 private:
  void Draw(Duration span);
  void DrawRest(Duration span);
  void DrawLastWrite(Duration span);
  void DrawLosses(Duration span);
  void DrawLoss(Duration begin, SeededRandom& aside);
  void DrawLossOfOthers(Duration begin, SeededRandom& aside);
  void LoseAt(Duration dies, std::uint64_t server, Duration length,
              const std::shared_ptr<bool>& begun);
  void DrawReplacement(Duration span, SeededRandom& aside);
  void StrikeVictim(FaultKind kind, Duration length);
  void Strike(FaultKind kind, SimServer& server, Duration length);
  void Corrupt(SimServer& server);
  [[nodiscard]] bool IsChanging(const store::View& view) const;
  [[nodiscard]] bool AllIsWell() const;
  void Roll();
  [[nodiscard]] SimServer& Anywhere();
  [[nodiscard]] SimServer& Victim();

  World& world_;
  const Scenario& scenario_;
  ProcessFaults process_;
  std::vector<int> victims_;
  TimePoint harm_ends_{};  // of what has struck victims
  std::vector<FaultWindow> windows_;
  bool healed_ = false;
};

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_STORE_FAULT_PLAN_H_
