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
                        std::int64_t expiry) {
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
      batch.Submit(session.link(member), touch.request);
    }
  }
  co_await batch;
}

}  // namespace

Task<Result<ObjectInfo>> Store::Touch(std::string_view key,
                                      std::int64_t expiry) {
  CurrentManifest current(session_, key);
  Status status = co_await current.Begin();
  if (!status.ok()) co_return Fail(std::move(status));
  for (;;) {
    Result<std::shared_ptr<const Manifest>> base = co_await current.Next();
    if (!base) co_return Fail(base.error());
    Manifest next = **base;
    next.id = session_.change_ids().Next();
    next.expiry = expiry;
    if (!next.is_inline && LivesLonger(expiry, (*base)->expiry)) {
      const ObjectMap map(*base);
      co_await ExtendBlocks(session_, map, expiry);
    }
    const ChangeId base_id = (*base)->id;
    const Check check = [base_id](const Manifest* living) -> Result<Verdict> {
      return living != nullptr && living->id == base_id ? Verdict::kGoOn
                                                        : Verdict::kRestart;
    };
    const ChangeOutcome outcome =
        co_await CommitChange(session_, current.chain(), std::move(next),
                              ClientCas::kStays, std::nullopt, check);
    if (outcome.restart) continue;
    if (!outcome.status.ok()) co_return Fail(outcome.status);
    co_return InfoOf(*outcome.committed);
  }
}

}  // namespace ers::store
