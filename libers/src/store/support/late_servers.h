// LateServers: which servers answer later than they do as a rule, and which
// are slow beside the others.
#ifndef ERS_STORE_SUPPORT_LATE_SERVERS_H_
#define ERS_STORE_SUPPORT_LATE_SERVERS_H_

#include <array>
#include <cstddef>
#include <vector>

#include "net/latency.h"
#include "net/runtime.h"
#include "net/server_link.h"

namespace ers::store {

// As one session sees them, by its reads that others could answer in their
// place. A member is
//
//   in time     reads wait for it, as long as its patience lasts
//   late        a read of it was waited for longer, and has not ended; if it
//               was overtaken, or takes as long again, others do not begin to
//               wait for it
//   slow        it was late several times in a row, or did not answer at all:
//               no read waits for it, until probes were in time
//
// Loop thread only.
class LateServers {
 public:
  // Of as many members as `links` has counters, which outlive it. `hedges`
  // false: nothing is ever late.
  LateServers(const std::vector<net::LinkCounters>& links, bool hedges);

  // Is anything ever late?
  [[nodiscard]] bool on() const { return hedges_; }
  // After so long a reply of so many bytes is late.
  [[nodiscard]] net::Duration Patience(int member, std::size_t bytes,
                                       net::TimePoint now);

  // A read was waited for as long as its patience lasts.
  void OnLate(int member, net::Duration patience, net::TimePoint now);
  // What others sent in its place came first.
  void OnOvertaken(int member, net::TimePoint now);
  // It has ended. `late`: OnLate was called for it.
  void OnEnd(int member, bool late, bool answered);

  // False, as a rule: what follows has nothing to say.
  [[nodiscard]] bool any() const { return troubled_ > 0; }
  // Should a read that begins now do without it?
  [[nodiscard]] bool IsShunned(int member, net::TimePoint now) const;
  [[nodiscard]] bool IsSlow(int member) const {
    return members_[static_cast<std::size_t>(member)].slow;
  }
  // One member alone is slow.
  [[nodiscard]] bool OneIsSlow() const { return slow_ == 1; }

  // Is a slow one to be asked once more, to see whether it still is? True: the
  // caller reports what came of it.
  [[nodiscard]] bool TakeProbe(int member, net::TimePoint now);
  void OnProbeEnd(int member, net::Duration took, bool in_time,
                  net::TimePoint now);

  // No reply is late before that: a timer that fires once in that time is what
  // hedging costs where all is well.
  static constexpr net::Duration kLeast = std::chrono::milliseconds(2);
  // Where too little is known of all members.
  static constexpr net::Duration kUnknown = std::chrono::milliseconds(20);

 private:
  struct Member {
    int late = 0;  // reads
    net::TimePoint shunned_from;
    int late_in_a_row = 0;  // times that none was late before
    bool slow = false;
    int in_time_in_a_row = 0;  // while it is slow
    bool probed = false;       // right now
    net::TimePoint probe_at;
  };
  // Of replies of about one length, by member.
  struct Patiences {
    net::TimePoint good_until;
    std::vector<net::Duration> of;
  };

  void Learn(std::size_t length_class, net::TimePoint now);
  void SetSlow(Member& member, bool slow);
  [[nodiscard]] static bool IsTroubled(const Member& member) {
    return member.slow || member.late > 0;
  }
  template <typename Change>
  void Update(int member, const Change& change);

  const std::vector<net::LinkCounters>& links_;
  const bool hedges_;
  std::array<Patiences, net::Latency::kClasses> patiences_;
  std::vector<Member> members_;
  int troubled_ = 0;
  int slow_ = 0;
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_LATE_SERVERS_H_
