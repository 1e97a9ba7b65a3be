// ViewLinks: the way to the members of a view that is to come into force.
#ifndef ERS_STORE_MEMBERSHIP_VIEW_LINKS_H_
#define ERS_STORE_MEMBERSHIP_VIEW_LINKS_H_

#include <map>
#include <memory>
#include <string>

#include "net/server_link.h"
#include "store/format/view.h"
#include "store/membership/session.h"

namespace ers::store {

// The session's own links refuse a memory that the view in force does not
// know, and lead where that has its members: operations go by it still. To
// members whose memory is another one under the next view these are others,
// held to that. Loop thread only; session and view outlive it, and it all that
// is sent.
class ViewLinks final : private net::LinkGuard {
 public:
  ViewLinks(Session& session, const View& next)
      : session_(session), next_(next) {}
  ViewLinks(const ViewLinks&) = delete;
  ViewLinks& operator=(const ViewLinks&) = delete;

  net::ServerLink& At(int member);

 private:
  bool Accept(int member, const net::ServerFacts& facts,
              std::string* why) override;

  Session& session_;
  const View& next_;
  std::map<int, std::unique_ptr<net::ServerLink>> own_;
};

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_VIEW_LINKS_H_
