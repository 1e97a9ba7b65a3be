// What a listing of all objects is asked for, and what it finds. The calls are
// Store::List and Store::ListObjects.
#ifndef ERS_STORE_REPAIR_LISTING_H_
#define ERS_STORE_REPAIR_LISTING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "ers/status.h"
#include "store/format/manifest.h"
#include "store/support/stop_token.h"

namespace ers::store {

struct ListedObject {
  std::shared_ptr<const Manifest> manifest;
  // Unix seconds, by the clocks of the servers that hold the manifest: the
  // last read or change. A memcached counts reads from the second one after
  // the last change on, and may be some seconds late.
  std::int64_t last_access = 0;
};

// What is empty or null is not asked for. It outlives the listing, which takes
// memory for each key that is wanted, and for no other.
struct ListTerms {
  // Whether to read the object of this key; asked before it is read.
  std::function<bool(std::string_view key)> wanted;
  // Takes an object that cannot be read; else the first ends the listing with
  // its status.
  std::function<void(std::string_view key, const Status&)> unreadable;
  // Also packs, which are no client's objects.
  bool packs = false;
  // The listing fails soon (kUnavailable) when it is stopped.
  StopToken* stop = nullptr;
};

}  // namespace ers::store

#endif  // ERS_STORE_REPAIR_LISTING_H_
