// GF(2^8) the slow way: shift and add, one bit at a time.
#ifndef ERS_TESTS_UNIT_CODE_REFERENCE_H_
#define ERS_TESTS_UNIT_CODE_REFERENCE_H_

#include <cstdint>

inline std::uint8_t BitwiseProduct(std::uint8_t a, std::uint8_t b) {
  int sum = 0;
  for (int bit = 0; bit < 8; ++bit) {
    if ((b >> bit) & 1) sum ^= a << bit;
  }
  for (int bit = 15; bit >= 8; --bit) {
    if ((sum >> bit) & 1) sum ^= 0x11d << (bit - 8);
  }
  return static_cast<std::uint8_t>(sum);
}

#endif  // ERS_TESTS_UNIT_CODE_REFERENCE_H_
