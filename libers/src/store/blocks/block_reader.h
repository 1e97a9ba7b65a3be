// BlockReader: reads what a plan reads, in its order, and hands each block to
// the plan's steps.
#ifndef ERS_STORE_BLOCKS_BLOCK_READER_H_
#define ERS_STORE_BLOCKS_BLOCK_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "net/task.h"
#include "plan/plan.h"
#include "store/blocks/block_buffers.h"
#include "store/blocks/block_group.h"
#include "store/blocks/block_transfer.h"
#include "store/blocks/hedge.h"
#include "store/blocks/missing_blocks.h"
#include "store/blocks/plan_steps.h"
#include "store/replicas/abandoned_read.h"
#include "store/support/alarms.h"
#include "store/support/read_window.h"

namespace ers::store {

// Of one run of a plan. Where blocks are late it also asks for what the hedge
// reads in their place. It ends with whichever is there first; what is still on
// its way is abandoned. Loop thread only.
class BlockReader : private Alarm {
 public:
  // What it has to know, to fill, and to call; all of it outlives this.
  struct Parts {
    BlockBuffers& buffers;
    PlanSteps& steps;
    MissingBlocks& missing;
    BlockTraffic& traffic;
    Hedge& hedge;
  };

  BlockReader(const BlockGroup& group, const plan::Plan& plan,
              const Parts& parts);
  ~BlockReader();

  // Begins to read; to be awaited then. `ahead`: of many blocks only what a
  // ReadWindow allows is asked for ahead, so that parity leaves while they
  // come.
  enum class Ahead : std::uint8_t { kAll, kWindow };
  void Start(Ahead ahead);
  auto operator co_await() { return going_.operator co_await(); }

  // After it.
  enum class End : std::uint8_t {
    kWhole,     // all blocks of the plan are in hand
    kReplaced,  // all blocks of the hedge's plan are
    kLost,      // blocks are missing, and another plan is needed
  };
  [[nodiscard]] End Finish();

 private:
  struct Transfer : BlockTransfer {
    BlockReader* reader = nullptr;
    PatientWait wait;
    net::TimePoint late_at;  // when its patience is over, as far as it is known
    bool held = false;       // it is over, and others are waited for, too
    bool under_way = true;
    bool of_plan = false;     // else of the hedge's alone
    bool in_window = false;   // it is one of those that the window has
    std::size_t counted = 0;  // bytes that came, as far as the window has them

    [[nodiscard]] bool MayBeLate() const { return under_way && !wait.late; }
    [[nodiscard]] bool IsOver(net::TimePoint now) const {
      return MayBeLate() && late_at <= now;
    }
  };

  void AskForMore();
  [[nodiscard]] bool NextSharesStep() const;
  Transfer& Ask(layout::BlockId block, net::TimePoint now);
  void Send(Transfer& transfer);
  void OnPlaced(Transfer& transfer);
  void OnDone(Transfer& transfer);
  void CountRest(const Transfer& transfer);
  void Take(const Transfer& transfer);

  void SetAlarm();
  void OnAlarm();
  [[nodiscard]] bool WaitsForTooMany(net::TimePoint now) const;
  void Hold(net::TimePoint now);
  void GiveTime();
  void SetLate(Transfer& transfer, net::TimePoint now);
  void OnLateEnd(int member);
  void AskForHedge();
  [[nodiscard]] Transfer* Coming(layout::BlockId block) const;
  void AbandonRecovered();
  void LetGo(std::unique_ptr<Transfer> transfer) const;
  [[nodiscard]] std::optional<End> Ended() const;
  void EndIfDone();

  const BlockGroup group_;
  const plan::Plan& plan_;
  const Parts parts_;
  std::size_t next_ = 0;  // of the plan's reads, to be asked for
  int coming_ = 0;        // of the plan's reads
  bool lost_ = false;     // one of them will not come
  bool holds_ = false;    // some transfer
  bool hedged_ = false;   // other blocks are read in place of late ones
  std::optional<ReadWindow> window_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::optional<End> end_;
  net::Latch going_;
};

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_BLOCK_READER_H_
