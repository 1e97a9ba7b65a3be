// EngineContext: what all commands of one worker work on.
#ifndef ERS_PROXY_ENGINE_CONTEXT_H_
#define ERS_PROXY_ENGINE_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/census.h"
#include "engine/changing_keys.h"
#include "engine/done.h"
#include "engine/item_terms.h"
#include "engine/wide_hits.h"
#include "ers/options.h"
#include "metrics/counters.h"
#include "store/objects/store.h"
#include "tracing/request_trace.h"

namespace ers::proxy {

struct Warming;

struct EngineLimits {
  // Longer values are streamed.
  std::uint64_t whole_below = 64 << 10;
  store::StreamWindow window{256 << 10, 4};
  // Of values that append and prepend make.
  std::uint64_t max_value_bytes = kMaxValueBytes;
  // Of stores that no rule is for.
  Scheme scheme;
  std::size_t inline_below = 0;
};

// Of one loop; all that it refers to outlives the commands.
struct EngineContext {
  [[nodiscard]] Done Failed(const Status& status) const {
    return proxy::Failed(status, counters);
  }

  // What a reply says of an object that was found or stored.
  [[nodiscard]] ItemInfo ItemOf(const ObjectInfo& info) const {
    NoteObject(info);
    return terms.ItemOf(info);
  }
  // Of an ObjectInfo, or of a manifest.
  template <typename Object>
  void NoteObject(const Object& object) const {
    if (traced_object == nullptr) return;
    *traced_object = {object.scheme, object.width, object.is_inline,
                      object.length};
  }

  // How long the value was when it was last seen, if it may be streamed without
  // another read: not while a miss may be warmed.
  [[nodiscard]] std::optional<std::uint64_t> LengthToStream(
      std::string_view key) const {
    if (warming != nullptr) return std::nullopt;
    return store.KnownLength(key);
  }

  store::Store& store;
  Counters& counters;
  ChangingKeys& changing;  // shared by all engines of the daemon
  const EngineLimits limits;
  ItemTerms terms;
  CensusBoard* board = nullptr;  // where to publish; null: nowhere
  WideHits* hits = nullptr;      // where to note them; null: nowhere
  Warming* warming = nullptr;    // null: there is no old pool
  // Where to note what was found or stored; null: nowhere.
  std::optional<TracedObject>* traced_object = nullptr;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_ENGINE_CONTEXT_H_
