// EvictionFollower: where a server lets go of one copy of a small value, the
// others go, too.
#ifndef ERS_STORE_UPKEEP_EVICTION_FOLLOWER_H_
#define ERS_STORE_UPKEEP_EVICTION_FOLLOWER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/request.h"
#include "net/server_link.h"
#include "net/task.h"
#include "store/membership/batch.h"
#include "store/membership/session.h"

namespace ers::store {

// A value that is in its manifests is on m + 1 servers, and those are never
// equally full: what no client reads goes from one of them earlier than from
// the others, where it would lie without what makes it safe, or, without the
// primary's copy, unreadable. So servers are watched, and what one has evicted
// the others drop, if all of them may evict, all answer, and it was not
// accessed at any of them for long. Taking a copy away by its token is what the
// server itself may do any time: no promise depends on it. What was accessed
// lately at one of them is stored again where it went. Counted in the session's
// StoreCounters. Loop thread only; ends only when it is not at work.
class EvictionFollower {
 public:
  explicit EvictionFollower(Session& session);  // which outlives it
  ~EvictionFollower();
  EvictionFollower(const EvictionFollower&) = delete;
  EvictionFollower& operator=(const EvictionFollower&) = delete;

  // To be called from time to time: asks whether servers evict, and watches the
  // members in sync then, over connections of its own.
  void Scan();
  // Ends soon, and does not scan any more.
  void Stop();
  [[nodiscard]] bool at_work() const { return at_work_; }

 private:
  struct Watch;
  // A copy that was evicted.
  struct Gone {
    int member = 0;
    std::string key;
    std::int64_t idle_s = 0;  // not accessed for so long
    net::TimePoint heard;
  };
  struct Question;
  // Where more come in faster than the others are asked, they stay as they are.
  static constexpr std::size_t kMaxWaiting = 16384;
  static constexpr std::size_t kMaxAsked = 256;

  [[nodiscard]] bool IsInSync(int member) const;
  [[nodiscard]] bool MayEvict(int member) const;
  void TakeLine(int member, std::string_view line);
  net::Task<void> Work();
  net::Task<void> DropOthers(std::vector<Gone> gone,
                             std::deque<std::string>& warm);
  void Ask(const View& view, const Gone& gone, std::deque<Question>& questions,
           Batch& reads);
  net::Task<void> StoreAgain(std::deque<std::string>& keys, net::Latch& latch);

  Session& session_;
  std::vector<std::unique_ptr<Watch>> watches_;  // by member; null: none
  std::deque<Gone> gone_;
  bool at_work_ = false;
  bool stopped_ = false;
};

}  // namespace ers::store

#endif  // ERS_STORE_UPKEEP_EVICTION_FOLLOWER_H_
