// DampedReturns: when a server that left and answers again may come back.
#ifndef ERS_STORE_UPKEEP_DAMPED_RETURNS_H_
#define ERS_STORE_UPKEEP_DAMPED_RETURNS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "net/runtime.h"
#include "store/format/view.h"

namespace ers::store {

// A server that comes and goes costs a change of the view each time, and a
// backfill. The first return of an hour is at once. After that a server stays
// out until kFirstWait after its last return, and twice as long for each return
// more.
//
// Only returns with the memory that it left with count: a restart ends what was
// wrong, as a rule, and what it held is gone in any case. One thread.
class DampedReturns {
 public:
  // The view in force: members whose incarnation has changed came back. To be
  // called often enough to see each.
  void Note(const View& view, net::TimePoint now);

  // How much longer `member`, which answers with this memory, must stay out.
  [[nodiscard]] net::Duration Wait(int member, const std::string& boot_mark,
                                   net::TimePoint now) const;
  // Of the last hour. Note has been called.
  [[nodiscard]] std::size_t Returns(int member) const {
    return members_[static_cast<std::size_t>(member)].returns.size();
  }
  // True once after each return: for the log.
  [[nodiscard]] bool TakeNews(int member);

  static constexpr net::Duration kFirstWait = std::chrono::minutes(1);
  static constexpr net::Duration kMaxWait = std::chrono::minutes(15);
  static constexpr net::Duration kRemembered = std::chrono::hours(1);

 private:
  struct Seen {
    std::uint64_t incarnation = 0;
    std::string boot_mark;
    std::deque<net::TimePoint> returns;  // the last one first
    bool news = false;
  };
  std::vector<Seen> members_;
};

}  // namespace ers::store

#endif  // ERS_STORE_UPKEEP_DAMPED_RETURNS_H_
