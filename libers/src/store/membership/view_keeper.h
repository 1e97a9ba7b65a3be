// ViewKeeper: one process's view of the cluster, shared by all its loops, and
// the barrier that a change of the view is.
//
// A manifest write of one view must never land in a later one. So every such
// write is admitted (BeginWrite) under an epoch and signed off (EndWrite) when
// it was answered or its connection is gone; a change of the view first stops
// admissions, then waits until every admitted write has ended, or is one to
// the member that leaves.
#ifndef ERS_STORE_MEMBERSHIP_VIEW_KEEPER_H_
#define ERS_STORE_MEMBERSHIP_VIEW_KEEPER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "ers/status.h"
#include "store/format/view.h"

namespace ers::store {

// Any thread.
class ViewKeeper {
 public:
  // The view in force; null before the first was installed.
  [[nodiscard]] std::shared_ptr<const View> Current() const;
  // Differs from one view in force to the next: shows the keeper of a copy,
  // without a lock, that it is still in force.
  [[nodiscard]] std::uint64_t version() const { return version_.load(); }

  // Admits a manifest write to `member` under `epoch`. False: the view has
  // changed or is changing; nothing may be sent.
  bool BeginWrite(std::uint64_t epoch, int member);
  void EndWrite(int member);
  // In place of EndWrite, for a write that was admitted under `epoch`: what
  // came of it is not known. It may land at any time, so the member must leave
  // with the next change, unless the write is resolved before. Empty where the
  // view has changed since: the member has left with that.
  struct DoubtId {
    int member = -1;
    int departures = 0;  // views that were without it by then
  };
  std::optional<DoubtId> PutInDoubt(std::uint64_t epoch, int member);
  // False: its member has left meanwhile.
  [[nodiscard]] bool IsInDoubt(const DoubtId& doubt) const;
  // The write can land no more, or has landed. Once for each doubt.
  void Resolve(const DoubtId& doubt);

  // True: no change of the view is under way. Else `wake` is called, once, on
  // any thread, when it is done.
  bool AtRest(std::function<void()> wake);

  // Claims the right to change the view. False: another call is at it; `wake`
  // is called (once, on any thread) when it is done.
  bool BeginChange(std::function<void()> wake);
  // Within a change: true when all admitted writes but those in doubt and those
  // to `leaving` have ended; else `wake` is called once when they have.
  bool Drained(std::vector<int> leaving, std::function<void()> wake);
  // Members with writes in doubt: they must leave too.
  [[nodiscard]] std::vector<int> MembersInDoubt() const;
  // Notes a view that enough members have taken, before other processes learn
  // of it: they may go by it while this one does not yet.
  void NoteStored(const View& view);
  // Of those that were stored and the one in force, which must be there.
  [[nodiscard]] std::shared_ptr<const View> Newest() const;
  // Ends the change, with a new view (null: the old one stays).
  void EndChange(std::shared_ptr<const View> view);

 private:
  bool DrainedLocked() const ERS_REQUIRES(mutex_);

  std::atomic<std::uint64_t> version_{0};
  mutable Mutex mutex_;
  std::shared_ptr<const View> view_ ERS_GUARDED_BY(mutex_);
  std::shared_ptr<const View> stored_ ERS_GUARDED_BY(mutex_);  // null: none was
  bool changing_ ERS_GUARDED_BY(mutex_) = false;
  std::vector<int> leaving_ ERS_GUARDED_BY(mutex_);
  std::vector<int> writes_
      ERS_GUARDED_BY(mutex_);  // admitted and not ended, by member
  std::vector<int> in_doubt_
      ERS_GUARDED_BY(mutex_);  // of these, those whose fate is unknown
  std::vector<int> departures_
      ERS_GUARDED_BY(mutex_);  // views that were without it
  std::vector<std::function<void()>> change_waiters_ ERS_GUARDED_BY(mutex_);
  std::function<void()> drain_waiter_ ERS_GUARDED_BY(mutex_);
};

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_VIEW_KEEPER_H_
