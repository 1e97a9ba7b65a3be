#include "store/membership/view_links.h"

#include "store/membership/slots.h"

namespace ers::store {

net::ServerLink& ViewLinks::At(int member) {
  const std::shared_ptr<const View> now = session_.view();
  const Member& next = next_.members[static_cast<std::size_t>(member)];
  if (!now || now->members[static_cast<std::size_t>(member)].boot_mark ==
                  next.boot_mark) {
    return session_.link(member);
  }
  std::unique_ptr<net::ServerLink>& link = own_[member];
  if (!link) link = session_.NewStrangerLink(member, EndpointOf(next), this);
  return *link;
}

bool ViewLinks::Accept(int member, const net::ServerFacts& facts,
                       std::string* why) {
  const Member& next = next_.members[static_cast<std::size_t>(member)];
  if (facts.boot_mark == next.boot_mark) return true;
  *why = "it was restarted and has lost its memory";
  return false;
}

}  // namespace ers::store
