#include "config/read_value.h"

#include <fmt/format.h>

namespace ers::proxy {

Status ReadText(const YamlValue& value, std::string& into) {
  Result<std::string> text = value.Text();
  if (!text) return text.error();
  into = std::move(*text);
  return {};
}

Status ReadInlineBelow(const YamlValue& value, std::size_t& into) {
  const Result<std::string> text = value.Text();
  if (text && *text == "auto") {
    into = kInlineAuto;
    return {};
  }
  Status status = ReadNumber(value, 0, kMaxInlineBelow, into);
  if (status.ok() || !text) return status;
  return value.Refuse(
      fmt::format("expected auto or a whole number from 0 to {}, found \"{}\"",
                  kMaxInlineBelow, *text));
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
