#include "store/objects/get_outcome.h"

#include <fmt/format.h>

#include "store/objects/store.h"

namespace ers::store {

GetInfo GetInfoOf(const Manifest& manifest, const ReadOutcome& read) {
  GetInfo info;
  static_cast<ObjectInfo&>(info) = InfoOf(manifest);
  info.degraded = read.degraded;
  info.repaired_blocks = read.repaired;
  return info;
}

Status GetMiss(std::string_view key) {
  return {StatusCode::kNotFound, fmt::format("key '{}' holds no object", key)};
}

Status GetKeptChanging(std::string_view key) {
  return {StatusCode::kUnavailable,
          fmt::format("key '{}' changes faster than it can be read: try again",
                      key)};
}

}  // namespace ers::store
