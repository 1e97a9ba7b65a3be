#include "store/format/record.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/crc32c.h"

namespace ers::store {
namespace {

using nlohmann::json;

// Deeper ones would take the stack of the thread that writes them for their
// checksum.
constexpr int kMaxDepth = 16;

}  // namespace

std::string SealRecord(json root, std::uint64_t format) {
  root["format"] = format;
  root["crc32c"] = Crc32c(root.dump());
  return root.dump();
}

std::uint64_t UnsignedOf(const json& object, const char* name) {
  return object.at(name).get_ref<const json::number_unsigned_t&>();
}

Status OpenRecord(std::string_view text, std::string_view what,
                  const std::function<Status(const json&)>& read,
                  std::uint64_t newest, std::uint64_t oldest) {
  const auto shallow = [](int depth, json::parse_event_t, const json&) {
    return depth <= kMaxDepth;
  };
  json root = json::parse(text, shallow, /*allow_exceptions=*/false);
  if (!root.is_object() || !root.contains("format") ||
      !root.contains("crc32c")) {
    return {StatusCode::kNotManaged, fmt::format("not a {}", what)};
  }
  // The library's JSON accessors throw on a wrong type; nothing leaves here.
  try {
    const std::uint64_t format = UnsignedOf(root, "format");
    const std::uint64_t checksum = UnsignedOf(root, "crc32c");
    if (format > newest) {
      return {StatusCode::kUnsupportedFormat,
              fmt::format("the {} was written by a newer version of this "
                          "library: upgrade it",
                          what)};
    }
    if (format < oldest) {
      return {StatusCode::kUnsupportedFormat,
              fmt::format("the {} has format {}, of an older version of this "
                          "library, whose values this one does not read: take "
                          "them out with that version, or restart the servers "
                          "without their memory",
                          what, format)};
    }
    root.erase("crc32c");
    if (checksum != Crc32c(root.dump())) {
      return {StatusCode::kCorruption,
              fmt::format("the {} is corrupted", what)};
    }
    return read(root);
  } catch (const json::exception& error) {
    return {StatusCode::kCorruption,
            fmt::format("the {} is corrupted: {}", what, error.what())};
  }
}

}  // namespace ers::store
