// Which server is to have the place of which.
#ifndef ERS_STORE_MEMBERSHIP_SUCCESSION_H_
#define ERS_STORE_MEMBERSHIP_SUCCESSION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "ers/status.h"
#include "net/endpoint.h"
#include "net/task.h"
#include "store/format/view.h"
#include "store/membership/session.h"

namespace ers::store {

struct Succession {
  net::Endpoint old_server;
  net::Endpoint new_server;
};
Result<Succession> ParseSuccession(const std::string& old_server,
                                   const std::string& new_server);

struct Place {
  int member = 0;
  bool done = false;  // the new server has it already
};
// kInvalidArgument: the one is no member, the other is or was one, or has
// another weight.
Result<Place> FindPlace(const View& view, const Succession& asked);

// Nothing but the address: whose memory it is now must follow.
void GiveSlot(Member& slot, const std::string& server);

// The mark of the new server's memory, in which nothing else may be: what it
// had in another life could pass for what it has in this. `taken`: it has a
// view of these slots in which it has the place; that one's epoch.
net::Task<Result<std::string>> MarkOfEmpty(Session& session,
                                           std::shared_ptr<const View> view,
                                           int member, const Succession& asked,
                                           std::uint64_t& taken);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_SUCCESSION_H_
