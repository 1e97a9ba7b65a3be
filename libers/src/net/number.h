// ParseNumber: the whole of a text as a number.
#ifndef ERS_NET_NUMBER_H_
#define ERS_NET_NUMBER_H_

#include <charconv>
#include <string_view>
#include <system_error>

namespace ers::net {

// False, with `number` unspecified, unless all of `text` is a decimal number
// that fits (with a leading '-' where T is signed). Any thread.
template <typename T>
bool ParseNumber(std::string_view text, T* number) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto result = std::from_chars(begin, end, *number);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace ers::net

#endif  // ERS_NET_NUMBER_H_
