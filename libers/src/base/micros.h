#ifndef ERS_BASE_MICROS_H_
#define ERS_BASE_MICROS_H_

#include <cstdint>

namespace ers {

inline constexpr std::int64_t kMicrosPerSecond = 1'000'000;

}  // namespace ers

#endif  // ERS_BASE_MICROS_H_
