// Writes in doubt: manifest writes that were sent, and whose reply was lost for
// good. Until it is known what came of one, its server has to leave with the
// next change of the view; where too many servers have one, none may leave.
#ifndef ERS_STORE_MEMBERSHIP_IN_DOUBT_WRITE_H_
#define ERS_STORE_MEMBERSHIP_IN_DOUBT_WRITE_H_

#include <cstdint>
#include <string_view>

#include "net/request.h"
#include "store/membership/session.h"
#include "store/membership/view_keeper.h"

namespace ers::store {

// Does this answer to a request by the same token, sent later, show that the
// first one can land no more? The token is used up then, or no item has it:
// tokens are never given twice. A server without memory has kept the item and
// its token.
inline bool EndsBoth(net::Outcome outcome) {
  return outcome == net::Outcome::kOk || outcome == net::Outcome::kExists ||
         outcome == net::Outcome::kMiss;
}

// Ends, in the background, a write that was sent by that token to the memory
// with `boot_mark`: resolves it once the item there has another token. Gives up
// when its member leaves the view. Where the session is destroyed first, it is
// left to others of the process. Loop thread only.
void ResolveLater(Session& session, const ViewKeeper::DoubtId& doubt,
                  std::string_view key, std::uint64_t token,
                  std::string_view boot_mark);

// Takes over what sessions of this process that are no more have left. To be
// called now and then. Loop thread only.
void AdoptOrphans(Session& session);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_IN_DOUBT_WRITE_H_
