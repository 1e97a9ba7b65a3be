#include "bench/interface_bytes.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace ers::bench {

Result<InterfaceBytes> FindInterface(std::string_view text,
                                     const std::string& name) {
  std::istringstream lines{std::string(text)};
  std::string line;
  while (std::getline(lines, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(' ');
    if (line.substr(begin, colon - begin) != name) continue;
    // Received: bytes and seven more; then what was sent.
    std::istringstream numbers(line.substr(colon + 1));
    InterfaceBytes bytes;
    std::uint64_t skipped = 0;
    numbers >> bytes.in;
    for (int i = 0; i < 7; ++i) numbers >> skipped;
    numbers >> bytes.out;
    if (numbers) return bytes;
  }
  return Fail(StatusCode::kUnavailable,
              fmt::format("no network interface '{}' here", name));
}

Result<InterfaceBytes> ReadInterface(const std::string& name) {
  std::ifstream file("/proc/self/net/dev");
  std::ostringstream text;
  text << file.rdbuf();
  return FindInterface(text.str(), name);
}

}  // namespace ers::bench
