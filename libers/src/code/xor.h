// XOR of whole blocks: the products whose coefficients are all ones.
#ifndef ERS_CODE_XOR_H_
#define ERS_CODE_XOR_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace ers::code {

// output[0..bytes) = the sum of all inputs (zeros if there are none), or with
// `add` output += that sum. Any alignment and length; `output` aliases no
// input. Any thread.
void XorBlocks(std::span<const std::uint8_t* const> inputs,
               std::uint8_t* output, std::size_t bytes, bool add);

}  // namespace ers::code

#endif  // ERS_CODE_XOR_H_
