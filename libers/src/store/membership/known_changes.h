// KnownChanges: the changes that this process knows to be committed, the last
// one of each key, as far as there is room. A copy of one of them is believed
// from any replica, and a change of its own leaves the tokens for the next one
// (docs/internals/commit.md).
#ifndef ERS_STORE_MEMBERSHIP_KNOWN_CHANGES_H_
#define ERS_STORE_MEMBERSHIP_KNOWN_CHANGES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "store/format/change_id.h"
#include "store/format/manifest.h"

namespace ers::store {

// What a change of this process has left at the replicas.
struct KeptTokens {
  struct Token {
    int member = 0;
    std::uint64_t token = 0;
  };
  std::uint64_t epoch = 0;  // of the view that it was committed under
  std::shared_ptr<const Manifest> manifest;  // may lack its value
  std::vector<Token> tokens;                 // of all replicas, primary last
};

// Bounded: of the keys that share a set the one that was added first is
// forgotten. What was committed stays so, hence nothing is ever taken back. Any
// thread.
class KnownChanges {
 public:
  KnownChanges();
  KnownChanges(const KnownChanges&) = delete;
  KnownChanges& operator=(const KnownChanges&) = delete;

  // All replicas of `key` have had this change, under one view.
  void Add(std::string_view key, const ChangeId& change);
  [[nodiscard]] bool Has(std::string_view key, const ChangeId& change);
  // Until a later change of the key is known. They are good for one try, and a
  // hint: each is refused once another process's change was there.
  void Keep(std::unique_ptr<KeptTokens> kept);
  // Null: none are kept.
  std::unique_ptr<KeptTokens> Take(std::string_view key);
  // Are any?
  [[nodiscard]] bool Keeps(std::string_view key);

 private:
  struct Slot {
    std::size_t hash = 0;              // of the key
    ChangeId change;                   // none: the slot is free
    std::unique_ptr<KeptTokens> kept;  // of that change; may be null
  };
  // 1 MiB in all, and up to 16 MiB of tokens.
  static constexpr std::size_t kShards = 16;
  static constexpr std::size_t kSets = 512;  // of a shard
  static constexpr std::size_t kSlots = 4;   // of a set
  using Set = std::array<Slot, kSlots>;      // the last added first
  struct Shard {
    Mutex mutex;
    std::vector<Set> sets ERS_GUARDED_BY(mutex);
    Set& SetOf(std::size_t hash) ERS_REQUIRES(mutex) {
      return sets[hash / kShards % kSets];
    }
  };

  static Set::iterator Find(Set& set, std::size_t hash);
  // Null: none are kept.
  static std::unique_ptr<KeptTokens>* KeptOf(Set& set, std::size_t hash,
                                             std::string_view key);

  std::array<Shard, kShards> shards_;
};

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_KNOWN_CHANGES_H_
