#include "store/support/hedge_budget.h"

#include <algorithm>

namespace ers::store {

void HedgeBudget::OnRead(std::uint64_t bytes, bool alone) {
  const auto percent = static_cast<unsigned>(percent_);
  left_ = std::min(100 * kMost,
                   left_ + bytes * percent * (alone ? kMoreWhereAlone : 1));
}

bool HedgeBudget::Spend(std::uint64_t bytes) {
  if (percent_ == 0 || 100 * bytes > left_) return false;
  left_ -= 100 * bytes;
  return true;
}

}  // namespace ers::store
