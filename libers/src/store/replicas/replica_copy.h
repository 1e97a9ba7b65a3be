// What follows from what the replicas of a key answered. Asks nobody:
// ReplicaSet and the check of objects do.
#ifndef ERS_STORE_REPLICAS_REPLICA_COPY_H_
#define ERS_STORE_REPLICAS_REPLICA_COPY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "store/replicas/replica_set.h"

namespace ers::store {

// How long an empty item lives that a change leaves where it prepares.
inline constexpr std::int64_t kStubSeconds = 60;

// Items that are none of this library's: an error, or a copy of that kind.
enum class PlainItems { kRefused, kTold };

// What an answered read of the item of `key` on `member` says. Fails where the
// item is not a manifest of this key or cannot be understood: nothing may touch
// it then.
Result<ReplicaCopy> InterpretCopy(const View& view, int member,
                                  const std::string& key, PlainItems plain,
                                  const net::Request& request);

// Is this manifest a living object then (Unix microseconds): not a tombstone,
// expired or flushed?
bool IsAlive(const Manifest& manifest, const View& view, std::int64_t now_us);

// The primary's item, for a manifest that is to replace it.
Replaces ReplacesOf(const View& view, const ReplicaCopy& primary);

// What reconciling writes everywhere, first to last or last to first.
struct Reconciliation {
  std::shared_ptr<const Manifest> manifest;  // null: absent
  bool forward = false;
};

// The one pending change is finished; any other picture goes back to what the
// primary shows. So does one over an object that has expired or was flushed: it
// may have been made before that, and would bring the object back. And so does
// one that was flushed itself: it would take away what was put since. Where the
// primary shows no living object and the first replica's change was made over a
// plain item, there is nothing to go back to: that item may be gone. A
// primary's copy that fails its checksum is as good as lost: then the other
// replicas stand in, if they agree; else kCorruption. `goes_back`: there is no
// memory to finish a pending change, which goes back where there is a way.
Result<Reconciliation> ChooseReconciliation(const ReplicasRead& read,
                                            const std::string& key,
                                            bool goes_back = false);

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_REPLICA_COPY_H_
