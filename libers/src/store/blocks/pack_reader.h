// Reading packs: objects whose content is the values of others
// (docs/internals/packs.md).
#ifndef ERS_STORE_BLOCKS_PACK_READER_H_
#define ERS_STORE_BLOCKS_PACK_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "net/task.h"
#include "store/blocks/object_reader.h"
#include "store/format/change_id.h"
#include "store/format/manifest.h"
#include "store/format/pack.h"
#include "store/membership/session.h"

namespace ers::store {

struct PackRead {
  ReadOutcome read;
  // There is no such pack, by the word of its replicas, nor will there be one.
  bool gone = false;
};

// Bytes [offset, offset + length) of the pack into memory for so many. A view
// is in force. What a pack has never changes: so a manifest of it that is
// remembered will do, as long as the blocks are there. kNotFound: it is gone,
// or too many of its blocks are. `into` and `steps` (null: not timed) outlive
// the task.
net::Task<PackRead> ReadPack(Session& session, ChangeId pack,
                             std::uint64_t offset, std::uint64_t length,
                             std::byte* into, StepTimer* steps);

// Which values are, or were, in the pack of this manifest. Failures as above,
// and kCorruption.
net::Task<Result<std::vector<PackEntry>>> ReadPackDirectory(
    Session& session, std::shared_ptr<const Manifest> pack);

// The same by that manifest alone, without a view and without a write: a change
// of the pack meanwhile is a failure.
net::Task<Result<std::vector<PackEntry>>> PeekAtPackDirectory(
    Session& session, std::shared_ptr<const Manifest> pack);

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_PACK_READER_H_
