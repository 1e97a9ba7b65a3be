#include "engine/rewrite.h"

#include <optional>

namespace ers::proxy {

using net::Task;

// A value that is longer than there is room for gets more at once, or all is
// asked for anew, as nothing may be held by what waits. Nothing was changed
// then: the store says so before it has read the value.
Task<Result<ObjectInfo>> Rewrite(const EngineContext& context,
                                 const ClientRequest& request,
                                 store::Memory& memory, RewriteRoom room,
                                 const store::Store::Rewriter& rewriter) {
  for (;;) {
    std::optional<RewriteRoom> short_of;
    const auto may_read = [&](const ObjectInfo& info) {
      short_of.reset();
      if (info.length <= room.old_most) return Status();
      const RewriteRoom wanted{info.length, room.added};
      if (memory.TryTake(wanted.bytes() - room.bytes())) {
        room = wanted;
        return Status();
      }
      short_of = wanted;
      return Status(StatusCode::kTooLarge, "more than was expected");
    };
    Result<ObjectInfo> info =
        co_await context.store.Rewrite(request.key, rewriter, may_read);
    memory.Give(room.bytes());
    if (info || !short_of) co_return info;
    room = *short_of;
    const Status taken = co_await memory.Take(room.bytes());
    if (!taken.ok()) co_return Fail(taken);
  }
}

Task<Result<std::uint64_t>> LengthOf(const EngineContext& context,
                                     const ClientRequest& request) {
  const std::optional<std::uint64_t> known =
      context.store.KnownLength(request.key);
  if (known) co_return *known;
  Value none;
  store::ReadTerms terms;
  terms.no_bump = true;
  const Result<GetInfo> info =
      co_await context.store.GetUpTo(request.key, 0, none, terms);
  if (!info) co_return Fail(info.error());
  co_return info->length;
}

}  // namespace ers::proxy
