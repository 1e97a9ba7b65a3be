// Verifier: checks all objects, several at a time, and repairs what it finds
// where it is asked to.
#ifndef ERS_STORE_UPKEEP_VERIFY_H_
#define ERS_STORE_UPKEEP_VERIFY_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ers/verify.h"
#include "net/task.h"
#include "store/membership/session.h"
#include "store/repair/key_walk.h"
#include "store/repair/repair.h"
#include "store/replicas/replica_set.h"
#include "store/support/pace.h"

namespace ers::store {

// What is found counts only where no process changed the object meanwhile:
// blocks only if the primary shows the same item after they were read,
// manifests that differ only if they do so still when every change that was
// under way must have ended.
//
// Without repair it writes nothing at all, and leaves the view as it is: it
// goes by the one in force, or reads it for itself. Loop thread only; one run.
class Verifier {
 public:
  // `options` outlives it.
  Verifier(Session& session, const VerifyOptions& options);

  net::Task<Result<VerifyReport>> Run();

 private:
  using ViewPtr = std::shared_ptr<const View>;
  using ManifestPtr = std::shared_ptr<const Manifest>;

  // A fault of one object.
  struct Flaw {
    Fault fault = Fault::kMissing;
    int group = -1;
    int block = -1;
    int member = -1;
    std::string detail;
  };
  // What one read of an object gave.
  struct Snapshot {
    bool living = false;  // there is an object, once it is reconciled
    bool plain = false;
    bool differ = false;  // its replicas
    ReplicasRead replicas;
    ManifestPtr manifest;
    std::uint64_t blocks = 0;
    std::vector<Flaw> found;
  };
  // An object whose replicas differ: a change may be under way.
  struct Suspect {
    std::string key;
    ReplicasRead replicas;
    net::TimePoint since;
    int tries = 0;
  };

  net::Task<void> Work(KeyWalk& walk, net::Latch& latch);
  net::Task<void> CheckNew(const WalkedItem& item);
  net::Task<void> CheckKey(const std::string& key);
  net::Task<void> CheckSuspect(Suspect suspect);
  // Empty where it was changed again and again.
  net::Task<std::optional<Snapshot>> Reconciled(const std::string& key);
  net::Task<Status> SnapReplicas(const std::string& key, Snapshot& snapshot);
  net::Task<void> SnapBlocks(Snapshot& snapshot);
  net::Task<void> SnapPack(Snapshot& snapshot);
  net::Task<Result<bool>> Unchanged(const std::string& key,
                                    const Snapshot& snapshot);
  net::Task<Result<ReplicasRead>> ReadReplicas(const std::string& key);
  net::Task<Status> ReadView();
  net::Task<Result<Lacking>> FindLacking(const ObjectMap& map, int group);
  net::Task<void> Conclude(const std::string& key, const Snapshot& snapshot);
  net::Task<bool> Repair(const std::string& key);
  void ReportFindings(const std::string& key, const Snapshot& snapshot);
  void ReportProgress(const KeyWalk& walk);
  [[nodiscard]] bool Going() const { return status_.ok(); }

  Session& session_;
  const VerifyOptions& options_;
  Pace pace_;
  RepairTerms repair_;
  ViewPtr view_;  // without the members that are silent
  net::TimePoint view_since_{};
  std::deque<Suspect> suspects_;  // oldest first
  std::set<std::string> packs_;   // of wanted values, not wanted themselves
  std::uint64_t walked_ = 0;
  VerifyReport report_;
  Status status_;
};

}  // namespace ers::store

#endif  // ERS_STORE_UPKEEP_VERIFY_H_
