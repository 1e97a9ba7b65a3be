#include "config/read_value.h"

namespace ers::proxy {

Status ReadText(const YamlValue& value, std::string& into) {
  Result<std::string> text = value.Text();
  if (!text) return text.error();
  into = std::move(*text);
  return {};
}

Status ReadInlineBelow(const YamlValue& value, std::size_t& into) {
  const Result<std::string> text = value.Text();
  if (!text || *text != "auto") {
    return ReadNumber(value, 0, kMaxInlineBelow, into);
  }
  into = kInlineAuto;
  return {};
}

Status ReadScheme(const YamlValue& value, Scheme& into) {
  const Result<std::string> text = value.Text();
  if (!text) return text.error();
  const Result<Scheme> scheme = ParseScheme(*text);
  Status status = scheme ? ValidateStoredScheme(*scheme) : scheme.error();
  if (!status.ok()) return value.Refuse(status.message());
  into = *scheme;
  return {};
}

}  // namespace ers::proxy
