// GroupPipeline: the groups of a value that are being written at a time.
#ifndef ERS_STORE_BLOCKS_GROUP_PIPELINE_H_
#define ERS_STORE_BLOCKS_GROUP_PIPELINE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <set>
#include <span>

#include "net/task.h"
#include "store/blocks/block_transfer.h"
#include "store/blocks/block_writer.h"
#include "store/blocks/group_put.h"
#include "store/format/manifest.h"
#include "store/membership/session.h"
#include "store/support/content.h"

namespace ers::store {

struct WriteOutcome {
  Status status;
  std::uint64_t epoch = 0;       // in which it began
  std::set<int> failed_members;  // that did not take their blocks
  BlockTraffic traffic;
};

// Each group lets go of its content as soon as it and those before it are
// staged: the next one may wait for that memory. Loop thread
// only; what it is made with outlives it.
class GroupPipeline {
 public:
  // `manifest` loses the generations of blocks that no member took.
  GroupPipeline(Session& session, Content& content, const Staging& staging,
                Manifest& manifest, StepTimer* steps);

  // `bytes` are of the content's newest part, the first `filled` are there;
  // the manifest has the group already.
  void Start(int group, std::span<const std::byte> bytes, std::size_t filled);
  // Gives the group started last what is still to come of it.
  net::Task<Status> FillLast(std::size_t filled);
  // Until fewer are under way.
  net::Task<void> AwaitFewer(std::size_t count);
  // The value may have taken long to come: blocks of members that died
  // meanwhile count as never stored.
  void ForgetLost(int first_group);
  // Of those that have ended.
  [[nodiscard]] WriteOutcome& outcome() { return outcome_; }

 private:
  struct Write {
    Write(Session& session, const Manifest& manifest, int group,
          std::span<const std::byte> bytes, std::size_t filled,
          const Staging& staging, StepTimer* steps);
    GroupPut put;
    Status status;
    bool done = false;
  };

  net::Task<void> Run(Write& write);
  void FinishOldest();

  Session& session_;
  Content& content_;
  const Staging staging_;
  Manifest& manifest_;
  StepTimer* const steps_;
  std::list<Write> writes_;
  WriteOutcome outcome_;
  net::Latch* waiter_ = nullptr;
};

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_GROUP_PIPELINE_H_
