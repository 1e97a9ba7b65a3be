// The end of what is no object any more, and still takes memory.
#include <fmt/format.h>

#include "store/dropping.h"
#include "store/home_chain.h"

namespace ers::store {

using net::Outcome;
using net::Task;

bool HomeChain::HasEnded(const Manifest& manifest, std::int64_t at_us) const {
  return !manifest.tombstone && !Alive(manifest, at_us);
}

Task<Result<HomeChain::Found>> HomeChain::DropEnded() {
  const InStep step(steps_, Step::kCommit);
  Result<HomesRead> read = co_await Collect(SendStep::kReadHomes);
  if (read && !read->Agreed()) read = co_await Settle();
  if (!read) co_return Fail(read.error());
  const Found ended = read->judge().manifest;
  if (!ended || !HasEnded(*ended, read->asked_us)) co_return Found();
  for (const HomeCopy& home : read->copies) {
    const bool judge = &home == &read->judge();
    const SendStep write =
        judge ? SendStep::kCommitJudge : SendStep::kCommitHome;
    const CasResult result = co_await Cas(write, *read->view, home, nullptr);
    // Gone already: another process is at it, too.
    if (result.outcome == Outcome::kOk || result.outcome == Outcome::kMiss) {
      continue;
    }
    if (!result.view_changed && !Answered(result.outcome)) {
      Status status = co_await HomeFailed(home.member);
      if (!status.ok()) co_return Fail(std::move(status));
    }
    co_return Fail(StatusCode::kConflict,
                   fmt::format("key '{}' is changed meanwhile", key_));
  }
  session_.manifests().Erase(key_);
  DropReplaced(session_, ended, nullptr);
  co_return ended;
}

}  // namespace ers::store
