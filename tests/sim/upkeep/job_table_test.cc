// The table of the jobs of ersproxy, without a journal, in the simulated world.
#include "jobs/job_table.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/changing_keys.h"
#include "metrics/event_log.h"
#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_world.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"

namespace ers::sim {
namespace {

using proxy::Job;
using proxy::JobHost;
using proxy::JobRun;
using proxy::JobSpec;
using proxy::JobState;
using proxy::JobTable;

constexpr int kObjects = 5;

std::shared_ptr<store::ClusterState> OpenCluster(World& world) {
  ClusterOptions options;
  options.max_failures = 1;
  options.servers = world.AddServers(6);
  return store::OpenClusterState(options).value();
}

struct Fixture {
  Fixture() : session(process, OpenCluster(world), 16) {
    const std::string value(2000, 'v');
    for (int i = 0; i < kObjects; ++i) {
      const auto put = net::SyncWait(
          process, store.Put(fmt::format("k{}", i),
                             std::as_bytes(std::span(value)), PutOptions()));
      REQUIRE(put);
    }
    table.Begin(host);
  }
  // Without a journal all commands are answered at once.
  Status Create() {
    JobSpec spec;
    spec.to = "wide";
    spec.target.width = Width::kWide;
    return OutcomeOf(
        [&](const JobTable::Callback& done) { table.Create(spec, done); });
  }
  Status Command(std::uint64_t id, Status (JobRun::*command)()) {
    return OutcomeOf([&](const JobTable::Callback& done) {
      table.Command(id, command, done);
    });
  }
  Status Forget(std::uint64_t id) {
    return OutcomeOf(
        [&](const JobTable::Callback& done) { table.Forget(id, done); });
  }
  static Status OutcomeOf(
      const std::function<void(const JobTable::Callback&)>& ask) {
    std::optional<Status> status;
    ask([&status](const Result<Job>& job) {
      status = job ? Status() : job.error();
    });
    REQUIRE(status);
    return *status;
  }
  [[nodiscard]] JobState StateOf(std::uint64_t id) const {
    const std::optional<Job> job = table.Find(id);
    REQUIRE(job);
    return job->state;
  }
  void AwaitRest() {
    REQUIRE(world.RunUntil([this] { return !table.at_work(); },
                           std::chrono::seconds(60)));
  }

  World world{1};
  SimRuntime& process = world.AddProcess("daemon");
  store::Session session;
  store::Store store{
      session, {.scheme = {SchemeKind::kErs2, 4, 1, 5}, .inline_below = 0}};
  proxy::ChangingKeys changing;
  bool listing = false;
  JobTable table{process, nullptr};
  JobHost host{
      session,
      store,
      changing,
      listing,
      /*stopping=*/false,
      [this](const Job& job, bool state) { table.OnChanged(job, state); },
      [this](const Job& job, const std::function<void()>& then) {
        table.Save(job.id, [then](const Status&) { then(); });
      },
      [](const TransitionInfo&) {}};
};

TEST_CASE("a job is shown from its creation to its end, newest first") {
  Fixture f;
  REQUIRE(f.Create().ok());
  REQUIRE(f.Create().ok());
  REQUIRE(f.table.List().size() == 2);
  CHECK(f.table.List().front().id == 2);
  CHECK(f.StateOf(1) == JobState::kListing);
  CHECK_FALSE(f.table.Find(3));
  f.AwaitRest();
  CHECK(f.StateOf(1) == JobState::kDone);
  CHECK(f.StateOf(2) == JobState::kDone);
  const std::uint64_t changed =
      f.table.Find(1)->counts.changed + f.table.Find(2)->counts.changed;
  CHECK(changed == kObjects);
  const auto done = static_cast<std::size_t>(JobState::kDone);
  CHECK(f.table.totals().by_state[done] == 2);
  f.table.End();
}

TEST_CASE("what is said of a request for a job comes before what it does") {
  Fixture f;
  JobSpec spec;
  spec.to = "wide";
  spec.target.width = Width::kWide;
  proxy::EventLog& log = proxy::EventLog::OfProcess();
  f.table.Create(spec, [&log](const Result<Job>&) {
    log.Add(proxy::EventKind::kJob, LogLevel::kInfo, "asked for");
  });
  const auto newest_first = log.Last();
  REQUIRE(newest_first.size() >= 2);
  CHECK(newest_first[0].text == "job 1, to wide: listing");
  CHECK(newest_first[1].text == "asked for");
  f.AwaitRest();
  f.table.End();
}

TEST_CASE("a job is forgotten only when it has ended") {
  Fixture f;
  REQUIRE(f.Create().ok());
  CHECK(f.Forget(1).code() == StatusCode::kConflict);
  REQUIRE(f.Command(1, &JobRun::Cancel).ok());
  f.AwaitRest();
  CHECK(f.Forget(1).ok());
  CHECK_FALSE(f.table.Find(1));
  CHECK(f.Forget(1).code() == StatusCode::kNotFound);
  CHECK(f.Command(1, &JobRun::Pause).code() == StatusCode::kNotFound);
  REQUIRE(f.Create().ok());
  CHECK(f.table.Find(2));  // no id comes twice
  f.AwaitRest();
  f.table.End();
}

TEST_CASE("no more jobs are unfinished than may be") {
  Fixture f;
  for (std::size_t i = 0; i < proxy::kMaxUnfinishedJobs; ++i) {
    REQUIRE(f.Create().ok());
  }
  CHECK(f.Create().code() == StatusCode::kUnavailable);
  REQUIRE(f.Command(1, &JobRun::Cancel).ok());
  CHECK(f.Create().ok());
  f.AwaitRest();
  f.table.End();
}

TEST_CASE("a table whose host is stopping begins nothing") {
  Fixture f;
  REQUIRE(f.Create().ok());
  f.host.stopping = true;
  f.table.Stop();
  CHECK(f.Create().code() == StatusCode::kUnavailable);
  CHECK(f.Command(1, &JobRun::Pause).code() == StatusCode::kUnavailable);
  CHECK(f.Command(9, &JobRun::Pause).code() == StatusCode::kNotFound);
  f.AwaitRest();
  CHECK(f.StateOf(1) == JobState::kListing);  // it keeps its state
  f.table.End();
}

}  // namespace
}  // namespace ers::sim
