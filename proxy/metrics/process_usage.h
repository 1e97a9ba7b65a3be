// ProcessUsage: what this process takes of its machine.
#ifndef ERS_PROXY_METRICS_PROCESS_USAGE_H_
#define ERS_PROXY_METRICS_PROCESS_USAGE_H_

#include <cstdint>

#include "net/runtime.h"

namespace ers::proxy {

// A plain value; 0 where the system does not say.
struct ProcessUsage {
  net::Duration processor_time{};  // of all threads, since the start
  std::uint64_t resident_bytes = 0;
  std::uint64_t virtual_bytes = 0;
  std::uint64_t open_descriptors = 0;
};

// Any thread.
ProcessUsage ReadProcessUsage();

}  // namespace ers::proxy

#endif  // ERS_PROXY_METRICS_PROCESS_USAGE_H_
