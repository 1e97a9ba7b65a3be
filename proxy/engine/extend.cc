// append and prepend.
#include <cstring>
#include <utility>

#include "engine/engine.h"

namespace ers::proxy {

using net::Task;
using Bytes = std::span<const std::byte>;

// The bytes are taken into memory: a rival makes both start over. All memory
// is asked for at once, before any is held: the old value, the new one twice
// (its blocks are staged from one of them), and what is added.
Task<Done> Engine::Extend(const Request& request, store::Content& content,
                          store::Memory& memory) {
  const std::optional<std::uint64_t> cas = request.compare_cas;
  const auto refused = [&](const Status& why) {
    Done done = Failed(why);
    const bool other = done.reply.outcome == Outcome::kNotFound ||
                       done.reply.outcome == Outcome::kExists;
    if (other && !cas) done.reply.outcome = Outcome::kNotStored;
    return done;
  };
  const Result<std::uint64_t> length = co_await LengthOf(request);
  if (!length) co_return refused(length.error());
  const std::uint64_t old_most = *length;
  const Status room =
      co_await memory.Take(3 * (old_most + request.value_bytes));
  if (!room.ok()) co_return Failed(room);
  const auto may_read = [&](const ObjectInfo& info) {
    if (info.length <= old_most) return Status();
    return Status(StatusCode::kUnavailable,
                  "the value grew meanwhile, and nothing was added: try again");
  };
  Result<Bytes> added = co_await content.Next(request.value_bytes);
  if (!added) co_return Failed(added.error());
  const bool append = request.mode == StoreMode::kAppend;
  const auto extend = [&](const ObjectInfo& info, Bytes old) {
    store::Rewritten rewritten;
    if (cas && info.cas != *cas) {
      rewritten.status = Status(StatusCode::kConflict, "another CAS");
      return rewritten;
    }
    if (old.size() + added->size() > limits_.max_value_bytes) {
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
      co_await store_.Rewrite(request.key, extend, may_read);
  if (!stored) co_return refused(stored.error());
  Done done;
  done.reply.item = ItemOf(*stored);
  co_return done;
}

}  // namespace ers::proxy
