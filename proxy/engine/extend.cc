// append and prepend.
#include <cstring>
#include <utility>

#include "engine/engine.h"

namespace ers::proxy {

using net::Task;
using Bytes = std::span<const std::byte>;

// The bytes are taken into memory: a rival makes both start over.
Task<Done> Engine::Extend(const Request& request, store::Content& content) {
  Result<Bytes> added = co_await content.Next(request.value_bytes);
  if (!added) co_return Failed(added.error());
  const bool append = request.mode == StoreMode::kAppend;
  const std::optional<std::uint64_t> cas = request.compare_cas;
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
    return rewritten;
  };
  const Result<ObjectInfo> stored =
      co_await store_.Rewrite(request.key, extend);
  if (!stored) {
    Done done = Failed(stored.error());
    const bool refused = done.reply.outcome == Outcome::kNotFound ||
                         done.reply.outcome == Outcome::kExists;
    if (refused && !cas) {
      done.reply.outcome = Outcome::kNotStored;
    }
    co_return done;
  }
  Done done;
  done.reply.item = ItemOf(*stored);
  co_return done;
}

}  // namespace ers::proxy
