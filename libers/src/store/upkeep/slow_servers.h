// SlowServers: servers that answer much later than all others, for long
// (docs/internals/view.md#when-a-server-is-slow-for-long).
#ifndef ERS_STORE_UPKEEP_SLOW_SERVERS_H_
#define ERS_STORE_UPKEEP_SLOW_SERVERS_H_

#include <optional>
#include <vector>

#include "net/runtime.h"
#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

// How long each member took to answer the same, by number. Empty for those that
// did not, and for those that are not in sync.
using AnswerTimes = std::vector<std::optional<net::Duration>>;

// Every change waits for its replicas, and for the members that its blocks are
// on. So one that is slow for long leaves the view as one that is silent does,
// and comes back once it is as fast as others. Loop thread only.
class SlowServers {
 public:
  // The member whose time is in the middle: what others are compared with.
  // Negative where fewer than three, or not most of them, have answered.
  [[nodiscard]] static int Ordinary(const AnswerTimes& times);
  [[nodiscard]] static bool IsOdd(net::Duration took, net::Duration others);

  // What a scan saw last of each, as no scan asks all of them.
  void NoteTime(int member, std::optional<net::Duration> took);
  [[nodiscard]] const AnswerTimes& times() const { return times_; }

  // A scan found it slow, or not. True: it has been for long.
  bool Note(int member, bool is_slow);
  // It was slow in the last scan that asked it, so the next one asks it again.
  [[nodiscard]] bool IsSuspect(int member) const;

  // It answers again. Is it to be compared with others now?
  [[nodiscard]] bool MayTest(int member, net::TimePoint now) const;
  // What came of it. True: for the log.
  bool NoteTest(int member, bool is_slow, net::TimePoint now);

  // Scans in a row, about a second apart.
  static constexpr int kForLong = 3;
  // No server is slow whose answers take less.
  static constexpr net::Duration kLeast = std::chrono::milliseconds(5);
  static constexpr int kTimesOthers = 8;
  // Between two tests of one that is out.
  static constexpr net::Duration kFirstPause = std::chrono::seconds(2);
  static constexpr net::Duration kMaxPause = std::chrono::minutes(1);

 private:
  struct Member {
    int slow_scans = 0;
    net::TimePoint test_at;
    net::Duration pause{};
  };
  Member& At(int member);

  std::vector<Member> members_;
  AnswerTimes times_;
};

// Has a member that has been slow for long leave the view, where all others are
// in sync. `asked`: by this scan.
net::Task<void> LeaveSlow(Session& session, const std::vector<int>& asked,
                          SlowServers& slow);

// OK where `member`, which is down, answers as fast as others. Also where
// another one is missing, too: any server is better than none then.
// kUnavailable: it does not.
net::Task<Status> TestReturn(Session& session, int member, SlowServers& slow);

// A member other than this one is out of sync, or cannot be used. One that is
// only silent may answer yet.
bool AnotherIsMissing(Session& session, int member);

}  // namespace ers::store

#endif  // ERS_STORE_UPKEEP_SLOW_SERVERS_H_
