#include "metrics/process_usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace ers::proxy {
namespace {

net::Duration DurationOf(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) +
         std::chrono::microseconds(time.tv_usec);
}

std::uint64_t CountDescriptors() {
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  std::uint64_t count = 0;
  while (!error && entry != std::filesystem::directory_iterator()) {
    ++count;
    entry.increment(error);
  }
  return count > 0 ? count - 1 : 0;  // not the one that it is read by
}

}  // namespace

ProcessUsage ReadProcessUsage() {
  ProcessUsage usage;
  rusage times{};
  if (getrusage(RUSAGE_SELF, &times) == 0) {
    usage.processor_time =
        DurationOf(times.ru_utime) + DurationOf(times.ru_stime);
  }
  std::uint64_t all_pages = 0;
  std::uint64_t resident_pages = 0;
  std::ifstream file("/proc/self/statm");
  if (file >> all_pages >> resident_pages) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    usage.virtual_bytes = all_pages * page;
    usage.resident_bytes = resident_pages * page;
  }
  usage.open_descriptors = CountDescriptors();
  return usage;
}

}  // namespace ers::proxy
