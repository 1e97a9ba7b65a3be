// Values that are in a pack, for the operations on them
// (docs/internals/packs.md).
#ifndef ERS_STORE_OBJECTS_PACKED_VALUE_H_
#define ERS_STORE_OBJECTS_PACKED_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "net/task.h"
#include "store/blocks/object_reader.h"
#include "store/format/manifest.h"
#include "store/membership/session.h"

namespace ers::store {

// Bytes [offset, offset + length) of a packed value. Where its pack is gone,
// and no change of the value was the reason, the value is lost: it ends, and
// this is kNotFound. Failures as ReadPack. Arguments outlive the task.
net::Task<ReadOutcome> ReadPacked(Session& session,
                                  std::shared_ptr<const Manifest> packed,
                                  std::uint64_t offset, std::uint64_t length,
                                  std::byte* into, StepTimer* steps);

// The manifest itself, or, of a packed value, the same with the value in it.
net::Task<Result<std::shared_ptr<const Manifest>>> Unpacked(
    Session& session, std::shared_ptr<const Manifest> manifest,
    StepTimer* steps);

// The whole value, wherever it is. Failures as ReadPacked and ReadRange.
net::Task<Result<std::vector<std::byte>>> ReadValue(
    Session& session, std::shared_ptr<const Manifest> manifest,
    StepTimer* steps);

}  // namespace ers::store

#endif  // ERS_STORE_OBJECTS_PACKED_VALUE_H_
