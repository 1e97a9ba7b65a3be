// The view's record on the servers: reading all of them, replacing all.
#ifndef ERS_STORE_MEMBERSHIP_VIEW_RECORDS_H_
#define ERS_STORE_MEMBERSHIP_VIEW_RECORDS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "net/task.h"
#include "store/format/view_base.h"
#include "store/membership/session.h"

namespace ers::store {

struct ViewRecords {
  std::optional<View> best;  // of the highest epoch
  int holders = 0;           // members, in sync under it, that showed that one
  int answered = 0;          // members that showed what they have
  std::string silent;        // why the others did not, for an error message
  // By the text of a view: the members that showed it, with the boot marks of
  // the memories that have it.
  std::map<std::string, std::map<int, std::string>> shown;
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

enum class StoredAs : std::uint8_t {
  kFirst,  // takes the place of none: whatever is there is newer
  kNext,   // on members in sync, takes the place of none that it does not have
  kAgain,  // in force already: takes the place of any of an earlier epoch
};

// Puts `view` on every member that it does not call down, by compare and swap
// against the record that is there. OK when n - f members that are in sync
// under it hold it; `newer` is set, and nothing promised, when one held another
// view of the same epoch, or a later one, or one whose place it may not take:
// as kNext that of one of the texts `never_in_force` alone. kUnsupportedFormat
// as above: that record stays.
net::Task<Status> StoreViewRecord(
    Session& session, const View& view, StoredAs as, std::optional<View>& newer,
    const std::set<std::string>& never_in_force = {});

// What the next view is to be built upon where `met` stood in the way of one
// that was made of `own` and tried under the epoch `tried`, by the records that
// members show. kUnavailable: more than f members are not in sync by all that
// may be in force.
net::Task<Result<Base>> FindBase(Session& session, View own, View met,
                                 std::uint64_t tried);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_VIEW_RECORDS_H_
