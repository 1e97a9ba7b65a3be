// HedgeBudget: how much more may be read than is asked for, so that it comes
// sooner.
#ifndef ERS_STORE_SUPPORT_HEDGE_BUDGET_H_
#define ERS_STORE_SUPPORT_HEDGE_BUDGET_H_

#include <cstdint>

namespace ers::store {

// A bucket of bytes: a part of what is read goes in, hedges take it out. So
// servers that are all late, because there is too much to do, get hardly more
// of it. It begins full, for the first late reply of a process that has read
// little. One thread.
class HedgeBudget {
 public:
  // `percent` of what is read; 0: nothing ever.
  explicit HedgeBudget(int percent) : percent_(percent) {}

  // So much was read. `alone`: one server alone is slow. What its blocks cost
  // elsewhere is spread over all others, and each may take more of it.
  void OnRead(std::uint64_t bytes, bool alone);
  // False: there is not so much left, and nothing was spent.
  [[nodiscard]] bool Spend(std::uint64_t bytes);

  static constexpr std::uint64_t kMost = std::uint64_t{16} << 20;
  static constexpr unsigned kMoreWhereAlone = 8;

 private:
  const int percent_;
  // In hundredths of a byte: small blocks fill it, too.
  std::uint64_t left_ = 100 * kMost;
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_HEDGE_BUDGET_H_
