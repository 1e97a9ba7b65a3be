// Bytes that a network interface has moved.
#ifndef ERS_EVAL_BENCH_INTERFACE_BYTES_H_
#define ERS_EVAL_BENCH_INTERFACE_BYTES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "ers/status.h"

namespace ers::bench {

struct InterfaceBytes {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
};

// Of the process's own network namespace. kUnavailable: no such interface.
Result<InterfaceBytes> ReadInterface(const std::string& name);

// From the text of /proc/net/dev.
Result<InterfaceBytes> FindInterface(std::string_view text,
                                     const std::string& name);

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_INTERFACE_BYTES_H_
