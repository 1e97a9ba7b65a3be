#include <fmt/format.h>

#include <string>
#include <utility>

#include "store/change.h"
#include "store/current.h"
#include "store/store.h"

namespace ers::store {

net::Task<Status> Store::Delete(std::string_view key) {
  CurrentManifest current(session_, key);
  Status status = co_await current.Begin();
  if (!status.ok()) co_return status;
  Manifest tombstone;
  tombstone.id = session_.change_ids().Next();
  tombstone.tombstone = true;
  tombstone.key = key;
  const HomeChain& chain = current.chain();
  current.chain().ReplaceCorrupted();
  const Check check = [key, &chain](const Manifest* living) -> Result<Verdict> {
    if (living != nullptr || chain.found_corrupted()) return Verdict::kGoOn;
    return Fail(StatusCode::kNotFound,
                fmt::format("key '{}' holds no object", key));
  };
  const ChangeOutcome outcome =
      co_await CommitChange(session_, current.chain(), std::move(tombstone),
                            ClientCas::kRises, std::nullopt, check);
  co_return outcome.status;
}

}  // namespace ers::store
