// Mappings of a configuration file, read by tables: a key, and what it sets.
#ifndef ERS_PROXY_CONFIG_YAML_KEYS_H_
#define ERS_PROXY_CONFIG_YAML_KEYS_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/yaml_value.h"
#include "ers/status.h"

namespace ers::proxy {

// A key of a mapping and what it sets.
template <typename Into>
struct Key {
  std::string_view name;
  Status (*read)(const YamlValue& value, Into& into);
};

template <typename Into, std::size_t kCount>
Status ReadKeys(const YamlValue& mapping, const Key<Into> (&keys)[kCount],
                Into& into) {
  std::vector<std::string_view> names;
  for (const Key<Into>& key : keys) names.push_back(key.name);
  const Result<YamlValue::Entries> entries = mapping.Mapping(names);
  if (!entries) return entries.error();
  for (const auto& [name, value] : *entries) {
    const auto at = std::find(names.begin(), names.end(), name);
    Status status = keys[at - names.begin()].read(value, into);
    if (!status.ok()) return status;
    if constexpr (requires { into.places; }) {
      into.places[value.path()] = value.place();
    }
  }
  return {};
}

template <typename Number>
Status ReadNumber(const YamlValue& value, std::uint64_t least,
                  std::uint64_t most, Number& into) {
  const Result<std::uint64_t> number = value.Number(least, most);
  if (!number) return number.error();
  into = static_cast<Number>(*number);
  return {};
}

// `least` of 0: never.
inline Status ReadSeconds(const YamlValue& value, std::uint64_t least,
                          std::uint64_t most, std::chrono::seconds& into) {
  std::int64_t seconds = 0;
  Status status = ReadNumber(value, least, most, seconds);
  into = std::chrono::seconds(seconds);
  return status;
}

inline Status ReadText(const YamlValue& value, std::string& into) {
  Result<std::string> text = value.Text();
  if (!text) return text.error();
  into = std::move(*text);
  return {};
}

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_YAML_KEYS_H_
