// Staging a value's blocks group by group: the first half of a PUT, of a
// re-encoding transition and of an append.
#ifndef ERS_STORE_BLOCKS_OBJECT_WRITER_H_
#define ERS_STORE_BLOCKS_OBJECT_WRITER_H_

#include "net/task.h"
#include "store/blocks/group_pipeline.h"
#include "store/format/manifest.h"
#include "store/membership/session.h"
#include "store/support/content.h"

namespace ers::store {

// Encodes what is left of `content` and stages it as groups `first_group` and
// up of `manifest` (placed, not inline), under manifest.id; sets
// manifest.length and the generations of those groups. On failure the staged
// blocks are left for the caller to drop: `manifest` names them. `steps` may be
// null: nothing is timed.
net::Task<WriteOutcome> WriteGroups(Session& session, Content& content,
                                    int first_group, Manifest& manifest,
                                    StepTimer* steps);

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_OBJECT_WRITER_H_
