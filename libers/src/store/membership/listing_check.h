// Which servers cannot list their keys: logged at the start, as it would not
// show before another server is to be backfilled.
#ifndef ERS_STORE_MEMBERSHIP_LISTING_CHECK_H_
#define ERS_STORE_MEMBERSHIP_LISTING_CHECK_H_

#include "net/task.h"
#include "store/membership/session.h"

namespace ers::store {

// Asks every server that is connected for its settings. A line in the log for
// each that cannot; nothing where there is no log.
net::Task<void> LogServersWithoutListing(Session& session);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_LISTING_CHECK_H_
