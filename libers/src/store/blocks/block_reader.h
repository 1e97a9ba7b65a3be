// BlockReader: reads what a plan reads, in its order, and hands each block to
// the plan's steps.
#ifndef ERS_STORE_BLOCKS_BLOCK_READER_H_
#define ERS_STORE_BLOCKS_BLOCK_READER_H_

#include <cstddef>
#include <list>
#include <optional>

#include "net/task.h"
#include "plan/plan.h"
#include "store/blocks/block_buffers.h"
#include "store/blocks/block_group.h"
#include "store/blocks/block_transfer.h"
#include "store/blocks/missing_blocks.h"
#include "store/blocks/plan_steps.h"
#include "store/support/read_window.h"

namespace ers::store {

// Of one run of a plan. Loop thread only.
class BlockReader {
 public:
  // What it has to know, to fill, and to call; all of it outlives this.
  struct Parts {
    BlockBuffers& buffers;
    PlanSteps& steps;
    MissingBlocks& missing;
    BlockTraffic& traffic;
  };

  BlockReader(const BlockGroup& group, const plan::Plan& plan,
              const Parts& parts);

  // Begins to read; to be awaited then. `ahead`: of many blocks only what a
  // ReadWindow allows is asked for ahead, so that parity leaves while they
  // come.
  enum class Ahead { kAll, kWindow };
  void Start(Ahead ahead);
  // Until all blocks have come, or are known not to. After one that did not no
  // more are asked for.
  auto operator co_await() { return under_way_.operator co_await(); }
  // After it. False: blocks are missing, and another plan is needed.
  [[nodiscard]] bool Finish();

 private:
  struct Transfer : BlockTransfer {
    BlockReader* reader = nullptr;
    net::TimePoint asked_at;
    std::size_t counted = 0;  // bytes that came, as far as the window has them
  };

  void AskForMore();
  [[nodiscard]] bool NextSharesStep() const;
  void Ask(layout::BlockId block);
  void Send(Transfer& transfer);
  void OnPlaced(Transfer& transfer);
  void OnDone(Transfer& transfer);
  void CountRest(const Transfer& transfer);
  void Take(const Transfer& transfer);

  const BlockGroup group_;
  const plan::Plan& plan_;
  const Parts parts_;
  const std::size_t block_bytes_;
  std::size_t next_ = 0;  // of the plan's reads, to be asked for
  bool lost_ = false;
  std::optional<ReadWindow> window_;
  std::list<Transfer> transfers_;
  net::Latch under_way_;
};

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_BLOCK_READER_H_
