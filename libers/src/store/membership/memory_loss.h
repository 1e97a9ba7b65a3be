// MemoryLoss: going on where more than f servers have lost what they held.
//
// What is gone is gone: a server that answers with another memory than the view
// knows holds nothing of before, and to refuse everything would not bring it
// back. So where more than f members are out, and all of these answer, they are
// taken in as they are: full, as far as decisions go, under a new incarnation,
// and lacking, until they have been backfilled. What the others hold counts on
// only if no later view can have been lost with the memories: if more than f
// members are what the newest view that was found calls them, one of them would
// hold it. Else all that manifests say is void, and every key is a miss
// (docs/internals/return-and-garbage.md, When more than f are lost).
#ifndef ERS_STORE_MEMBERSHIP_MEMORY_LOSS_H_
#define ERS_STORE_MEMBERSHIP_MEMORY_LOSS_H_

#include <string>
#include <vector>

#include "base/mutex.h"
#include "ers/rebuild.h"
#include "net/runtime.h"
#include "store/format/view.h"

namespace ers::store {

// What a member's server answers with, whatever the view says of it.
struct ServerMemory {
  std::string boot_mark;  // empty: it does not answer
  std::string error;      // why not
  net::TimePoint began;   // the server started no later than this
};

// The view after `base` for members with these memories; `base` itself, at the
// same epoch, where at most f are out. `now_us`: Unix us. kUnavailable where
// one is silent of more than f that are out, and says which and why;
// kInvalidArgument where two members have the same memory.
Result<View> AfterLoss(const View& base,
                       const std::vector<ServerMemory>& memories,
                       std::int64_t now_us);

// No lease was renewed later on what members have lost since `base`, if all of
// them have the present memories since `seen` at the latest. A server that was
// started again had its last renewal before that.
net::TimePoint LostBy(const View& base,
                      const std::vector<ServerMemory>& memories,
                      net::TimePoint seen);

// Of one process: since when it has seen the memories that servers have now.
// Any thread.
class LossWatch {
 public:
  // Notes what was seen; when that was seen first.
  net::TimePoint Saw(const std::vector<ServerMemory>& memories,
                     net::TimePoint now);
  // Whether to probe the servers again; if so, others are not to for a while.
  bool IsDue(net::TimePoint now);
  // What the last probe came to.
  [[nodiscard]] Status last() const;
  void SetLast(const Status& status);

 private:
  mutable Mutex mutex_;
  std::vector<std::string> marks_ ERS_GUARDED_BY(mutex_);
  net::TimePoint since_ ERS_GUARDED_BY(mutex_){};
  net::TimePoint next_probe_ ERS_GUARDED_BY(mutex_){};
  Status last_ ERS_GUARDED_BY(mutex_);
};

// Does it not answer with the memory that the view knows, or is it not in sync?
bool IsOut(const Member& member, const ServerMemory& memory);

// Which members are out of the cluster.
Loss LossOf(const View& base, const std::vector<ServerMemory>& memories);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_MEMORY_LOSS_H_
