// EventOwned: what libevent makes, freed as its kind is.
#ifndef ERS_PROXY_SHARED_EVENT_OWNED_H_
#define ERS_PROXY_SHARED_EVENT_OWNED_H_

#include <memory>

namespace ers::proxy {

template <typename T, void (*free_it)(T*)>
struct EventFree {
  void operator()(T* pointer) const { free_it(pointer); }
};
template <typename T, void (*free_it)(T*)>
using EventOwned = std::unique_ptr<T, EventFree<T, free_it>>;

}  // namespace ers::proxy

#endif  // ERS_PROXY_SHARED_EVENT_OWNED_H_
