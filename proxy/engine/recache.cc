#include "engine/recache.h"

#include "protocol/exptime.h"
#include "store/support/content.h"

namespace ers::proxy {

using net::Task;

Task<std::optional<Gotten>> Vivify(const EngineContext& context,
                                   const ClientRequest& request) {
  Gotten gotten;
  store::MemoryContent nothing({});
  PutOptions options;
  const ItemTerms::Times times =
      context.terms.TimesOf(request, 0, /*created=*/true, 0, 0);
  options.expiry = times.left;
  store::PutTerms terms;
  context.terms.Apply(request, 0, options, terms);
  terms.condition = store::PutCondition::kAbsent;
  terms.new_cas = request.new_cas;
  terms.won = true;
  const Result<ObjectInfo> made =
      co_await context.store.PutContent(request.key, nothing, options, terms);
  if (!made) {
    if (made.error().code() == StatusCode::kConflict) co_return std::nullopt;
    gotten.done = context.Failed(made.error());
    co_return gotten;
  }
  gotten.done.reply.item = context.ItemOf(*made);
  gotten.done.reply.item.ttl = context.terms.TtlOf(times.reported);
  gotten.done.reply.item.won = true;
  gotten.done.reply.created = true;
  co_return gotten;
}

Task<void> Judge(const EngineContext& context, const ClientRequest& request,
                 const ObjectInfo& info, std::int64_t expiry, ItemInfo& item) {
  item.stale = info.stale;
  item.another_won = info.won;
  const std::int64_t seconds = context.terms.Now();
  // What is over is over for all: none ends before it.
  const std::int64_t last =
      request.recache ? ExpiryOf(*request.recache, seconds) : 0;
  const bool near_end = last > seconds && expiry != 0 && expiry < last;
  if (info.won || !(info.stale || near_end)) co_return;
  const std::uint64_t cas = info.cas;
  const auto win = [cas](const ObjectInfo& now) {
    store::MetadataUpdate update;
    if (now.won || now.cas != cas) {
      update.status = Status(StatusCode::kConflict, "another won");
    } else {
      update.won = true;
    }
    return update;
  };
  const Result<ObjectInfo> won =
      co_await context.store.UpdateMetadata(request.key, win);
  item.won = won.has_value();
  item.another_won = !won;
}

}  // namespace ers::proxy
