// What the replicas of a key hold, and what follows from it. Sends
// nothing: ReplicaReader and the check of objects do.
#ifndef ERS_STORE_REPLICAS_REPLICA_COPY_H_
#define ERS_STORE_REPLICAS_REPLICA_COPY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "net/request.h"
#include "store/format/manifest.h"
#include "store/format/view.h"

namespace ers::store {

// What a key shows; null: nothing.
using ShownManifest = std::shared_ptr<const Manifest>;

// What one replica holds.
struct ReplicaCopy {
  enum class Kind {
    kAbsent,  // no item, a stub, or a manifest of another incarnation
    kManifest,
    kCorrupt,  // ours, but its checksum fails or it makes no sense
    kPlain,    // of a plain client; only where PlainItems::kTaken
  };
  int member = 0;
  Kind kind = Kind::kAbsent;
  std::uint64_t token = 0;       // of the item; 0 where there is none, nor
                                 // memory for a stub
  std::uint64_t connection = 0;  // on which the token was read
  std::string boot_mark;
  std::shared_ptr<const Manifest> manifest;  // kManifest only
  std::string plain;                         // kPlain only: its value
  std::uint32_t plain_flags = 0;
  std::int64_t plain_ttl = -1;  // seconds left; -1 never expires

  [[nodiscard]] ChangeId shown() const {
    return manifest ? manifest->id : ChangeId{};
  }
};

// Has the replica an item that is none of this library's?
inline bool IsPlain(const ReplicaCopy& copy) {
  return copy.kind == ReplicaCopy::Kind::kPlain;
}

// All replicas of a key under one view, primary last.
struct ReplicasRead {
  std::shared_ptr<const View> view;
  std::vector<ReplicaCopy> copies;
  std::int64_t asked_us = 0;  // when (Unix): whether there is an object

  [[nodiscard]] const ReplicaCopy& primary() const { return copies.back(); }
  // All show the same change, or all none: it is committed.
  [[nodiscard]] bool Agreed() const;
  // Another one shows a change that was made over what this one shows, which
  // was committed then.
  [[nodiscard]] bool ProvenByAnother(const ReplicaCopy& copy) const;
  // Some replica in sync shows what another one's change was made over: it may
  // be on its way there.
  [[nodiscard]] bool IsUnderWay() const;
  // None of them was written to since `before` was read.
  [[nodiscard]] bool SameAs(const ReplicasRead& before) const;
};

// Was this item left by a change that is being prepared? For what a get or
// vivify gave.
bool IsStub(const net::Request& read);

// How long an empty item lives that a change leaves where it prepares.
inline constexpr std::int64_t kStubSeconds = 60;

// Items that are none of this library's: an error, or a copy of that kind.
enum class PlainItems { kRefused, kTaken };

// What an answered read of the item of `key` on `member` says. Fails where the
// item is not a manifest of this key or cannot be understood: nothing may touch
// it then.
Result<ReplicaCopy> InterpretCopy(const View& view, int member,
                                  const std::string& key, PlainItems plain,
                                  const net::Request& request);

// Is this manifest a living object then (Unix microseconds): not a tombstone,
// expired or flushed?
bool IsAlive(const Manifest& manifest, const View& view, std::int64_t now_us);

// Was `next` made over exactly what `copy` shows?
bool IsMadeOver(const Manifest& next, const ReplicaCopy& copy);

// The copy whose content all replicas are to get: the primary's. One that fails
// its checksum is as good as lost: then the replica before it stands in, where
// it shows a manifest; else kCorruption.
Result<const ReplicaCopy*> DecidingCopy(const ReplicasRead& read,
                                        const std::string& key);

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_REPLICA_COPY_H_
