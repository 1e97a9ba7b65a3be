#include "store/membership/view_keeper.h"

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

std::shared_ptr<const View> MakeView(std::uint64_t epoch, int down = -1) {
  View view;
  view.epoch = epoch;
  view.members.resize(3);
  if (down >= 0) view.members[down].state = MemberState::kDown;
  return std::make_shared<const View>(view);
}

// A keeper with view 1 in force.
struct Kept {
  ViewKeeper keeper{""};
  Kept() {
    REQUIRE(keeper.BeginChange([] {}));
    keeper.EndChange(MakeView(1));
  }
};

// Invariant V1.
TEST_CASE("writes are admitted under the view in force only") {
  ViewKeeper keeper("");
  CHECK(keeper.Current() == nullptr);
  CHECK_FALSE(keeper.BeginWrite(1, 0));
  REQUIRE(keeper.BeginChange([] {}));
  const std::uint64_t version = keeper.version();
  keeper.EndChange(MakeView(1));
  CHECK(keeper.Current()->epoch == 1);
  CHECK(keeper.version() != version);
  CHECK_FALSE(keeper.BeginWrite(2, 0));
  CHECK(keeper.BeginWrite(1, 0));
  keeper.EndWrite(0);
  REQUIRE(keeper.BeginChange([] {}));
  CHECK_FALSE(keeper.BeginWrite(1, 0));
  keeper.EndChange(nullptr);
  CHECK(keeper.Current()->epoch == 1);
  CHECK(keeper.BeginWrite(1, 0));
  keeper.EndWrite(0);
}

// Invariant V1.
TEST_CASE_METHOD(Kept,
                 "a change waits for every write but those to leaving members",
                 "") {
  REQUIRE(keeper.BeginWrite(1, 0));
  REQUIRE(keeper.BeginWrite(1, 1));
  REQUIRE(keeper.BeginWrite(1, 2));
  REQUIRE(keeper.BeginChange([] {}));
  int woken = 0;
  CHECK_FALSE(keeper.Drained({2}, [&woken] { ++woken; }));
  keeper.EndWrite(0);
  CHECK(woken == 0);
  keeper.EndWrite(1);
  CHECK(woken == 1);
  keeper.EndChange(MakeView(2, 2));
  keeper.EndWrite(2);
  CHECK(woken == 1);
  REQUIRE(keeper.BeginChange([] {}));
  CHECK(keeper.Drained({}, [] {}));
  keeper.EndChange(nullptr);
}

TEST_CASE_METHOD(Kept, "a refused write is woken when the change is over", "") {
  int woken = 0;
  CHECK(keeper.AtRest([&woken] { ++woken; }));
  REQUIRE(keeper.BeginChange([] {}));
  CHECK_FALSE(keeper.AtRest([&woken] { ++woken; }));
  CHECK(woken == 0);
  keeper.EndChange(nullptr);
  CHECK(woken == 1);
}

TEST_CASE_METHOD(Kept, "a write in doubt holds no change up, but its member",
                 "") {
  REQUIRE(keeper.BeginWrite(1, 0));
  REQUIRE(keeper.BeginWrite(1, 1));
  CHECK(keeper.MembersInDoubt().empty());
  REQUIRE(keeper.BeginChange([] {}));
  int woken = 0;
  CHECK_FALSE(keeper.Drained({}, [&woken] { ++woken; }));
  keeper.EndWrite(0);
  CHECK(keeper.PutInDoubt(1, 1));
  CHECK(woken == 1);
  CHECK(keeper.MembersInDoubt() == std::vector<int>{1});
  // The change gave up: the write is still out there.
  keeper.EndChange(nullptr);
  CHECK(keeper.MembersInDoubt() == std::vector<int>{1});
  // A change that leaves the member in keeps it on the list, too.
  REQUIRE(keeper.BeginChange([] {}));
  CHECK(keeper.Drained({}, [] {}));
  keeper.EndChange(MakeView(2, 0));
  CHECK(keeper.MembersInDoubt() == std::vector<int>{1});
  REQUIRE(keeper.BeginChange([] {}));
  keeper.EndChange(MakeView(3, 1));
  CHECK(keeper.MembersInDoubt().empty());
  REQUIRE(keeper.BeginChange([] {}));
  CHECK(keeper.Drained({}, [] {}));
  keeper.EndChange(nullptr);
}

TEST_CASE_METHOD(Kept, "a write in doubt that is resolved lets its member stay",
                 "") {
  REQUIRE(keeper.BeginWrite(1, 1));
  REQUIRE(keeper.BeginWrite(1, 1));
  const ViewKeeper::DoubtId first = *keeper.PutInDoubt(1, 1);
  const ViewKeeper::DoubtId second = *keeper.PutInDoubt(1, 1);
  keeper.Resolve(first);
  CHECK(keeper.IsInDoubt(second));
  CHECK(keeper.MembersInDoubt() == std::vector<int>{1});
  // The member leaves, and takes the other along: it belongs to no member any
  // more.
  REQUIRE(keeper.BeginChange([] {}));
  keeper.EndChange(MakeView(2, 1));
  CHECK_FALSE(keeper.IsInDoubt(second));
  REQUIRE(keeper.BeginWrite(2, 1));
  const ViewKeeper::DoubtId third = *keeper.PutInDoubt(2, 1);
  keeper.Resolve(second);
  CHECK(keeper.MembersInDoubt() == std::vector<int>{1});
  keeper.Resolve(third);
  CHECK(keeper.MembersInDoubt().empty());
  REQUIRE(keeper.BeginChange([] {}));
  CHECK(keeper.Drained({}, [] {}));
  keeper.EndChange(nullptr);
}

TEST_CASE_METHOD(Kept, "a write that outlives its view is no more than ended",
                 "") {
  REQUIRE(keeper.BeginWrite(1, 1));
  REQUIRE(keeper.BeginChange([] {}));
  REQUIRE(keeper.Drained({1}, [] {}));
  keeper.EndChange(MakeView(2, 1));
  CHECK_FALSE(keeper.PutInDoubt(1, 1));
  CHECK(keeper.MembersInDoubt().empty());
  // Nor is it waited for.
  REQUIRE(keeper.BeginChange([] {}));
  CHECK(keeper.Drained({}, [] {}));
  keeper.EndChange(nullptr);
}

TEST_CASE_METHOD(Kept, "of two changers one waits until the other is done",
                 "") {
  int woken = 0;
  REQUIRE(keeper.BeginChange([] {}));
  CHECK_FALSE(keeper.BeginChange([&woken] { ++woken; }));
  CHECK_FALSE(keeper.BeginChange([&woken] { ++woken; }));
  CHECK(woken == 0);
  // A waiter that is woken may claim the change at once.
  keeper.EndChange(MakeView(2));
  CHECK(woken == 2);
  CHECK(keeper.BeginChange([] {}));
  keeper.EndChange(nullptr);
  CHECK(woken == 2);
}

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

TEST_CASE("the state file gives back the view it was given") {
  const TemporaryFolder folder;
  const ViewKeeper keeper(folder / "state");
  const Result<View> none = keeper.ReadStateFile();
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().code() == StatusCode::kNotFound);
  View view = test::ViewExample();
  REQUIRE(keeper.WriteStateFile(view).ok());
  ++view.epoch;
  REQUIRE(keeper.WriteStateFile(view).ok());
  // A process that is behind does not take it back.
  REQUIRE(keeper.WriteStateFile(test::ViewExample()).ok());
  const Result<View> read = keeper.ReadStateFile();
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
      const ViewKeeper keeper(folder / "state");
      View view = test::ViewExample();
      for (std::uint64_t n = 0; n < kViews; ++n) {
        view.epoch = 100 + n * kWriters + i;
        if (!keeper.WriteStateFile(view).ok() || !keeper.ReadStateFile()) {
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
  const ViewKeeper keeper("");
  CHECK(keeper.WriteStateFile(test::ViewExample()).ok());
  const Result<View> none = keeper.ReadStateFile();
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().code() == StatusCode::kNotFound);
}

TEST_CASE("a state file that cannot be used is named, never passed over") {
  const TemporaryFolder folder;
  const std::string path = folder / "state";
  const ViewKeeper keeper(path);
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("\0\xff", 2),
        std::string(test::kViewText.substr(1)),
        std::string(R"({"format":2,"crc32c":0})")}) {
    CAPTURE(text);
    std::ofstream(path, std::ios::binary) << text;
    const Result<View> read = keeper.ReadStateFile();
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().code() == StatusCode::kIncompatible);
    CHECK(read.error().message().find(path) != std::string::npos);
  }
  const ViewKeeper lost(folder / "no/such/folder/state");
  const Status status = lost.WriteStateFile(test::ViewExample());
  CHECK(status.code() == StatusCode::kIncompatible);
  CHECK(status.message().find("no/such/folder/state") != std::string::npos);
}

}  // namespace
}  // namespace ers::store
