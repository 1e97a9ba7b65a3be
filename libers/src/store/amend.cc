#include <deque>
#include <string>
#include <utility>

#include "store/batch.h"
#include "store/change.h"
#include "store/current.h"
#include "store/expiry.h"
#include "store/object_map.h"
#include "store/store.h"

namespace ers::store {
namespace {

using net::Task;

bool LivesLonger(std::int64_t expiry, std::int64_t than) {
  return than != 0 && (expiry == 0 || expiry > than);
}

// Before the manifest promises a longer life, the blocks get it. One that is
// missing is missing as it was: readers decode it.
Task<void> ExtendBlocks(Session& session, const ObjectMap& map,
                        std::int64_t expiry, StepTimer* steps) {
  const InStep step(steps, Step::kDistribute);
  struct Touch {
    std::string key;
    net::Request request;
  };
  std::deque<Touch> touches;
  Batch batch(session.runtime());
  const std::int64_t exptime =
      BlockExptime(expiry, session.runtime().WallMicros());
  for (int group = 0; group < map.groups(); ++group) {
    for (const layout::BlockId block :
         map.geometry().StoredBlocks(map.width())) {
      const int member = map.MemberOf(group, block);
      if (!map.GenerationOf(group, block) || !session.Writable(member)) {
        continue;
      }
      Touch& touch = touches.emplace_back();
      touch.key = map.KeyOf(group, block);
      touch.request.verb = net::Verb::kTouch;
      touch.request.key = touch.key;
      touch.request.exptime = exptime;
      batch.Send(SendStep::kExtend, session.link(member), touch.request);
    }
  }
  co_await batch;
}

}  // namespace

Task<Result<ObjectInfo>> Store::Amend(std::string_view key,
                                      const Amender& amender, bool uncounted) {
  CurrentManifest current(session_, key, steps_);
  Status status = co_await current.Begin();
  if (!status.ok()) co_return Fail(std::move(status));
  if (uncounted) current.chain().ReadUncounted();
  for (;;) {
    Result<std::shared_ptr<const Manifest>> base = co_await current.Next();
    if (!base) co_return Fail(base.error());
    Amendment amendment = amender(InfoOf(**base));
    Manifest next = **base;
    next.expiry = amendment.expiry.value_or(next.expiry);
    next.stale = amendment.stale.value_or(next.stale);
    next.won = amendment.won.value_or(next.won);
    const bool same = next.expiry == (*base)->expiry &&
                      next.stale == (*base)->stale &&
                      next.won == (*base)->won && !amendment.new_cas;
    if (!amendment.status.ok() || same) {
      // What was remembered may be old: nothing is decided by it.
      if (current.remembered()) continue;
      if (!amendment.status.ok()) co_return Fail(std::move(amendment.status));
      co_return InfoOf(**base);
    }
    next.id = session_.change_ids().Next();
    if (!next.is_inline && LivesLonger(next.expiry, (*base)->expiry)) {
      const ObjectMap map(*base);
      co_await ExtendBlocks(session_, map, next.expiry, steps_);
    }
    const Check check = PlannedOn((*base)->id);
    const ChangeOutcome outcome = co_await CommitChange(
        session_, current.chain(), std::move(next),
        amendment.new_cas ? ClientCas::kRises : ClientCas::kStays, std::nullopt,
        check);
    if (outcome.restart) continue;
    if (!outcome.status.ok()) co_return Fail(outcome.status);
    co_return InfoOf(*outcome.committed);
  }
}

Task<Result<ObjectInfo>> Store::Touch(std::string_view key,
                                      std::int64_t expiry) {
  const Amender touch = [expiry](const ObjectInfo&) {
    Amendment amendment;
    amendment.expiry = expiry;
    return amendment;
  };
  co_return co_await Amend(key, touch, /*uncounted=*/false);
}

}  // namespace ers::store
