// Where a transition takes an object, and by which path.
#ifndef ERS_STORE_OBJECTS_DESTINATION_H_
#define ERS_STORE_OBJECTS_DESTINATION_H_

#include <optional>

#include "ers/object_info.h"
#include "ers/options.h"
#include "store/format/manifest.h"

namespace ers::store {

struct Destination {
  Scheme scheme;
  Width width = Width::kNarrow;
};

// What `target` means for this object; the scheme is not validated. nullopt: it
// names a width, and the scheme has no such one, or one alone.
std::optional<Destination> DestinationOf(const Manifest& object,
                                         const TransitionTarget& target);

// Is the object there already?
bool IsThere(const Manifest& object, const Destination& to);

// How it gets there, if it is not.
TransitionPath PathTo(const Manifest& object, const Destination& to);

}  // namespace ers::store

#endif  // ERS_STORE_OBJECTS_DESTINATION_H_
