// TemporaryFile: a file with this text while it lives.
#ifndef ERS_TESTS_UNIT_PROXY_TEMPORARY_FILE_H_
#define ERS_TESTS_UNIT_PROXY_TEMPORARY_FILE_H_

#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <string_view>

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text) {
    const int file = mkstemp(name_.data());
    REQUIRE(file >= 0);
    close(file);
    std::ofstream(name_) << text;
  }
  ~TemporaryFile() { unlink(name_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_ = "/tmp/ers-config-test-XXXXXX";
};

#endif  // ERS_TESTS_UNIT_PROXY_TEMPORARY_FILE_H_
