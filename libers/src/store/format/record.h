// A record: what processes share through items on the servers. JSON
// text with a format number and a checksum.
#ifndef ERS_STORE_FORMAT_RECORD_H_
#define ERS_STORE_FORMAT_RECORD_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "ers/status.h"

namespace ers::store {

// The text of `root`, an object, to which format and checksum are added.
std::string SealRecord(nlohmann::json root, std::uint64_t format = 1);

// Hands the record in `text` to `read`, which may throw what the JSON library
// does. `what` is its name in errors: kNotManaged where the text is no record,
// kUnsupportedFormat where its format is above `newest` or below `oldest`,
// kCorruption where it is broken.
Status OpenRecord(std::string_view text, std::string_view what,
                  const std::function<Status(const nlohmann::json&)>& read,
                  std::uint64_t newest = 1, std::uint64_t oldest = 0);

// Was it opened in vain because its format is none that this library knows? No
// process may write over such a record, nor act as if it were not there.
template <typename Record>
bool IsOtherFormat(const Result<Record>& record) {
  return !record && record.error().code() == StatusCode::kUnsupportedFormat;
}

// A member of `object`. Throws what the JSON library does where there is none,
// or one of another kind, which must not even be converted.
std::uint64_t UnsignedOf(const nlohmann::json& object, const char* name);

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_RECORD_H_
