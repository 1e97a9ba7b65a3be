// In what order the journal brings jobs to disk. What a kernel loses in a power
// cut no test can take away; what it was asked for can be seen.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "jobs/journal.h"
#include "unit/proxy/temporary_folder.h"

namespace ers::proxy {
namespace {

namespace fs = std::filesystem;

std::string TextOf(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Call {
  std::string name;
  std::string path;  // what was synced, or the new name
  std::string text;  // that was there at the time, of a file
  bool operator==(const Call&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Call& call) {
  return out << call.name << " " << call.path << " " << call.text;
}

// Of all threads.
class Calls {
 public:
  void Note(const std::string& name, const fs::path& path) {
    const std::lock_guard lock(mutex_);
    const bool is_file = fs::is_regular_file(path);
    calls_.push_back({name, path, is_file ? TextOf(path) : ""});
  }
  // What was noted since the last time.
  std::vector<Call> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(calls_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Call> calls_;
};

Calls& Noted() {
  static Calls calls;
  return calls;
}

}  // namespace
}  // namespace ers::proxy

// In place of libc's, for all of this program.
extern "C" int fsync(int file) {
  namespace fs = std::filesystem;
  ers::proxy::Noted().Note(
      "sync", fs::read_symlink("/proc/self/fd/" + std::to_string(file)));
  return static_cast<int>(syscall(SYS_fsync, file));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  const long done =
      syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, /*flags=*/0);
  ers::proxy::Noted().Note("rename", to);
  return static_cast<int>(done);
}

namespace ers::proxy {
namespace {

TEST_CASE("a job is whole on disk before its old form goes") {
  const TemporaryFolder folder;
  const std::string jobs = folder.Of("state/jobs");
  const std::string file = jobs + "/7.json";
  const std::unique_ptr<Journal> journal =
      std::move(Journal::Open(folder.Of("state")).value());
  Noted().Take();
  const auto into = [](std::promise<Status>& promise) {
    return [&promise](const Status& status) { promise.set_value(status); };
  };
  std::vector<Call> expected;
  const auto expect = [&](const std::string& path, const std::string& text) {
    expected.push_back({"sync", path + ".new", text});
    expected.push_back({"rename", path, text});
    expected.push_back({"sync", jobs, ""});
  };
  const auto save = [&](const std::string& text) {
    std::promise<Status> saved;
    journal->Save(7, text, into(saved));
    CHECK(saved.get_future().get().ok());
  };
  save("first");
  // Its id, so that none comes twice, before the job.
  expect(jobs + "/last-id", "7\n");
  expect(file, "first");
  CHECK(Noted().Take() == expected);

  save("second");
  expected.clear();
  expect(file, "second");
  CHECK(Noted().Take() == expected);

  std::promise<Status> removed;
  journal->Remove(7, into(removed));
  CHECK(removed.get_future().get().ok());
  CHECK_FALSE(fs::exists(file));
  CHECK(Noted().Take() == std::vector<Call>{{"sync", jobs, ""}});
}

}  // namespace
}  // namespace ers::proxy
