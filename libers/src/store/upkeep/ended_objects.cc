#include "store/upkeep/ended_objects.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "store/commit/change.h"
#include "store/membership/view_loader.h"
#include "store/replicas/replica_copy.h"

namespace ers::store {

using net::Task;

bool HasEnded(Session& session, const Manifest& manifest) {
  return !manifest.tombstone &&
         !IsAlive(manifest, *session.view(), session.WallMicros());
}

Task<Status> Bury(Session& session, ReplicaSet& replicas,
                  std::string_view key) {
  const Check check = [](const Manifest* living) -> Result<Verdict> {
    if (living == nullptr) return Verdict::kGoOn;
    return Fail(StatusCode::kConflict, "the key is in use again");
  };
  const ChangeOutcome outcome = co_await CommitChange(
      session, replicas, TombstoneFor(key, session.NewChangeId()),
      ClientCas::kRises, std::nullopt, check);
  co_return outcome.status;
}

Task<void> DropEndedObjects(Session& session, std::vector<std::string> keys) {
  const Status status = co_await EnsureView(session);
  if (!status.ok()) co_return;
  constexpr int kParallel = 16;
  std::size_t next = 0;
  const auto work = [&session, &keys, &next](net::Latch& latch) -> Task<void> {
    while (next < keys.size()) {
      const std::string& key = keys[next++];
      ReplicaSet replicas(session, key);
      const Result<std::shared_ptr<const Manifest>> shown =
          co_await replicas.ReadPrimary(kAsItLies);
      if (!shown || !*shown) continue;
      if (!HasEnded(session, **shown)) continue;
      (void)co_await Bury(session, replicas, key);
    }
    latch.CountDown();
  };
  net::Latch latch(session.runtime(), kParallel);
  for (int i = 0; i < kParallel; ++i) net::Spawn(work(latch));
  co_await latch;
}

}  // namespace ers::store
