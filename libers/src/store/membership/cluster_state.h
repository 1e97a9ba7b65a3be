// ClusterState: what all loops of one process share about one cluster.
#ifndef ERS_STORE_MEMBERSHIP_CLUSTER_STATE_H_
#define ERS_STORE_MEMBERSHIP_CLUSTER_STATE_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ers/options.h"
#include "ers/status.h"
#include "net/endpoint.h"
#include "net/placement.h"
#include "net/ring.h"
#include "store/membership/in_doubt_writes.h"
#include "store/membership/lease.h"
#include "store/membership/member_stamps.h"
#include "store/membership/memory_loss.h"
#include "store/membership/slots.h"
#include "store/membership/state_file.h"
#include "store/membership/view_keeper.h"
#include "store/support/cluster_clock.h"
#include "store/support/eviction_watch.h"
#include "store/support/memory_needs.h"

namespace ers::store {

class KeyLines;
class KnownChanges;

// Constant after construction, but for keeper, lease, stamps, clock, loss,
// in_doubt_writes, evictions, needs, calls, lines, known, slots and whether the
// state file could be written, which see to that themselves. Any thread.
struct ClusterState {
  ClusterOptions options;
  // As this process was given them, sorted by name: members' numbers in a new
  // cluster. The view may have others in their places.
  std::vector<net::Endpoint> endpoints;
  // Of a new cluster; empty: the cluster's, of a new one the default.
  std::optional<net::Placement> placement;
  SlotRing slots;
  const StateFile state_file;
  ViewKeeper keeper;
  Lease lease;
  MemberStamps stamps;
  ClusterClock clock;
  LossWatch loss;
  InDoubtWrites in_doubt_writes;
  EvictionWatch evictions;
  MemoryNeeds needs;
  // Of members, so that they do not evict what the cluster needs: each in turn.
  std::atomic<std::size_t> calls = 0;
  const std::unique_ptr<KeyLines> lines;
  const std::unique_ptr<KnownChanges> known;

  ClusterState(ClusterOptions cluster_options,
               std::vector<net::Endpoint> sorted_endpoints,
               std::string process_label);
  ~ClusterState();

  void Log(LogLevel level, std::string_view line) const {
    if (options.log) options.log(level, line);
  }

  // The state file with that view, and its place taken by it. What stands in
  // the way is logged once, not at each try, and so is its end.
  [[nodiscard]] Result<StateFileDraft> DraftOnDisk(const View& view);
  [[nodiscard]] Status KeepOnDisk(StateFileDraft draft);

 private:
  void NoteOnDisk(const Status& status);

  std::atomic<bool> off_disk_ = false;  // the last try failed
};

// Parses and checks the options. kInvalidArgument names the one at fault.
// `process_label` is what other processes learn of this one.
Result<std::shared_ptr<ClusterState>> OpenClusterState(
    ClusterOptions options, std::string process_label = OwnProcessLabel());

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_CLUSTER_STATE_H_
