#include "store/membership/state_file.h"

#include <stdlib.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "unit/store/format/golden.h"

namespace ers::store {
namespace {

// A folder of its own, gone at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    // mkdtemp fills in the Xs.
    std::string name =
        (std::filesystem::temp_directory_path() / "view-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const char* name) const {
    return (path_ / name).string();
  }
  std::ptrdiff_t Count() const {
    return std::distance(std::filesystem::directory_iterator(path_),
                         std::filesystem::directory_iterator());
  }

 private:
  std::filesystem::path path_;
};

Status Write(const StateFile& file, const View& view) {
  Result<StateFileDraft> draft = file.Draft(view);
  return draft ? draft->Adopt() : draft.error();
}

TEST_CASE("a state file is as it was until a draft is adopted") {
  const TemporaryFolder folder;
  const StateFile file(folder / "state");
  View view = test::ViewExample();
  REQUIRE(Write(file, view).ok());
  ++view.epoch;
  {
    const Result<StateFileDraft> dropped = file.Draft(view);
    REQUIRE(dropped.has_value());
    CHECK(folder.Count() == 2);
  }
  CHECK(folder.Count() == 1);
  CHECK(EncodeView(file.Read().value()) == EncodeView(test::ViewExample()));
  // Of two drafts the later view stays, whichever is adopted last.
  View later = view;
  ++later.epoch;
  Result<StateFileDraft> one = file.Draft(later);
  Result<StateFileDraft> other = file.Draft(view);
  REQUIRE(one.has_value());
  REQUIRE(other.has_value());
  REQUIRE(one->Adopt().ok());
  REQUIRE(other->Adopt().ok());
  CHECK(EncodeView(file.Read().value()) == EncodeView(later));
}

TEST_CASE("the state file gives back the view it was given") {
  const TemporaryFolder folder;
  const StateFile file(folder / "state");
  const Result<View> none = file.Read();
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().code() == StatusCode::kNotFound);
  View view = test::ViewExample();
  REQUIRE(Write(file, view).ok());
  ++view.epoch;
  REQUIRE(Write(file, view).ok());
  // A process that is behind does not take it back.
  REQUIRE(Write(file, test::ViewExample()).ok());
  const Result<View> read = file.Read();
  REQUIRE(read.has_value());
  CHECK(EncodeView(*read) == EncodeView(view));
  CHECK(folder.Count() == 1);
}

TEST_CASE(
    "processes that write one state file at once do not disturb another") {
  const TemporaryFolder folder;
  constexpr std::uint64_t kViews = 100;
  constexpr std::uint64_t kWriters = 4;
  std::atomic<int> failures = 0;
  std::vector<std::thread> writers;
  for (std::uint64_t i = 0; i < kWriters; ++i) {
    writers.emplace_back([&folder, &failures, i] {
      const StateFile file(folder / "state");
      View view = test::ViewExample();
      for (std::uint64_t n = 0; n < kViews; ++n) {
        view.epoch = 100 + n * kWriters + i;
        if (!Write(file, view).ok() || !file.Read()) {
          ++failures;
        }
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  CHECK(failures == 0);
  CHECK(folder.Count() == 1);
}

TEST_CASE("without a state file nothing is kept and nothing is missed") {
  const StateFile file("");
  CHECK(Write(file, test::ViewExample()).ok());
  const Result<View> none = file.Read();
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().code() == StatusCode::kNotFound);
}

TEST_CASE("a state file that cannot be used is named, never passed over") {
  const TemporaryFolder folder;
  const std::string path = folder / "state";
  const StateFile file(path);
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("\0\xff", 2),
        std::string(test::kViewText.substr(1)),
        std::string(R"({"format":2,"crc32c":0})")}) {
    CAPTURE(text);
    std::ofstream(path, std::ios::binary) << text;
    const Result<View> read = file.Read();
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().code() == StatusCode::kIncompatible);
    CHECK(read.error().message().find(path) != std::string::npos);
  }
  const StateFile lost(folder / "no/such/folder/state");
  const Status status = Write(lost, test::ViewExample());
  CHECK(status.code() == StatusCode::kIncompatible);
  CHECK(status.message().find("no/such/folder/state") != std::string::npos);
}

}  // namespace
}  // namespace ers::store
