// What every fuzz target says when a property does not hold.
#ifndef ERS_TESTS_FUZZ_REQUIRE_H_
#define ERS_TESTS_FUZZ_REQUIRE_H_

#include <cstdio>
#include <cstdlib>

namespace ers::fuzz {

// Ends the process, which is what the fuzzer searches for.
inline void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace ers::fuzz

#endif  // ERS_TESTS_FUZZ_REQUIRE_H_
