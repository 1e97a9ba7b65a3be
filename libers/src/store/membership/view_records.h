// The view's record on the servers: reading all of them, replacing all.
#ifndef ERS_STORE_MEMBERSHIP_VIEW_RECORDS_H_
#define ERS_STORE_MEMBERSHIP_VIEW_RECORDS_H_

#include <optional>
#include <string>

#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

struct ViewRecords {
  std::optional<View> best;  // of the highest epoch
  int holders = 0;           // members, in sync under it, that showed that one
  int answered = 0;          // members that showed what they have
  std::string silent;        // why the others did not, for an error message
};

// Reads every member's record; does not wait for silent members once n - f
// have answered. kUnsupportedFormat where a newer library wrote one.
net::Task<Result<ViewRecords>> ReadViewRecords(Session& session);

// The same, where no view is gone by yet: where the records, or the state file,
// have members elsewhere than this session's links, these are placed by them,
// and they are read there, too. `best` is the newest record that was met.
net::Task<Result<ViewRecords>> FindViewRecords(Session& session);

// Where no view is found: fewer than all `members` showed what they have.
Status NoneKnows(const ViewRecords& records, int members);

// Where a view is found that `needed` members must have shown.
Status TooFewAnswer(const ViewRecords& records, int members, int needed);

// Puts `view` on every member that it does not call down, by compare and swap
// against the record that is there. OK when n - f members that are in sync
// under it hold it; `newer` is set, and nothing promised, when one held another
// view of the same epoch, or a later one. kUnsupportedFormat as above: that
// record stays. A `first` view takes the place of none: whatever is there is
// newer.
net::Task<Status> StoreViewRecord(Session& session, const View& view,
                                  std::optional<View>& newer,
                                  bool first = false);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_VIEW_RECORDS_H_
