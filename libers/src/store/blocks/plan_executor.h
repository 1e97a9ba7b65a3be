// PlanExecutor: the one executor. It runs plans for one group of one object:
// fetches the blocks they read, computes their steps as soon as the inputs are
// there, and stages what they write while other reads are still under way.
#ifndef ERS_STORE_BLOCKS_PLAN_EXECUTOR_H_
#define ERS_STORE_BLOCKS_PLAN_EXECUTOR_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "net/task.h"
#include "plan/planners.h"
#include "store/format/block_header.h"
#include "store/format/object_map.h"
#include "store/membership/send.h"
#include "store/membership/session.h"
#include "store/support/read_window.h"
#include "store/support/step_timer.h"

namespace ers::store {

// Blocks and payload bytes that moved, counted as replies came in.
struct BlockTraffic {
  std::uint64_t data_reads = 0;
  std::uint64_t parity_reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;

  BlockTraffic& operator+=(const BlockTraffic& other);
};

// How a run stages blocks.
struct Staging {
  ChangeId generation;
  std::int64_t exptime = 0;  // memcached's
};

// Loop thread only; lives until its Run has returned. Buffers placed in it
// outlive it.
class PlanExecutor {
 public:
  using Planner =
      std::function<std::optional<plan::Plan>(const plan::Missing&)>;

  // `map` outlives the run. Blocks without a generation, and those of members
  // that cannot be used now, are missing from the start; `writing` asks for
  // members that new blocks may be put on.
  // `timer` outlives the run; null: nobody wants to know.
  PlanExecutor(Session& session, const ObjectMap& map, int group, bool writing,
               StepTimer* timer);
  ~PlanExecutor();
  PlanExecutor(const PlanExecutor&) = delete;
  PlanExecutor& operator=(const PlanExecutor&) = delete;

  [[nodiscard]] std::size_t block_bytes() const { return block_bytes_; }

  // Where a stored block is read to (block_bytes() bytes). Blocks that were
  // not placed get memory of the run's own.
  void Place(layout::BlockId block, std::byte* at);
  // New content of a data block: an input of the plan's steps, and staged
  // where the plan writes it. Padded to block_bytes().
  void Give(layout::BlockId block, const std::byte* content);
  // Data blocks that are not given yet come while Run waits for them, and leave
  // as they come, parity as soon as its stripe is there. Before Run, of a plan
  // without reads.
  void AwaitGiven();
  // The rest will not come: Run ends with what it has staged.
  void Abandon();
  // Stored content that is in hand; null where it is not.
  [[nodiscard]] const std::byte* Have(layout::BlockId block) const;

  // Runs the plan that `planner` makes for what is missing; replans when more
  // turns out to be missing. `staging` is null for plans without writes.
  // Given blocks that depend on reads are supplied by `supply`, called once
  // all reads and the steps without given inputs are done, before the rest.
  // kNotFound: too many blocks are gone from servers that answer. kCorruption:
  // with those that are damaged there are too many.
  // kUnavailable: too many servers are silent. kNoMemory, kTooLarge: a server
  // refused a block; staged ones are left for the caller to drop.
  net::Task<Status> Run(const Planner& planner, const Staging* staging,
                        const std::function<void()>& supply = {});

  // Stores those of `blocks` that are in hand, read or recovered by a Run that
  // staged nothing: under the generation they have, a repair, or under
  // `generation`, where they have none. `step` is what that is for.
  net::Task<void> WriteBack(SendStep step,
                            std::span<const layout::BlockId> blocks,
                            const ChangeId& generation = {});

  // What a Run left: blocks staged; blocks of the new state that could not be
  // put on their member; members that failed a stage.
  [[nodiscard]] const std::set<layout::BlockId>& staged() const {
    return staged_;
  }
  [[nodiscard]] const std::set<layout::BlockId>& unstaged() const {
    return unstaged_;
  }
  [[nodiscard]] const std::set<int>& failed_members() const {
    return failed_members_;
  }
  // Why a server that answers did not take a block; OK: all took theirs.
  [[nodiscard]] const Status& refusal() const { return refusal_; }
  // Blocks that servers answered not to have, or had corrupted.
  [[nodiscard]] const std::vector<layout::BlockId>& gone() const {
    return gone_;
  }
  // Some stored data block was recovered from others.
  [[nodiscard]] bool decoded() const { return decoded_; }
  [[nodiscard]] const BlockTraffic& traffic() const { return traffic_; }

 private:
  struct Transfer;
  struct StepState;

  void FindMissing(bool writing);
  std::byte* NewBuffer();
  std::byte* BufferOf(layout::BlockId block);
  std::byte* FreshBufferOf(layout::BlockId block);
  bool MayRetry(int member) const;
  Transfer& NewTransfer(SendStep step, net::Verb verb, layout::BlockId block,
                        std::string key, const std::byte* payload);
  void SendOut(Transfer& transfer);
  void OnDone(Transfer& transfer);
  bool SharesStep() const;
  void StartFetches();
  void OnPlaced(Transfer& fetch);
  void CountRest(const Transfer& fetch);
  void StartFetch(layout::BlockId block);
  void OnFetched(const Transfer& fetch);
  void StartStage(SendStep step, layout::BlockId block,
                  const std::byte* content, const ChangeId& generation,
                  std::int64_t exptime);
  void OnStaged(const Transfer& stage);
  void PrepareSteps(const plan::Plan& plan);
  void RunStep(const plan::Plan& plan, const plan::Step& step);
  const std::byte* InputOf(const plan::Plan& plan, std::uint32_t input) const;
  void OnInput(layout::BlockId block);
  void StageGiven(layout::BlockId block);
  net::Task<void> StageAllGiven(const plan::Plan& plan);
  void OnGiven(layout::BlockId block);
  net::Task<void> StageAsGiven(const plan::Plan& plan);
  net::Task<bool> RunOnce(const plan::Plan& plan,
                          const std::function<void()>& supply);
  Status Shortage(const Planner& planner) const;

  void BeginStep(Step step) {
    if (timer_ != nullptr) timer_->Begin(step);
  }
  void EndStep(Step step) {
    if (timer_ != nullptr) timer_->End(step);
  }

  Session& session_;
  StepTimer* const timer_;
  const ObjectMap& map_;
  const int group_;
  const std::size_t block_bytes_;
  plan::Missing missing_;
  std::vector<layout::BlockId> never_staged_;
  std::vector<layout::BlockId> gone_;
  std::vector<layout::BlockId> damaged_;  // of these
  std::set<int> silent_members_;

  std::vector<std::byte*> buffers_;      // stored content, by block id
  std::vector<std::byte*> fresh_;        // new parity, by block id
  std::vector<bool> have_;               // stored content is in its buffer
  std::vector<bool> done_;               // new parity was computed and staged
  std::vector<const std::byte*> given_;  // by data block id
  std::vector<BufferPool::Buffer> owned_;

  // The plan being run.
  const plan::Plan* plan_ = nullptr;
  const Staging* staging_ = nullptr;
  std::vector<StepState> steps_;
  std::vector<std::vector<std::uint32_t>> readers_;  // steps, by block id
  std::size_t next_read_ = 0;         // of the plan's, to be asked for
  std::optional<ReadWindow> window_;  // where parity leaves while reads come
  bool lost_reads_ = false;
  Status refusal_;
  bool awaits_given_ = false;
  bool abandoned_ = false;
  net::Latch coming_;  // blocks to be given
  net::Latch reads_;   // fetches under way
  net::Latch writes_;  // stages under way
  std::deque<Transfer> transfers_;

  std::set<layout::BlockId> staged_;
  std::set<layout::BlockId> unstaged_;
  std::set<int> failed_members_;
  bool decoded_ = false;
  BlockTraffic traffic_;
};

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_PLAN_EXECUTOR_H_
