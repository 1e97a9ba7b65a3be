// Reading bytes of a coded object, also with blocks missing.
#ifndef ERS_STORE_BLOCKS_OBJECT_READER_H_
#define ERS_STORE_BLOCKS_OBJECT_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "net/task.h"
#include "store/blocks/plan_executor.h"
#include "store/format/object_map.h"
#include "store/membership/session.h"

namespace ers::store {

struct ReadOutcome {
  Status status;
  bool degraded = false;  // some blocks were decoded from others
  int repaired = 0;       // and written back
  BlockTraffic traffic;
};

// What becomes of missing blocks that a read has decoded, where their servers
// answer.
enum class Decoded { kWrittenBack, kLeft };

// Reads bytes [offset, offset + length) of the value (within it) into memory
// for so many, several groups at a time. `map`, `into` and `steps` (null: not
// timed) outlive the task.
// kNotFound, kCorruption and kUnavailable as PlanExecutor::Run.
net::Task<ReadOutcome> ReadRange(Session& session, const ObjectMap& map,
                                 std::uint64_t offset, std::uint64_t length,
                                 std::byte* into, StepTimer* steps,
                                 Decoded decoded = Decoded::kWrittenBack);

// The whole value of a living manifest, also of one that holds it itself, or
// whose value is packed.
// Failures as above.
net::Task<Result<std::vector<std::byte>>> ReadWhole(
    Session& session, std::shared_ptr<const Manifest> manifest,
    StepTimer* steps);

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_OBJECT_READER_H_
