// Numbers as memcached reads them from a command line.
#ifndef ERS_TESTS_SIM_WORLD_MODEL_PARSE_H_
#define ERS_TESTS_SIM_WORLD_MODEL_PARSE_H_

#include <charconv>
#include <cstdint>
#include <string_view>

namespace ers::sim {

inline constexpr std::size_t kMaxKeyBytes = 250;
inline constexpr std::string_view kBadFormat =
    "CLIENT_ERROR bad command line format";
inline constexpr std::string_view kBadToken =
    "CLIENT_ERROR bad token in command line format";

// The whole text must be the number; a minus is refused where T is unsigned.
template <typename T>
[[nodiscard]] bool ParseNumber(std::string_view text, T* number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && stop == end;
}

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_WORLD_MODEL_PARSE_H_
