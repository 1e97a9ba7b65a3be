// What a value of the file is read into: numbers, times, texts, schemes.
#ifndef ERS_PROXY_CONFIG_READ_VALUE_H_
#define ERS_PROXY_CONFIG_READ_VALUE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "config/yaml_value.h"
#include "ers/options.h"
#include "ers/scheme.h"
#include "ers/status.h"

namespace ers::proxy {

template <typename Number>
Status ReadNumber(const YamlValue& value, std::uint64_t least,
                  std::uint64_t most, Number& into) {
  const Result<std::uint64_t> number = value.Number(least, most);
  if (!number) return number.error();
  into = static_cast<Number>(*number);
  return {};
}

// In the unit of `into`.
template <typename Rep, typename Period>
Status ReadNumber(const YamlValue& value, std::uint64_t least,
                  std::uint64_t most,
                  std::chrono::duration<Rep, Period>& into) {
  Rep count = 0;
  Status status = ReadNumber(value, least, most, count);
  into = std::chrono::duration<Rep, Period>(count);
  return status;
}

// Not empty.
Status ReadText(const YamlValue& value, std::string& into);

// "auto" is kInlineAuto.
Status ReadInlineBelow(const YamlValue& value, std::size_t& into);

// One that objects can be stored with.
Status ReadScheme(const YamlValue& value, Scheme& into);

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_READ_VALUE_H_
