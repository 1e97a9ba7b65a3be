// TemporaryFolder: a folder that goes with all that is in it.
#ifndef ERS_TESTS_UNIT_PROXY_TEMPORARY_FOLDER_H_
#define ERS_TESTS_UNIT_PROXY_TEMPORARY_FOLDER_H_

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name =
        std::filesystem::temp_directory_path() / "ers-journal-XXXXXX";
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string Of(const std::string& name) const {
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

#endif  // ERS_TESTS_UNIT_PROXY_TEMPORARY_FOLDER_H_
