// What the repair of objects is made of (repair/repair.h): blocks that are
// lacking are computed from others and stored.
#ifndef ERS_STORE_BLOCKS_OBJECT_REPAIR_H_
#define ERS_STORE_BLOCKS_OBJECT_REPAIR_H_

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "net/task.h"
#include "store/blocks/plan_executor.h"
#include "store/format/object_map.h"
#include "store/support/bounded_memory.h"
#include "store/support/pace.h"
#include "store/support/step_timer.h"

namespace ers::store {

// Blocks of one group that are not as they should be, all on members that new
// blocks may be put on.
struct Lacking {
  std::vector<layout::BlockId> lost;   // gone or damaged
  std::vector<layout::BlockId> never;  // never stored: their member was away
  // Parity that does not belong to the data, which is all there.
  std::vector<layout::BlockId> wrong;

  [[nodiscard]] std::vector<layout::BlockId> All() const;
};

// Says what is lacking. A failure ends the repair.
using FindLacking =
    std::function<net::Task<Result<Lacking>>(const ObjectMap& map, int group)>;

struct RepairTerms {
  FindLacking find;
  Pace* pace = nullptr;  // waited for at each group; null: no wait
  // Of which each group takes what its blocks may come to; null: no count.
  BoundedMemory* memory = nullptr;
  StopToken* stop = nullptr;   // ends it early; null: never
  StepTimer* steps = nullptr;  // null: not timed
  // An object ends of which more is gone than its redundancy can replace, by
  // the word of the servers that should have it.
  bool ends_lost = false;
};

// Asks for blocks, by size alone; those that are not there, or will not be for
// as long as the object lives. kUnavailable: the
// members in `silent` do not answer.
net::Task<Result<std::vector<layout::BlockId>>> FindLost(
    Session& session, const ObjectMap& map, int group,
    const std::vector<layout::BlockId>& blocks, std::set<int>& silent);

// One manifest's repair: nothing of it is committed. Loop thread only.
class ObjectRepair {
 public:
  // What was never stored is stored under `generation`, which becomes the id
  // of next(); zero: under one that is as old as the first such block.
  // `terms` outlive it.
  ObjectRepair(Session& session, std::shared_ptr<const Manifest> base,
               const ChangeId& generation, const RepairTerms& terms);

  // kNotFound, kCorruption, kUnavailable: as PlanExecutor::Run, or it was
  // stopped; some may have been stored.
  net::Task<Status> Run();
  // OK, but groups are left: next() has to be committed before it is too old.
  [[nodiscard]] bool unfinished() const { return unfinished_; }

  // What the manifest will be where blocks that were never stored are, now.
  [[nodiscard]] Manifest& next() { return next_; }
  [[nodiscard]] bool completes() const { return completed_ > 0; }
  [[nodiscard]] const BlockTraffic& traffic() const { return traffic_; }
  [[nodiscard]] int blocks() const { return restored_ + completed_; }
  // That did not take a block.
  [[nodiscard]] const std::set<int>& failed_members() const { return failed_; }

 private:
  net::Task<Status> RepairGroup(int group, const Lacking& lacking);
  net::Task<Status> StoreBlocks(int group, const Lacking& lacking,
                                PlanExecutor& run);

  Session& session_;
  const ObjectMap map_;
  const RepairTerms& terms_;
  BlockTraffic traffic_;
  Manifest next_;
  std::set<int> failed_;
  // Until then it waits for its pace, if something is to be committed.
  net::TimePoint commit_by_ = net::TimePoint::max();
  bool unfinished_ = false;
  int restored_ = 0;
  int completed_ = 0;
};

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_OBJECT_REPAIR_H_
