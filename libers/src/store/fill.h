// Filling a member that is back in the view.
#ifndef ERS_STORE_FILL_H_
#define ERS_STORE_FILL_H_

#include <cstdint>

#include "store/listing.h"

namespace ers::store {

// What became of one object.
struct Mended {
  bool settled = false;  // its manifest was not on all its homes
  int blocks = 0;        // stored
};

struct FillTerms {
  int parallel = 32;            // objects at a time
  ListingStop* stop = nullptr;  // ends it early; null: nobody does
};

struct FillReport {
  std::uint64_t objects = 0;  // that something was done for
  std::uint64_t blocks = 0;   // stored
  std::uint64_t lost = 0;     // objects that cannot be read any more
};

}  // namespace ers::store

#endif  // ERS_STORE_FILL_H_
