#include <fmt/format.h>

#include <string>
#include <utility>

#include "store/commit/change.h"
#include "store/commit/current.h"
#include "store/objects/store.h"

namespace ers::store {

net::Task<Status> Store::Delete(std::string_view key,
                                std::uint64_t expected_cas) {
  ChangeTerms change;
  change.replaces_corrupted = expected_cas == 0;
  CurrentManifest current(session_, key, steps_, {}, change);
  Status status = co_await current.Begin();
  if (!status.ok()) co_return status;
  const ReplicaSet& replicas = current.replica_set();
  const Check check = [key, expected_cas,
                       &replicas](const Manifest* living) -> Result<Verdict> {
    if (living != nullptr && expected_cas != 0 && living->cas != expected_cas) {
      return Fail(StatusCode::kConflict,
                  fmt::format("key '{}' has another CAS: it was changed", key));
    }
    if (living != nullptr || replicas.found_corrupted()) return Verdict::kGoOn;
    return Fail(StatusCode::kNotFound,
                fmt::format("key '{}' holds no object", key));
  };
  const ChangeOutcome outcome =
      co_await CommitChange(session_, current.replica_set(),
                            TombstoneFor(key, session_.NewChangeId()),
                            ClientCas::kRises, std::nullopt, check);
  co_return outcome.status;
}

}  // namespace ers::store
