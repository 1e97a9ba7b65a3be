// append and prepend, and the memory of what rewrites a value.
#include <cstring>
#include <optional>
#include <utility>

#include "engine/engine.h"

namespace ers::proxy {

using net::Task;
using Bytes = std::span<const std::byte>;

// A value that is longer than there is room for gets more at once, or all is
// asked for anew, as nothing may be held by who waits. Nothing was changed
// then: the store says so before it has read the value.
Task<Result<ObjectInfo>> Engine::Rewrite(
    const Request& request, store::Memory& memory, RewriteRoom room,
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
        co_await store_.Rewrite(request.key, rewriter, may_read);
    memory.Give(room.bytes());
    if (info || !short_of) co_return info;
    room = *short_of;
    const Status taken = co_await memory.Take(room.bytes());
    if (!taken.ok()) co_return Fail(taken);
  }
}

// The bytes are taken into memory: a rival makes both start over. All memory
// is asked for at once, before any is held.
Task<Done> Engine::Extend(const Request& request, store::Content& content,
                          store::Memory& memory) {
  const std::optional<std::uint64_t> cas = request.compare_cas;
  bool too_long = false;
  const auto refused = [&](const Status& why) {
    Done done = Failed(why);
    if (too_long || done.reply.outcome == Outcome::kNotFound) {
      done.reply.outcome = Outcome::kNotStored;
    }
    return done;
  };
  const Result<std::uint64_t> length = co_await LengthOf(request);
  if (!length) co_return refused(length.error());
  const RewriteRoom room{*length, request.value_bytes};
  const Status taken = co_await memory.Take(room.bytes());
  if (!taken.ok()) co_return Failed(taken);
  Result<Bytes> added = co_await content.Next(request.value_bytes);
  if (!added) co_return Failed(added.error());
  const bool append = request.mode == StoreMode::kAppend;
  const auto extend = [&](const ObjectInfo& info, Bytes old) {
    store::Rewritten rewritten;
    if (cas && info.cas != *cas) {
      rewritten.status = Status(StatusCode::kConflict, "another CAS");
      return rewritten;
    }
    too_long = old.size() + added->size() > limits_.max_value_bytes;
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
    ApplyRules(request, info, rewritten);
    return rewritten;
  };
  const Result<ObjectInfo> stored =
      co_await Rewrite(request, memory, room, extend);
  if (!stored) co_return refused(stored.error());
  Done done;
  done.reply.item = ItemOf(*stored);
  co_return done;
}

}  // namespace ers::proxy
