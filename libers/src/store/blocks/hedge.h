// Hedge: how a run of plans does without blocks of servers that are late.
#ifndef ERS_STORE_BLOCKS_HEDGE_H_
#define ERS_STORE_BLOCKS_HEDGE_H_

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "plan/plan.h"
#include "store/blocks/block_buffers.h"
#include "store/blocks/block_group.h"
#include "store/blocks/missing_blocks.h"

namespace ers::store {

// A plan for what is missing is, for a member that is late, a plan for what
// is late: what replaces it is asked for, and that plan is run in place of
// the first one if all that it reads has come sooner. Loop thread only.
class Hedge {
 public:
  // All of it outlives this.
  Hedge(const BlockGroup& group, const BlockBuffers& buffers,
        const MissingBlocks& missing, const Planner& planner);

  // The plan to run for what is missing. It reads nothing of members that are
  // shunned, where others can replace that and the budget allows it. Null: it
  // cannot be done without what is missing.
  std::optional<plan::Plan> Begin();
  // That plan does without some member.
  [[nodiscard]] bool goes_around() const { return !avoided_.empty(); }

  // Is there a plan without these members and those that are late?
  [[nodiscard]] bool CanReplace(std::set<int> members) const;
  // A member is late with what the plan reads.
  void SetLate(int member) { late_.insert(member); }
  // What it was late with has come.
  void SetCame(int member) { late_.erase(member); }
  [[nodiscard]] bool any_late() const { return !late_.empty(); }
  [[nodiscard]] bool IsLate(int member) const { return late_.contains(member); }
  // Plans without what is late, for what is missing by now. What it reads that
  // is neither in hand nor `coming` is to be asked for; empty: nothing, or
  // there is no such plan, or the budget does not allow it.
  std::vector<layout::BlockId> Plan(
      const std::function<bool(layout::BlockId)>& coming);
  [[nodiscard]] bool has_plan() const { return plan_.has_value(); }
  // All that this plan reads is in hand.
  [[nodiscard]] bool IsReady() const;
  // It, for the next run.
  plan::Plan Take();

 private:
  [[nodiscard]] std::optional<plan::Plan> Without(
      const std::set<int>& members) const;
  [[nodiscard]] int ReadsOf(const plan::Plan& plan,
                            const std::set<int>& members) const;
  [[nodiscard]] std::set<int> Shunned() const;
  [[nodiscard]] int WaitsFor(const plan::Plan& plan,
                             const std::set<int>& shunned) const;
  [[nodiscard]] std::size_t BytesOf(
      const std::vector<layout::BlockId>& blocks) const;
  bool Afford(std::size_t bytes);
  void Probe(const plan::Plan& plain);

  const BlockGroup group_;
  const BlockBuffers& buffers_;
  const MissingBlocks& missing_;
  const Planner& planner_;
  std::set<int> avoided_;  // members, from the start
  std::set<int> late_;     // members
  std::optional<plan::Plan> plan_;
};

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_HEDGE_H_
