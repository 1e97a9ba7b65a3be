// KeyWalk: the names of all items that may be manifests, from dumps of every
// server's keys, in bounded memory.
#ifndef ERS_STORE_REPAIR_KEY_WALK_H_
#define ERS_STORE_REPAIR_KEY_WALK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "ers/status.h"
#include "net/task.h"
#include "store/membership/session.h"
#include "store/repair/key_dump.h"
#include "store/repair/listing.h"

namespace ers::store {

// An item that may be a manifest.
struct WalkedItem {
  std::string name;              // the key, or a hashed name
  int member = 0;                // one that holds it
  std::int64_t last_access = 0;  // Unix seconds, of all members' copies
};

// Names that a walk holds at a time, with about 200 bytes each.
inline constexpr std::size_t kKeysAtOnce = std::size_t{1} << 19;

// Slice by slice of the names' hashes: each is a dump of all servers, of which
// no more than `keys_at_once` names or so are kept. Writes nothing, and changes
// no view. Loop thread only; `terms` outlive it.
class KeyWalk {
 public:
  KeyWalk(Session& session, const ListTerms& terms,
          std::size_t keys_at_once = kKeysAtOnce)
      : session_(session), terms_(terms), keys_at_once_(keys_at_once) {}

  // Has the servers dump the next slice; false where there is none. To be
  // called when the one before is empty. kUnavailable: more servers than the
  // view survives cannot, or it was stopped.
  net::Task<Result<bool>> NextSlice(std::shared_ptr<const View> view);

  [[nodiscard]] bool empty() const { return items_.empty(); }
  // The next one of the slice, which is not empty.
  WalkedItem Take();

  // Of all slices, those to come guessed by those that were.
  [[nodiscard]] std::uint64_t total() const;

 private:
  // What the dumps show of an item.
  struct Seen {
    int member = 0;
    std::int64_t last_access = 0;
  };

  [[nodiscard]] bool InSlice(std::string_view name) const;
  void Collect(const DumpedItem& dumped);
  void Halve();
  net::Task<Status> Dump(std::shared_ptr<const View> view);

  Session& session_;
  const ListTerms& terms_;
  const std::size_t keys_at_once_;
  std::map<std::string, Seen> items_;
  std::uint64_t slices_ = 1;  // a power of two
  std::uint64_t slice_ = 0;   // the one at hand
  bool begun_ = false;
  std::uint64_t taken_ = 0;
};

// The name under which an item's object is known: the key itself, or, of an
// item with a hashed name, what its manifest says; empty where no server has a
// sound one. kUnavailable: one of those that may have it does not answer.
net::Task<Result<std::string>> KeyOfItem(Session& session,
                                         const WalkedItem& item);

// A listing that was stopped fails with this.
Status StoppedStatus();

}  // namespace ers::store

#endif  // ERS_STORE_REPAIR_KEY_WALK_H_
