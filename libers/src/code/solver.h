// The linear solver over GF(2^8): from any set of known block vectors, the
// combinations that give wanted ones, or the word that it cannot be done.
#ifndef ERS_CODE_SOLVER_H_
#define ERS_CODE_SOLVER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ers::code {

using Vector = std::vector<std::uint8_t>;  // over a group's data symbols

// Coefficients c with wanted[r] = sum over i of c[r][i] * known[i], one row
// per wanted vector, or nullopt if one of them lies outside the span of
// `known`. All vectors have the same length (asserted). Where several
// solutions exist, earlier known vectors are preferred and redundant ones get
// coefficient 0.
std::optional<std::vector<Vector>> Solve(std::span<const Vector> known,
                                         std::span<const Vector> wanted);

}  // namespace ers::code

#endif  // ERS_CODE_SOLVER_H_
