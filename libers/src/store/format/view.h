// View: which members are up, as all processes that share it agree.
#ifndef ERS_STORE_FORMAT_VIEW_H_
#define ERS_STORE_FORMAT_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ers/object_info.h"
#include "ers/status.h"
#include "net/endpoint.h"
#include "net/placement.h"
#include "net/ring.h"
#include "store/format/change_id.h"

namespace ers::store {

// The time of a flush that waits for none.
inline constexpr std::uint64_t kAtOnce = 0;

struct Member {
  // Its slot: the place on the ring. The server that the cluster was set up
  // with has that name, too.
  std::string name;
  int weight = 1;
  // Raised each time the member returns; a manifest copy of another one is
  // void. Never repeats, also not over a lost view: it starts at the clock.
  std::uint64_t incarnation = 0;
  MemberState state = MemberState::kInSync;
  std::uint64_t joined = 0;  // epoch of its last return; 0: from the start
  std::string boot_mark;     // of the memory that holds its manifests
  std::int64_t since = 0;    // Unix seconds of the last change of state
  // Of the server that has the slot now; empty: the one of its name.
  std::string address;
  // Of the one that had it before; empty: none, or the one of its name.
  std::string previous;
  // Taken in as in sync, with an empty memory, as more than f had lost theirs
  // (store/memory_loss.h): it decides, and lacks what others have until it has
  // been backfilled. Of members in sync only.
  bool lacking = false;
  // On the ring of the proxy that the cluster came from; empty: its name.
  std::string label;
  int position = 0;  // in the list of that proxy

  [[nodiscard]] const std::string& server() const {
    return address.empty() ? name : address;
  }
  // It has all that it should.
  [[nodiscard]] bool InSync() const {
    return state == MemberState::kInSync && !lacking;
  }
  // To be shown: a member that lacks something is being backfilled.
  [[nodiscard]] MemberState shown_state() const {
    return lacking ? MemberState::kBackfilling : state;
  }
};

// A value type. Members are sorted by name. A member's id, by which manifests
// name it, is its place, as long as a cluster keeps its slots.
struct View {
  std::uint64_t epoch = 0;
  int max_failures = 1;  // f
  net::Placement placement;
  // What changes were made under another one than this counts as absent; 0:
  // nothing was flushed yet.
  FlushMark flush_mark = 0;
  // What the askers of the last of these flushes drew, newest first: a process
  // that finds its own flush in another's view does not make it once more.
  // A process that stands still is seldom passed by so many.
  static constexpr std::size_t kFlushesKept = 16;
  std::vector<std::uint64_t> flushes;
  // Unix us: older changes count as absent, from that time on.
  std::uint64_t flushed_before = 0;
  // The same, of flushes that were to come beside that one; rising.
  std::vector<std::uint64_t> flush_at;
  std::vector<Member> members;

  [[nodiscard]] int NotInSync() const;
  [[nodiscard]] bool AllInSync() const;
  // Is an object with this last change flushed at that time (Unix us)?
  [[nodiscard]] bool IsFlushed(const ChangeId& change,
                               std::int64_t now_us) const;
  // The same of blocks, of a change that may be of a later view than this.
  [[nodiscard]] bool IsBehind(const ChangeId& generation,
                              std::int64_t now_us) const;
  // Whatever was changed under this view or an earlier one is flushed under the
  // one that this becomes; no more, where the flush of that number is part of
  // it.
  void FlushAll(std::uint64_t number, std::int64_t now_us);
  // Whatever was changed before `time_us` is flushed from then on. No flush is
  // ever taken back, also not one to come: another process may go by it already
  // by the time that this view is in force. kUnavailable: too many are to come.
  Status Flush(std::uint64_t time_us, std::int64_t now_us);
  // The same of several, however many are to come.
  void AddFlushes(const std::vector<std::uint64_t>& times_us,
                  std::int64_t now_us);
  // How many members must hold a view for it to count: n - f.
  [[nodiscard]] int Quorum() const {
    return static_cast<int>(members.size()) - max_failures;
  }
};

// JSON text with a format number and a checksum; kept under kViewKey and in the
// state file.
std::string EncodeView(const View& view);
// kCorruption or kUnsupportedFormat; kNotManaged where it is no view at all.
Result<View> DecodeView(std::string_view text);

// The members that hold a key's manifest under a view, the latest returned
// first; the last is the primary. Members of the walk that are
// down are left out. Empty only if all of them are down; `primary_in_sync` is
// false where the last one is not in sync, and then nothing may be decided.
struct Replicas {
  std::vector<int> members;
  bool primary_in_sync = false;
  [[nodiscard]] int primary() const { return members.back(); }
};
Replicas ReplicasOf(const View& view, const net::Ring& ring,
                    std::string_view key);

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_VIEW_H_
