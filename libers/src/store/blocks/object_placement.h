// On which servers an object goes, and whether there are enough of them.
#ifndef ERS_STORE_BLOCKS_OBJECT_PLACEMENT_H_
#define ERS_STORE_BLOCKS_OBJECT_PLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ers/options.h"
#include "ers/status.h"
#include "store/format/manifest.h"
#include "store/format/object_map.h"
#include "store/membership/session.h"

namespace ers::store {

// OK, or kInvalidArgument: the cluster has fewer than k'+m servers, or the
// scheme's m is over its f. For inline objects too: their copies survive f
// deaths and no more, and they may grow.
Status CheckServers(Session& session, const Scheme& scheme);

// Chooses the nodes, the unit and the group size of a new object: live members
// round the ring from the key's place; members that are out only where too few
// are live. kInvalidArgument: the cluster has fewer than k'+m servers, or a
// smaller f. kUnavailable: more than m of them would be out. Fills
// manifest.nodes, .ring, .unit and .group_bytes; key, scheme and the unit that
// it had (new ones: blocks) must be set. `length`: of the value, or so long at
// least. `column_below` 0: no new object is put into columns, and one that is
// in columns stays so up to kMaxColumnBelow.
Status PlaceObject(Session& session, Manifest& manifest, std::uint64_t length,
                   std::size_t column_below);

// The same without new nodes, for an object that is to be written anew from its
// start. Where its unit stays, its group size does.
void ChooseUnit(Session& session, Manifest& manifest, std::uint64_t length,
                std::size_t column_below);

// Whether a value of this length is to ride in its manifest: it is below the
// limit of `options`, or of those that coding would save too little for, and an
// item of this cluster can hold it. Key, scheme, width and unit of `manifest`
// must be set.
bool RidesInManifest(Session& session, const Manifest& manifest,
                     std::uint64_t length, const ClientOptions& options);

// From this length on, in bytes, a value's form no longer depends on it; at
// least 1.
std::size_t LongestChosenFor(const Session& session, const Manifest& manifest,
                             const ClientOptions& options);

// OK, or kUnavailable: some stripe of the group has more blocks without a place
// than m less `least` (at most m: what may still be lost then). For manifests
// whose generations are final.
Status CheckRedundancy(Session& session, const ObjectMap& map, int group,
                       int least = 0);

// The same for a value that is to ride in its manifest, on the key's replicas.
Status CheckCopies(Session& session, std::string_view key,
                   const Scheme& scheme);

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_OBJECT_PLACEMENT_H_
