// New tokens for what is at the homes of a key.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/format/planted_bug.h"
#include "store/replicas/home_chain.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

bool IsPlain(const HomeCopy& copy) {
  return copy.kind == HomeCopy::Kind::kPlain;
}

bool IsCorrupt(const HomeCopy& copy) {
  return copy.kind == HomeCopy::Kind::kCorrupt;
}

}  // namespace

// All homes with tokens, settled if there is no plain item: settling would
// write over it.
Task<Result<HomesRead>> HomeChain::ReadToRestamp() {
  const bool before = std::exchange(replaces_plain_, true);
  Result<HomesRead> read = co_await Collect(SendStep::kSettleRead);
  replaces_plain_ = before;
  if (!read) co_return read;
  if (std::none_of(read->copies.begin(), read->copies.end(), IsPlain)) {
    if (read->Agreed()) co_return read;
    co_return co_await Settle();
  }
  if (std::any_of(read->copies.begin(), read->copies.end(), IsCorrupt)) {
    co_return Fail(StatusCode::kCorruption,
                   fmt::format("key '{}' holds a plain item and a manifest "
                               "that is corrupted",
                               key_));
  }
  co_return read;
}

// The copy's own content in its place.
Task<HomeChain::CasResult> HomeChain::WriteBack(const View& view,
                                                const HomeCopy& home) {
  if (IsPlain(home)) return CasPlain(SendStep::kRestamp, view, home);
  return Cas(SendStep::kRestamp, view, home, home.manifest.get());
}

Task<Result<HomesRead>> HomeChain::Restamp() {
  while (!Expired()) {
    Result<HomesRead> read = co_await ReadToRestamp();
    if (!read || Planted(PlantedBug::kNoRestamp)) co_return read;
    bool all = true;
    for (std::size_t i = read->copies.size(); i > 0 && all; --i) {
      const HomeCopy& home = read->copies[i - 1];
      const CasResult result = co_await WriteBack(*read->view, home);
      all = result.outcome == Outcome::kOk;
      if (result.outcome == Outcome::kNoMemory) {
        co_return Fail(StatusCode::kNoMemory,
                       fmt::format("{} has no memory to write key '{}' again",
                                   session_.member_name(home.member), key_));
      }
      if (!result.view_changed && !Answered(result.outcome)) {
        Status status = co_await HomeFailed(home.member);
        if (!status.ok()) co_return Fail(std::move(status));
      }
    }
    if (all) co_return read;
  }
  co_return Fail(ChangedWithoutEnd());
}

}  // namespace ers::store
