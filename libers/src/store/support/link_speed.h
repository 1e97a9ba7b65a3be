// LinkSpeed: how fast blocks have come to this loop lately.
#ifndef ERS_STORE_SUPPORT_LINK_SPEED_H_
#define ERS_STORE_SUPPORT_LINK_SPEED_H_

#include <optional>

#include "net/runtime.h"

namespace ers::store {

// What runs of one session have seen, for a minute: a run that asks for little
// at a time sees only what that brings, so now and then all has to be asked for
// once more. One thread.
class LinkSpeed {
 public:
  struct Seen {
    double rate = 0;         // bytes a second; the best
    net::Duration travel{};  // from a request to the first of its block; least
  };

  // Nothing: it is to be found out.
  [[nodiscard]] std::optional<Seen> Known(net::TimePoint now) const;
  // Of a run that ended now.
  void Learn(const Seen& seen, net::TimePoint now);

 private:
  std::optional<Seen> seen_;
  net::TimePoint learnt_at_;  // the first of it
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_LINK_SPEED_H_
