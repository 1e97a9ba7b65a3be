#include "config/read_value.h"

namespace ers::proxy {

Status ReadText(const YamlValue& value, std::string& into) {
  Result<std::string> text = value.Text();
  if (!text) return text.error();
  into = std::move(*text);
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
