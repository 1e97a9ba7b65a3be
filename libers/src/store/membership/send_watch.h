// What tests/failpoints puts between the store and its servers. Only programs
// of tests are built with ERS_SEND_WATCH, and send.cc alone reads it.
#ifndef ERS_STORE_MEMBERSHIP_SEND_WATCH_H_
#define ERS_STORE_MEMBERSHIP_SEND_WATCH_H_

#include "net/request.h"
#include "net/runtime.h"
#include "net/server_link.h"
#include "store/membership/send.h"

namespace ers::store {

#if defined(ERS_SEND_WATCH)

// Gets every message in place of its link, and submits it when it likes, on the
// loop thread whose runtime it is.
class SendWatch {
 public:
  virtual ~SendWatch() = default;
  virtual void OnSend(net::Runtime& runtime, SendStep step,
                      net::ServerLink& link, net::Request& request) = 0;
};

// Set before the first message, or never.
extern SendWatch* send_watch;

#endif

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_SEND_WATCH_H_
