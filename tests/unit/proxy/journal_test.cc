// Jobs on disk.
#include "jobs/journal.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>

#include "config/state_dir.h"
#include "unit/proxy/temporary_folder.h"

namespace ers::proxy {
namespace {

namespace fs = std::filesystem;

JournalEntry Entry(std::uint64_t id) {
  JournalEntry entry;
  entry.job.id = id;
  entry.job.spec.target = ParseTransitionTarget("wide").value();
  return entry;
}

Status Save(Journal& journal, const JournalEntry& entry) {
  std::promise<Status> saved;
  journal.Save(entry.job.id, JournalText(entry),
               [&saved](const Status& status) { saved.set_value(status); });
  return saved.get_future().get();
}

Status Remove(Journal& journal, std::uint64_t id) {
  std::promise<Status> removed;
  journal.Remove(
      id, [&removed](const Status& status) { removed.set_value(status); });
  return removed.get_future().get();
}

std::vector<std::uint64_t> Ids(const Journal& journal) {
  std::vector<std::uint64_t> ids;
  for (const JournalEntry& entry : journal.entries()) {
    ids.push_back(entry.job.id);
  }
  return ids;
}

std::unique_ptr<Journal> Open(const std::string& folder) {
  return std::move(Journal::Open(folder).value());
}

std::string WhyNot(const std::string& folder) {
  const Result<std::unique_ptr<Journal>> journal = Journal::Open(folder);
  return journal ? "" : journal.error().message();
}

TEST_CASE("the journal gives back what was saved last") {
  const TemporaryFolder folder;
  const std::string state = folder.Of("state");
  {
    const std::unique_ptr<Journal> journal = Open(state);
    CHECK(Ids(*journal).empty());
    CHECK(journal->highest_id() == 0);
    for (const std::uint64_t id : {2, 10, 3}) {
      CHECK(Save(*journal, Entry(id)).ok());
    }
    JournalEntry later = Entry(10);
    later.job.state = JobState::kPaused;
    CHECK(Save(*journal, later).ok());
    CHECK(Remove(*journal, 3).ok());
    CHECK(Remove(*journal, 3).ok());  // as good as done
  }
  const std::unique_ptr<Journal> journal = Open(state);
  CHECK(Ids(*journal) == std::vector<std::uint64_t>{2, 10});
  CHECK(journal->highest_id() == 10);
  CHECK(journal->entries()[1].job.state == JobState::kPaused);
  CHECK_FALSE(fs::exists(state + "/jobs/10.json.new"));
}

TEST_CASE("what was asked for is done before the journal ends") {
  const TemporaryFolder folder;
  int done = 0;
  {
    const std::unique_ptr<Journal> journal = Open(folder.Of("state"));
    for (std::uint64_t id = 1; id <= 20; ++id) {
      journal->Save(id, JournalText(Entry(id)),
                    [&done](const Status& status) { done += status.ok(); });
    }
  }
  CHECK(done == 20);
  CHECK(Open(folder.Of("state"))->entries().size() == 20);
}

TEST_CASE("no id comes twice, whatever became of its job") {
  const TemporaryFolder folder;
  const std::string state = folder.Of("state");
  const auto highest = [&] { return Open(state)->highest_id(); };
  SECTION("forgotten") {
    const std::unique_ptr<Journal> journal = Open(state);
    CHECK(Save(*journal, Entry(1)).ok());
    CHECK(Save(*journal, Entry(7)).ok());
    CHECK(Save(*journal, Entry(1)).ok());
    CHECK(Remove(*journal, 7).ok());
  }
  SECTION("set aside, and then removed by hand") {
    CHECK(Save(*Open(state), Entry(7)).ok());
    std::ofstream(state + "/jobs/7.json") << "{";
    CHECK(Ids(*Open(state)).empty());
    CHECK(highest() == 7);
    fs::remove(state + "/jobs/7.json.broken");
  }
  SECTION("set aside by a version that kept no last id") {
    fs::create_directories(state + "/jobs");
    std::ofstream(state + "/jobs/7.json.broken") << "{";
    CHECK(highest() == 7);
    fs::remove(state + "/jobs/7.json.broken");
  }
  SECTION("the last id is damaged") {
    CHECK(Save(*Open(state), Entry(7)).ok());
    const std::string text = GENERATE("", "9", "x\n", "-9\n", "9 \n");
    std::ofstream(state + "/jobs/last-id") << text;
  }
  CHECK(highest() == 7);
  CHECK(highest() == 7);
}

TEST_CASE("damaged files are set aside, and foreign ones left alone") {
  const TemporaryFolder folder;
  const std::string jobs = folder.Of("state/jobs/");
  fs::create_directories(jobs);
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(jobs + name) << text;
  };
  write("1.json", JournalText(Entry(1)));
  write("2.json", "{");
  write("3.json", JournalText(Entry(4)));
  write("5.json", R"({"format": 2})");
  write("6.json.new", JournalText(Entry(6)));
  write("x.json", "{");
  write("README", "hello");
  const std::unique_ptr<Journal> journal = Open(folder.Of("state"));
  CHECK(Ids(*journal) == std::vector<std::uint64_t>{1});
  CHECK(journal->highest_id() == 5);
  for (const char* name : {"1.json", "2.json.broken", "3.json.broken", "5.json",
                           "x.json", "README"}) {
    CHECK(fs::exists(jobs + name));
  }
  for (const char* name : {"2.json", "3.json", "6.json", "6.json.new"}) {
    CHECK_FALSE(fs::exists(jobs + name));
  }
}

TEST_CASE("what is no file is left where it is, and the others are taken up") {
  const TemporaryFolder folder;
  const std::string state = folder.Of("state");
  {
    CHECK(Save(*Open(state), Entry(1)).ok());
  }
  fs::create_directory(state + "/jobs/300.json");
  REQUIRE(mkfifo((state + "/jobs/7.json").c_str(), 0600) == 0);
  // No id that could ever be one.
  std::ofstream(state + "/jobs/18446744073709551615.json") << "{}";
  const std::unique_ptr<Journal> journal = Open(state);
  CHECK(Ids(*journal) == std::vector<std::uint64_t>{1});
  CHECK(journal->highest_id() == 300);
  CHECK(fs::is_directory(state + "/jobs/300.json"));
}

TEST_CASE("a folder is locked, and what cannot be one is refused by name") {
  const TemporaryFolder folder;
  const std::string state = folder.Of("state");
  {
    const std::unique_ptr<Journal> journal = Open(state);
    CHECK(WhyNot(state).find("another ersproxy uses it") != std::string::npos);
  }
  CHECK(WhyNot(state).empty());
  std::ofstream(folder.Of("file")) << "x";
  CHECK(WhyNot(folder.Of("file")).find("it is no folder") != std::string::npos);
  CHECK(WhyNot(folder.Of("a/b")).find("make one") != std::string::npos);
  CHECK(CheckStateDir(folder.Of("fresh")).ok());
  CHECK(CheckStateDir(folder.Of("fresh/")).ok());
  CHECK_FALSE(fs::exists(folder.Of("fresh")));
  CHECK_FALSE(CheckStateDir("").ok());
}

TEST_CASE("a journal that cannot be written says where and why") {
  const TemporaryFolder folder;
  const std::unique_ptr<Journal> journal = Open(folder.Of("state"));
  fs::rename(folder.Of("state/jobs"), folder.Of("state/away"));
  const Status status = Save(*journal, Entry(1));
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK(status.message().find("jobs/last-id.new: cannot be opened") !=
        std::string::npos);
  fs::rename(folder.Of("state/away"), folder.Of("state/jobs"));
  CHECK(Save(*journal, Entry(1)).ok());
}

}  // namespace
}  // namespace ers::proxy
