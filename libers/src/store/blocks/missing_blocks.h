// MissingBlocks: which blocks of a group a plan has to do without, and why.
#ifndef ERS_STORE_BLOCKS_MISSING_BLOCKS_H_
#define ERS_STORE_BLOCKS_MISSING_BLOCKS_H_

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "ers/status.h"
#include "plan/planners.h"
#include "store/blocks/block_group.h"

namespace ers::store {

// Null: it cannot be done without what is missing.
using Planner = std::function<std::optional<plan::Plan>(const plan::Missing&)>;

class MissingBlocks {
 public:
  // Blocks without a generation, and those of members that cannot be used now,
  // are missing from the start; `writing` asks for members that new blocks may
  // be put on.
  MissingBlocks(const BlockGroup& group, bool writing);

  // Its server answered not to have it.
  void SetGone(layout::BlockId block);
  // The same, or what it has is not that block.
  void SetDamaged(layout::BlockId block);
  // The member did not answer for it.
  void SetSilent(layout::BlockId block, int member);

  [[nodiscard]] const plan::Missing& all() const { return missing_; }
  // Of those, what servers answered not to have, or had damaged.
  [[nodiscard]] const std::vector<layout::BlockId>& gone() const {
    return gone_;
  }
  // Does the plan read what is missing?
  [[nodiscard]] bool ReadBy(const plan::Plan& plan) const;
  // Does the plan recover data that is missing? It may also recover what is
  // late, and there.
  [[nodiscard]] bool RecoveredBy(const plan::Plan& plan) const;
  [[nodiscard]] const std::set<int>& silent_members() const {
    return silent_members_;
  }
  // Why there is no plan. kNotFound: too many blocks are gone from servers that
  // answer. kCorruption: with those that are damaged there are too many.
  // kUnavailable: too many servers are silent.
  [[nodiscard]] Status Shortage(const Planner& planner) const;

 private:
  [[nodiscard]] bool Has(layout::BlockId block) const;

  const BlockGroup group_;
  plan::Missing missing_;
  std::vector<layout::BlockId> never_staged_;
  std::vector<layout::BlockId> gone_;
  std::vector<layout::BlockId> damaged_;  // of these
  std::set<int> silent_members_;
};

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_MISSING_BLOCKS_H_
