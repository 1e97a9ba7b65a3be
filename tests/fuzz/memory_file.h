// MemoryFile: a file without a name, of which one process has its own.
#ifndef ERS_TESTS_FUZZ_MEMORY_FILE_H_
#define ERS_TESTS_FUZZ_MEMORY_FILE_H_

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "fuzz/require.h"

namespace ers::fuzz {

class MemoryFile {
 public:
  MemoryFile()
      : number_(memfd_create("fuzz", 0)),
        name_(fmt::format("/proc/self/fd/{}", number_)) {}
  void Write(std::string_view text) const {
    Require(ftruncate(number_, 0) == 0 &&
                pwrite(number_, text.data(), text.size(), 0) ==
                    static_cast<ssize_t>(text.size()),
            "the file can be written");
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  int number_;
  std::string name_;
};

}  // namespace ers::fuzz

#endif  // ERS_TESTS_FUZZ_MEMORY_FILE_H_
