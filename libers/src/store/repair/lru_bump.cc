#include "store/repair/lru_bump.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/commit/change.h"
#include "store/format/keys.h"
#include "store/format/object_map.h"
#include "store/membership/batch.h"
#include "store/repair/repair.h"
#include "store/replicas/replica_set.h"
#include "store/support/eviction_watch.h"

namespace ers::store {
namespace {

using net::Task;
using ManifestPtr = std::shared_ptr<const Manifest>;

Task<void> AskForAge(Session& session) {
  std::deque<net::Request> requests;
  Batch batch(session.runtime());
  for (int i = 0; i < session.members(); ++i) {
    if (!session.Readable(i) || !session.link(i).facts().evictions) continue;
    net::Request& request = requests.emplace_back();
    request.verb = net::Verb::kStats;
    request.key = "items";
    batch.Send(SendStep::kServerStats, session.link(i), request);
  }
  co_await batch;
  bool answered = false;
  std::optional<std::chrono::seconds> least;
  for (const net::Request& request : requests) {
    if (request.outcome != net::Outcome::kOk) continue;
    answered = true;
    const std::optional<std::chrono::seconds> age = EvictionAge(request.value);
    if (age && (!least || *age < *least)) least = age;
  }
  if (answered) session.cluster().evictions.Set(least);
}

// Accesses under way, and the names they need.
class Touches {
 public:
  Touches(Session& session, int times)
      : session_(session), times_(times), batch_(session.runtime()) {}

  void Touch(SendStep step, int member, std::string key) {
    if (!session_.Readable(member)) return;
    const std::string& name = names_.emplace_back(std::move(key));
    for (int i = 0; i < times_; ++i) {
      net::Request& request = requests_.emplace_back();
      request.verb = net::Verb::kHead;
      request.key = name;
      request.lazy = true;
      members_.push_back(member);
      batch_.Send(step, session_.link(member), request);
    }
  }
  Batch& batch() { return batch_; }
  // Members in sync that lack what was touched, once all have answered. Those
  // that are being backfilled lack much, and get it from their backfill.
  [[nodiscard]] std::vector<int> Lacking() const {
    std::vector<int> members;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const int member = members_[i];
      if (requests_[i].outcome == net::Outcome::kMiss &&
          session_.view()->members[static_cast<std::size_t>(member)].state ==
              MemberState::kInSync) {
        members.push_back(member);
      }
    }
    return members;
  }

 private:
  Session& session_;
  const int times_;
  Batch batch_;
  std::deque<std::string> names_;
  std::deque<net::Request> requests_;
  std::vector<int> members_;  // of each request
};

void TouchReplicas(Session& session, const Manifest& manifest,
                   Touches& touches) {
  const std::shared_ptr<const View> view = session.view();
  const Replicas replicas = ReplicasOf(*view, session.ring(), manifest.key);
  const net::TimePoint now = session.runtime().Now();
  for (const int member : replicas.members) {
    // The read itself was an access to the primary, unless it went around it,
    // or by a pack's manifest that is remembered.
    if (member == replicas.primary() && !IsPackKey(manifest.key) &&
        !session.late_servers().IsShunned(member, now)) {
      continue;
    }
    touches.Touch(SendStep::kReadReplicas, member, ManifestKey(manifest.key));
  }
}

void TouchParity(const ManifestPtr& manifest, Touches& touches) {
  if (manifest->is_inline) return;
  const ObjectMap map(manifest);
  for (int group = 0; group < map.groups(); ++group) {
    for (const layout::BlockId block :
         map.geometry().StoredBlocks(map.width())) {
      const bool is_parity = !map.geometry().IsData(block);
      if (!is_parity || !map.GenerationOf(group, block)) continue;
      touches.Touch(SendStep::kProbe, map.MemberOf(group, block),
                    map.KeyOf(group, block));
    }
  }
}

// What is not read went before what is read did. Where it does not succeed,
// the next touch finds it lacking again.
Task<void> Restore(Session& session, const std::string& key,
                   const std::vector<int>& members) {
  if (!session.touch_times().BeginRestore()) co_return;
  RepairTerms terms;
  terms.find = LackingOn(session, members);
  (void)co_await RepairObject(session, key, terms);
  session.touch_times().EndRestore();
}

Task<void> TouchAll(Session& session, ManifestPtr manifest, int times) {
  std::vector<int> lacking;
  {
    Touches touches(session, times);
    TouchReplicas(session, *manifest, touches);
    TouchParity(manifest, touches);
    co_await touches.batch();
    lacking = touches.Lacking();
  }
  if (lacking.empty() || session.closing()) co_return;
  co_await Restore(session, manifest->key, lacking);
}

// The next read tries again where it fails.
Task<void> Drop(Session& session, ManifestPtr unreadable) {
  (void)co_await EndUnreadable(session, std::move(unreadable));
}

}  // namespace

bool MayBumpLru(Session& session) {
  EvictionWatch& evictions = session.cluster().evictions;
  const net::TimePoint now = session.runtime().Now();
  if (evictions.TakeTurn(now, session.cluster().lease.Rests(now))) {
    session.Detach(AskForAge(session));
  }
  return evictions.touch_period().has_value();
}

void BumpLru(Session& session, ManifestPtr current, bool again) {
  const std::optional<net::Duration> period =
      session.cluster().evictions.touch_period();
  if (!period || session.closing()) return;
  const int times = session.touch_times().Due(HashKey(current->key).low, again,
                                              session.runtime().Now(), *period);
  if (times > 0) session.Detach(TouchAll(session, std::move(current), times));
}

void DropUnreadable(Session& session, ManifestPtr current, const Status& why) {
  const bool evict = session.cluster().evictions.touch_period().has_value();
  if (!evict || why.code() != StatusCode::kNotFound || session.closing()) {
    return;
  }
  session.Detach(Drop(session, std::move(current)));
}

Task<Result<bool>> EndUnreadable(Session& session, ManifestPtr unreadable) {
  ChangeTerms change;
  change.out_of_turn = true;
  change.of_pack = true;
  ReplicaSet replicas(session, unreadable->key, nullptr, change);
  const Check check = PlannedOn(unreadable->id);
  const ChangeOutcome outcome = co_await CommitChange(
      session, replicas, TombstoneFor(unreadable->key, session.NewChangeId()),
      ClientCas::kRises, std::nullopt, check);
  if (outcome.restart) co_return false;
  if (!outcome.status.ok()) co_return Fail(outcome.status);
  co_return true;
}

}  // namespace ers::store
