// Reads that nothing waits for: any more, or from the start.
#ifndef ERS_STORE_REPLICAS_ABANDONED_READ_H_
#define ERS_STORE_REPLICAS_ABANDONED_READ_H_

#include <memory>

#include "net/request.h"
#include "net/runtime.h"
#include "store/membership/session.h"

namespace ers::store {

// How long a read of a member is waited for before others are asked.
struct PatientWait {
  int member = 0;
  net::TimePoint asked_at;
  net::Duration patience{};  // LateServers::Patience, when it was asked for
  bool late = false;         // reported by LateServers::OnLate

  [[nodiscard]] net::TimePoint due() const { return asked_at + patience; }
};

// `request` is under way, and `owner` keeps it and all that it points to.
// Nothing is written to its payload's memory from now on, and it ends by
// itself: its owner goes then. The session outlives it. Loop thread only.
void Abandon(Session& session, const PatientWait& wait, net::Request& request,
             std::shared_ptr<void> owner);

// The same, before it is sent: it shows whether a slow member still is.
void AbandonProbe(Session& session, const PatientWait& wait,
                  net::Request& request, std::shared_ptr<void> owner);

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_ABANDONED_READ_H_
