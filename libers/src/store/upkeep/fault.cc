#include <iterator>

#include "ers/verify.h"

namespace ers {

std::string_view FaultName(Fault fault) {
  constexpr std::string_view kNames[] = {
      "missing",      "corrupt",         "parity-mismatch", "never-stored",
      "out-of-reach", "replicas-differ", "unreadable"};
  static_assert(std::size(kNames) == kFaults);
  return kNames[static_cast<std::size_t>(fault)];
}

}  // namespace ers
