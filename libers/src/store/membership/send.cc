#include "store/membership/send.h"

#include "store/membership/send_watch.h"

namespace ers::store {

#if defined(ERS_SEND_WATCH)

SendWatch* send_watch = nullptr;

void Send(net::Runtime& runtime, SendStep step, net::ServerLink& link,
          net::Request& request) {
  if (send_watch == nullptr) {
    link.Submit(request);
  } else {
    send_watch->OnSend(runtime, step, link, request);
  }
}

#else

void Send(net::Runtime&, SendStep, net::ServerLink& link,
          net::Request& request) {
  link.Submit(request);
}

#endif

}  // namespace ers::store
