#include <span>
#include <utility>
#include <vector>

#include "store/commit/change.h"
#include "store/commit/current.h"
#include "store/objects/packed_value.h"
#include "store/objects/store.h"
#include "store/objects/whole_write.h"
#include "store/support/content.h"

namespace ers::store {

net::Task<Result<ObjectInfo>> Store::Rewrite(std::string_view key,
                                             const Rewriter& rewriter,
                                             const RewriteCheck& may_read) {
  CurrentManifest current(session_, key, steps_, kNoBump);
  Status status = co_await current.BeginInTurn();
  if (!status.ok()) co_return Fail(std::move(status));
  for (;;) {
    Result<std::shared_ptr<const Manifest>> base = co_await current.Next();
    if (!base) co_return Fail(base.error());
    if (may_read) {
      status = may_read(InfoOf(**base));
      if (!status.ok() && current.remembered()) continue;
      if (!status.ok()) co_return Fail(std::move(status));
    }
    const Result<std::vector<std::byte>> old =
        co_await ReadValue(session_, *base, steps_);
    if (!old) {
      if (current.MayRetry(old.error())) continue;
      co_return Fail(old.error());
    }
    Rewritten rewritten = rewriter(InfoOf(**base), *old);
    if (!rewritten.status.ok()) {
      // What was remembered may be old: it must not refuse what would do.
      if (current.remembered()) continue;
      co_return Fail(std::move(rewritten.status));
    }
    if (rewritten.value.size() > kMaxValueBytes) {
      co_return Fail(StatusCode::kTooLarge,
                     "the value would be over 256 MiB, the largest there is");
    }
    MemoryContent content(std::as_bytes(std::span(rewritten.value)));
    ClientOptions client = options_;
    client.inline_below =
        rewritten.inline_below.value_or(options_.inline_below);
    PutJob job{session_, client, content, Manifest(), steps_};
    job.manifest.id = session_.NewChangeId();
    job.manifest.key = key;
    job.manifest.scheme = (*base)->scheme;
    job.manifest.width = (*base)->width;
    if (rewritten.keeps_marks) {
      job.manifest.stale = (*base)->stale;
      job.manifest.won = (*base)->won;
    }
    job.manifest.client_flags = (*base)->client_flags;
    job.manifest.expiry = rewritten.expiry.value_or((*base)->expiry);
    const Check check = PlannedOn((*base)->id);
    ChangeOutcome outcome =
        co_await WriteWhole(job, current.replica_set(), check,
                            ClientCas::kRises, current.TakeReplicas());
    if (outcome.restart) {
      current.Restart(std::move(outcome));
      continue;
    }
    if (!outcome.status.ok()) co_return Fail(outcome.status);
    co_return InfoOf(*outcome.committed);
  }
}

}  // namespace ers::store
