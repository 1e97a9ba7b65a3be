// RequestQueue: requests in line, linked through themselves.
#ifndef ERS_NET_REQUEST_QUEUE_H_
#define ERS_NET_REQUEST_QUEUE_H_

#include <utility>

#include "net/request.h"

namespace ers::net {

// First in, first out, through Request::next: no allocation. A request is in
// one queue at a time. Thread-compatible.
class RequestQueue {
 public:
  bool empty() const { return first_ == nullptr; }
  Request* front() const { return first_; }

  void Push(Request& request) {
    request.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &request;
    last_ = &request;
  }
  // Not for an empty queue.
  Request& Pop() {
    Request& request = *first_;
    first_ = std::exchange(request.next, nullptr);
    if (first_ == nullptr) last_ = nullptr;
    return request;
  }

 private:
  Request* first_ = nullptr;
  Request* last_ = nullptr;
};

}  // namespace ers::net

#endif  // ERS_NET_REQUEST_QUEUE_H_
