#include "engine/append.h"

#include <cstring>
#include <optional>
#include <span>

#include "engine/rewrite.h"

namespace ers::proxy {

using net::Task;
using Bytes = std::span<const std::byte>;

// The bytes are taken into memory: a rival makes both start over. All memory
// is asked for at once, before any is held.
Task<Done> AppendOrPrepend(const EngineContext& context,
                           const ClientRequest& request,
                           store::Content& content, store::Memory& memory) {
  const std::optional<std::uint64_t> cas = request.compare_cas;
  bool too_long = false;
  const auto refused = [&](const Status& why) {
    Done done = context.Failed(why);
    if (too_long || done.reply.outcome == ReplyStatus::kNotFound) {
      done.reply.outcome = ReplyStatus::kNotStored;
    }
    return done;
  };
  const Result<std::uint64_t> length = co_await LengthOf(context, request);
  if (!length) co_return refused(length.error());
  const RewriteRoom room{*length, request.value_bytes};
  const Status taken = co_await memory.Take(room.bytes());
  if (!taken.ok()) co_return context.Failed(taken);
  Result<Bytes> added = co_await content.Next(request.value_bytes);
  if (!added) co_return context.Failed(added.error());
  const bool append = request.mode == StoreMode::kAppend;
  const auto extend = [&](const ObjectInfo& info, Bytes old) {
    store::Rewritten rewritten;
    if (cas && info.cas != *cas) {
      rewritten.status = Status(StatusCode::kConflict, "another CAS");
      return rewritten;
    }
    too_long = old.size() + added->size() > context.limits.max_value_bytes;
    if (too_long) {
      rewritten.status = Status(StatusCode::kConflict, "too long");
      return rewritten;
    }
    const Bytes first = append ? old : *added;
    const Bytes second = append ? *added : old;
    rewritten.value.resize(first.size() + second.size());
    if (!first.empty()) {
      std::memcpy(rewritten.value.data(), first.data(), first.size());
    }
    if (!second.empty()) {
      std::memcpy(rewritten.value.data() + first.size(), second.data(),
                  second.size());
    }
    context.terms.Apply(request, info, rewritten);
    return rewritten;
  };
  const Result<ObjectInfo> stored =
      co_await Rewrite(context, request, memory, room, extend);
  if (!stored) co_return refused(stored.error());
  Done done;
  done.reply.item = context.ItemOf(*stored);
  co_return done;
}

}  // namespace ers::proxy
