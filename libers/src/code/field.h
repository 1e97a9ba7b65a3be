// Arithmetic of GF(2^8), polynomial 0x11d, on single symbols: what the solver
// and the planners need. Whole blocks go through code/kernel.h.
#ifndef ERS_CODE_FIELD_H_
#define ERS_CODE_FIELD_H_

#include <cstddef>
#include <cstdint>

namespace ers::code {

// Any thread.
std::uint8_t Product(std::uint8_t a, std::uint8_t b);
// 1 / a; a must not be 0 (asserted).
std::uint8_t Inverse(std::uint8_t a);
// target[i] += factor * source[i] for i in [0, count). `target` and `source`
// do not overlap.
void AddProduct(std::uint8_t factor, const std::uint8_t* source,
                std::uint8_t* target, std::size_t count);

}  // namespace ers::code

#endif  // ERS_CODE_FIELD_H_
