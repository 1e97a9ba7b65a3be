#include "ctl/support/key_text.h"

#include <fmt/format.h>

#include "shared/base64.h"
#include "shared/plain_text.h"

namespace ers::ctl {
namespace {

constexpr std::string_view kEncoded = "base64:";

}  // namespace

std::string KeyText(std::string_view key) {
  if (!proxy::NeedsBase64(key) && !key.starts_with(kEncoded)) {
    return std::string(key);
  }
  std::string text(kEncoded);
  proxy::AppendBase64(key, text);
  return text;
}

std::string TakeKey(std::string& text) {
  if (!text.starts_with(kEncoded)) {
    if (!proxy::NeedsBase64(text)) return "";
    return "a key with spaces or control characters must be given as " +
           KeyText(text);
  }
  std::string key;
  if (!proxy::DecodeBase64(std::string_view(text).substr(kEncoded.size()),
                           key)) {
    return text + ": it is no base64: give all of it, padded with '='";
  }
  text = key;
  return "";
}

bool IsUtf8(const std::string& bytes) {
  const std::string text =
      Json(bytes).dump(-1, ' ', false, Json::error_handler_t::ignore);
  return Json::parse(text) == bytes;
}

Json BytesJson(const std::string& name, const std::string& bytes) {
  if (IsUtf8(bytes)) return {{name, bytes}};
  std::string encoded;
  proxy::AppendBase64(bytes, encoded);
  return {{name + "_base64", encoded}};
}

Result<std::string> KeyOf(const Json& json) {
  const Json key = json.value("key", Json());
  if (key.is_string()) return key.get<std::string>();
  const Json encoded = json.value("key_base64", Json());
  std::string bytes;
  const bool taken = encoded.is_string() &&
                     proxy::DecodeBase64(encoded.get<std::string>(), bytes);
  if (taken) return bytes;
  return Fail(
      StatusCode::kIncompatible,
      fmt::format("no key in {}",
                  json.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

}  // namespace ers::ctl
