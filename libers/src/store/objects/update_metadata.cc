#include <utility>

#include "store/blocks/extend.h"
#include "store/commit/change.h"
#include "store/commit/current.h"
#include "store/format/expiry.h"
#include "store/format/object_map.h"
#include "store/objects/store.h"

namespace ers::store {
using net::Task;

Task<Result<ObjectInfo>> Store::UpdateMetadata(std::string_view key,
                                               const MetadataUpdater& updater,
                                               bool no_bump) {
  PrimaryTerms reads;
  reads.no_bump = no_bump;
  CurrentManifest current(session_, key, steps_, reads);
  Status status = co_await current.BeginInTurn();
  if (!status.ok()) co_return Fail(std::move(status));
  for (;;) {
    Result<std::shared_ptr<const Manifest>> base = co_await current.Next();
    if (!base) co_return Fail(base.error());
    MetadataUpdate update = updater(InfoOf(**base));
    Manifest next = **base;
    next.expiry = update.expiry.value_or(next.expiry);
    next.stale = update.stale.value_or(next.stale);
    next.won = update.won.value_or(next.won);
    const bool same = next.expiry == (*base)->expiry &&
                      next.stale == (*base)->stale &&
                      next.won == (*base)->won && !update.new_cas;
    if (!update.status.ok() || same) {
      // What was remembered may be old: nothing is decided by it.
      if (current.remembered()) continue;
      if (!update.status.ok()) co_return Fail(std::move(update.status));
      co_return InfoOf(**base);
    }
    next.id = session_.NewChangeId();
    if (!next.is_inline && LivesLonger(next.expiry, (*base)->expiry)) {
      const ObjectMap map(*base);
      Status extended = co_await ExtendObject(session_, map, steps_);
      if (!extended.ok()) co_return Fail(std::move(extended));
    }
    next.outlived =
        !next.is_inline && (next.outlived || next.expiry != (*base)->expiry);
    const ObjectInfo given = InfoOf(next);
    const bool ends = IsExpired(next.expiry, session_.WallMicros());
    if (ends) next = TombstoneFor(key, next.id);
    const Check check = PlannedOn((*base)->id);
    ChangeOutcome outcome = co_await CommitChange(
        session_, current.replica_set(), std::move(next),
        update.new_cas || ends ? ClientCas::kRises : ClientCas::kStays,
        current.TakeReplicas(), check);
    if (outcome.restart) {
      current.Restart(std::move(outcome));
      continue;
    }
    if (!outcome.status.ok()) co_return Fail(outcome.status);
    if (ends) co_return given;
    if (outcome.committed->outlived && outcome.committed->expiry != 0) {
      session_.cluster().needs.NoteEnding(key, outcome.committed->expiry);
    }
    co_return InfoOf(*outcome.committed);
  }
}

Task<Result<ObjectInfo>> Store::Touch(std::string_view key,
                                      std::int64_t expiry) {
  const MetadataUpdater touch = [expiry](const ObjectInfo&) {
    MetadataUpdate update;
    update.expiry = expiry;
    return update;
  };
  co_return co_await UpdateMetadata(key, touch, /*no_bump=*/false);
}

}  // namespace ers::store
