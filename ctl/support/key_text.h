// Keys as ersctl takes and prints them. Clients may have stored some that no
// command line and no list can hold.
#ifndef ERS_CTL_SUPPORT_KEY_TEXT_H_
#define ERS_CTL_SUPPORT_KEY_TEXT_H_

#include <string>
#include <string_view>

#include "ctl/support/report.h"

namespace ers::ctl {

// The key, or "base64:..." where it is no word of a line, or begins so itself.
std::string KeyText(std::string_view key);
// The other way round. Empty, or what is wrong with `text`.
std::string TakeKey(std::string& text);
bool IsUtf8(const std::string& bytes);
// {NAME: bytes}, or {NAME_base64: ...} where they are no UTF-8.
Json BytesJson(const std::string& name, const std::string& bytes);
// Of {"key": ...} or {"key_base64": ...}; kIncompatible where there is neither.
Result<std::string> KeyOf(const Json& json);
inline Json KeyJson(std::string_view key) {
  return BytesJson("key", std::string(key));
}

}  // namespace ers::ctl

#endif  // ERS_CTL_SUPPORT_KEY_TEXT_H_
