// The page at / of the admin port, by which a person sees the cluster.
#ifndef ERS_PROXY_ADMIN_PAGE_H_
#define ERS_PROXY_ADMIN_PAGE_H_

#include "admin/http.h"

namespace ers::proxy {

// Any thread. It has no data of its own: its script reads /status, as the
// person that has it open may.
HttpReply OverviewPage();

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_PAGE_H_
