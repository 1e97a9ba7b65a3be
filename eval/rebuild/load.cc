// rebuild-load: stores objects, reads them, or the blocks that a rebuild would
// read, and rebuilds. One line of JSON each; `measure` runs it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "cli/usage.h"
#include "ers/options.h"
#include "ers/value.h"
#include "net/event_loop.h"
#include "net/task.h"
#include "plan/planners.h"
#include "store/blocks/plan_executor.h"
#include "store/format/object_map.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/membership/view_loader.h"
#include "store/objects/store.h"
#include "store/replicas/replica_set.h"
#include "store/support/step_timer.h"
#include "store/upkeep/backfill.h"

namespace ers::eval {
namespace {

using net::Task;
using Seconds = std::chrono::duration<double>;

struct Arguments {
  std::string servers;
  std::string scheme = "ers2:4,1,5";
  int max_failures = 1;
  int objects = 1024;
  std::uint64_t bytes = 1 << 20;
  int parallel = 8;
  int rounds = 3;
  std::string lost;  // names of the servers whose blocks are to be read for
};

double Median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  const auto middle =
      samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

std::string KeyOf(int number) { return fmt::format("object{}", number); }

class Load {
 public:
  Load(const Arguments& arguments, std::shared_ptr<store::ClusterState> cluster,
       const ClientOptions& client)
      : arguments_(arguments),
        session_(*loop_, std::move(cluster), 64),
        store_(session_, client) {}

  Status Put() {
    std::mt19937_64 random(1);
    std::vector<std::uint64_t> value(arguments_.bytes / sizeof(std::uint64_t));
    for (int i = 0; i < arguments_.objects; ++i) {
      for (std::uint64_t& word : value) word = random();
      const Result<ObjectInfo> put = net::SyncWait(
          *loop_, store_.Put(KeyOf(i), std::as_bytes(std::span(value)), {}));
      if (!put) return put.error();
    }
    return {};
  }

  // The manifests first: they count for nothing.
  Status Read() {
    Status status = net::SyncWait(*loop_, store::EnsureView(session_, 0));
    for (int i = 0; status.ok() && i < arguments_.objects; ++i) {
      store::ReplicaSet chain(session_, KeyOf(i));
      const auto manifest = net::SyncWait(*loop_, chain.ReadPrimary());
      if (!manifest) return manifest.error();
      manifests_.push_back(*manifest);
    }
    if (!status.ok()) return status;
    const net::TimePoint begin = loop_->Now();
    net::SyncWait(*loop_, ReadAll());
    const double spent = Seconds(loop_->Now() - begin).count();
    fmt::print("{{\"seconds\":{},\"bytes_read\":{}}}\n", spent, bytes_read_);
    return status_;
  }

  // All objects in turn, several times: those that have a block to decode and
  // those that have not are met in one run, in random order.
  Status Get() {
    std::vector<double> normal;
    std::vector<double> degraded;
    std::vector<int> order(static_cast<std::size_t>(arguments_.objects));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(1);
    Value value;
    // The first round meets the manifests, and the servers that are out.
    for (int round = 0; round <= arguments_.rounds; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      for (const int number : order) {
        const std::string key = KeyOf(number);
        const net::TimePoint begin = loop_->Now();
        const auto got = net::SyncWait(*loop_, store_.Get(key, value));
        if (!got) return got.error();
        const double spent = Seconds(loop_->Now() - begin).count();
        if (round > 0) (got->degraded ? degraded : normal).push_back(spent);
      }
    }
    fmt::print(
        "{{\"normal_ms\":{},\"degraded_ms\":{},\"normal\":{},"
        "\"degraded\":{}}}\n",
        Median(normal) * 1e3, Median(degraded) * 1e3, normal.size(),
        degraded.size());
    return {};
  }

  Status Rebuild() {
    store::StepTimer steps(*loop_);
    store::BackfillCounters counters;
    store::BackfillTerms terms;
    terms.parallel = arguments_.parallel;
    terms.counters = &counters;
    terms.steps = &steps;
    Status status = net::SyncWait(*loop_, store::EnsureView(session_, 0));
    if (!status.ok()) return status;
    net::SyncWait(*loop_, store::MissRestarted(session_));
    const net::TimePoint begin = loop_->Now();
    const Result<store::BackfillReport> report =
        net::SyncWait(*loop_, store::Backfill(session_, {}, terms));
    if (!report) return report.error();
    const double spent = Seconds(loop_->Now() - begin).count();
    const auto seconds = [&steps](store::RequestStep step) {
      return Seconds(steps.spent(step)).count();
    };
    fmt::print(
        "{{\"seconds\":{},\"bytes_read\":{},\"bytes_written\":{},"
        "\"blocks\":{},\"backfilled\":{},\"lost\":{},\"decoding_s\":{},"
        "\"checksums_s\":{},\"reading_s\":{},\"writing_s\":{}}}\n",
        spent, counters.bytes_read.Get(), counters.bytes_written.Get(),
        report->blocks, report->members.size(), report->lost,
        seconds(store::RequestStep::kDecode) +
            seconds(store::RequestStep::kParity),
        seconds(store::RequestStep::kSplit), seconds(store::RequestStep::kRead),
        seconds(store::RequestStep::kDistribute));
    return {};
  }

 private:
  Task<void> ReadAll() {
    net::Latch latch(*loop_, arguments_.parallel);
    for (int i = 0; i < arguments_.parallel; ++i) net::Spawn(Work(latch));
    co_await latch;
  }

  Task<void> Work(net::Latch& latch) {
    while (next_ < manifests_.size() && status_.ok()) {
      const store::ObjectMap map(manifests_[next_++]);
      for (int group = 0; group < map.groups(); ++group) {
        Status status = co_await ReadGroup(map, group);
        if (!status.ok()) status_ = std::move(status);
      }
    }
    latch.CountDown();
  }

  [[nodiscard]] bool IsLost(int member) const {
    return arguments_.lost.find(session_.member_name(member)) !=
           std::string::npos;
  }

  // What a rebuild of the lost servers' blocks reads, and nothing else.
  Task<Status> ReadGroup(const store::ObjectMap& map, int group) {
    std::vector<layout::BlockId> lost;
    for (const layout::BlockId block :
         map.geometry().StoredBlocks(map.width())) {
      if (IsLost(map.MemberOf(group, block))) lost.push_back(block);
    }
    if (lost.empty()) co_return Status();
    store::BlockBuffers buffers(session_.buffers(), map, group);
    const store::BlockGroup of{session_, map, group, nullptr};
    store::PlanExecutor run(of, buffers, nullptr);
    const store::Planner planner = [&](const plan::Missing&) {
      std::optional<plan::Plan> plan =
          plan::PlanRebuild(map.geometry(), map.width(), lost, {});
      plan->steps.clear();
      plan->writes.clear();
      return plan;
    };
    Status status = co_await run.Run(planner);
    bytes_read_ += run.traffic().bytes_read;
    co_return status;
  }

  const Arguments& arguments_;
  const std::unique_ptr<net::Runtime> loop_ = net::NewEventLoop();
  store::Session session_;
  store::Store store_;
  std::vector<std::shared_ptr<const store::Manifest>> manifests_;
  std::size_t next_ = 0;
  std::uint64_t bytes_read_ = 0;
  Status status_;
};

Status Run(const Arguments& arguments, const std::string& command) {
  ClusterOptions options;
  options.servers = arguments.servers;
  options.max_failures = arguments.max_failures;
  // What is read is counted: nothing twice where the machine stands still.
  options.hedge_percent = 0;
  auto cluster = store::OpenClusterState(options);
  if (!cluster) return cluster.error();
  const Result<Scheme> scheme = ParseScheme(arguments.scheme);
  if (!scheme) return scheme.error();
  ClientOptions client;
  client.scheme = *scheme;
  Load load(arguments, std::move(*cluster), client);
  if (command == "put") return load.Put();
  if (command == "get") return load.Get();
  return command == "read" ? load.Read() : load.Rebuild();
}

int Main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("The work of measure.", "rebuild-load");
  app.add_option("--servers", arguments.servers, "host:port,...")
      ->envname("ERS_SERVERS")
      ->required();
  app.add_option("--scheme", arguments.scheme)->capture_default_str();
  app.add_option("--max-failures", arguments.max_failures)
      ->capture_default_str();
  app.add_option("--objects", arguments.objects)->capture_default_str();
  app.add_option("--bytes", arguments.bytes, "Of each")->capture_default_str();
  app.add_option("--parallel", arguments.parallel, "Objects at a time")
      ->capture_default_str();
  app.add_option("--rounds", arguments.rounds, "Of get")->capture_default_str();
  app.add_option("--lost", arguments.lost, "For read: host:port,...");
  app.fallthrough();  // of those that follow
  app.add_subcommand("put", "Stores the objects");
  app.add_subcommand("read", "Reads what a rebuild reads");
  app.add_subcommand("get", "Reads all values, some of them decoded");
  app.add_subcommand("rebuild", "Fills all servers that are out and answer");
  app.require_subcommand(1, 1);
  const std::optional<int> ended = cli::Parse(app, argc, argv);
  if (ended) return *ended;
  const Status status =
      Run(arguments, app.get_subcommands().front()->get_name());
  if (status.ok()) return 0;
  fmt::print(stderr, "rebuild-load: {}\n", status.message());
  return 1;
}

}  // namespace
}  // namespace ers::eval

int main(int argc, char** argv) { return ers::eval::Main(argc, argv); }
