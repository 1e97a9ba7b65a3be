// Slots: the places of a cluster's members on the ring. A slot keeps its name
// when another server takes it, and so every block its place.
#ifndef ERS_STORE_MEMBERSHIP_SLOTS_H_
#define ERS_STORE_MEMBERSHIP_SLOTS_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "ers/status.h"
#include "net/endpoint.h"
#include "net/ring.h"
#include "store/format/view.h"

namespace ers::store {

// Where the server is that has the member's slot. The view has passed
// FitsServers, or was made of one that has.
net::Endpoint EndpointOf(const Member& member);

// Are these the servers of the view, with their weights, in any order? A slot
// may be named by the server that has it, by the one that had it before, or by
// its own name.
bool FitsServers(std::span<const net::Endpoint> servers, const View& view);

// In which servers and weights they differ, for people; empty where they fit.
std::string Differences(std::span<const net::Endpoint> servers,
                        const View& view);

// The same slots, whichever servers have them?
bool SameSlots(const View& one, const View& other);

// "X has taken the place of Y" for each slot of which `servers` names another
// server than has it; they fit.
std::vector<std::string> Outdated(std::span<const net::Endpoint> servers,
                                  const View& view);

// The ring of a view's slots, made once for all loops of a process. Any thread.
class SlotRing {
 public:
  // The view has passed FitsServers, or was made of one that has.
  std::shared_ptr<const net::Ring> Of(const View& view);

 private:
  Mutex mutex_;
  std::vector<net::Endpoint> slots_ ERS_GUARDED_BY(mutex_);
  net::Placement placement_ ERS_GUARDED_BY(mutex_);
  std::shared_ptr<const net::Ring> ring_ ERS_GUARDED_BY(mutex_);
};

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_SLOTS_H_
