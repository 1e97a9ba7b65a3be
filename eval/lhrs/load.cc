// lhrs-load: makes a file of records, searches it, and adds parity to it, one
// record at a time or several. One line of JSON each; `measure` runs it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "bench/plain_client.h"
#include "cli/usage.h"
#include "ers/options.h"
#include "ers/value.h"
#include "net/event_loop.h"
#include "net/task.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"
#include "store/support/step_timer.h"

namespace ers::eval {
namespace {

using net::Task;
using Seconds = std::chrono::duration<double>;

struct Arguments {
  std::string servers;
  std::string scheme = "rs:4,1";
  int max_failures = 3;
  int records = 1000;
  std::uint64_t bytes = 4096;
  int in_flight = 1;
  std::string to;  // of parity
};

// As rebuild-load names them, which recovers what is stored here.
std::string KeyOf(int number) { return fmt::format("object{}", number); }

std::vector<std::uint64_t> RandomValue(const Arguments& arguments) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> value(arguments.bytes / sizeof(std::uint64_t));
  for (std::uint64_t& word : value) word = random();
  return value;
}

class Load {
 public:
  using Operation = std::function<Task<Status>(int number)>;

  Load(const Arguments& arguments, std::shared_ptr<store::ClusterState> cluster,
       const ClientOptions& client)
      : arguments_(arguments),
        session_(*loop_, std::move(cluster), 1 << 16),
        plain_(session_, client),
        steps_(*loop_),
        store_(plain_, steps_) {}

  Status Create() {
    const std::vector<std::uint64_t> value = RandomValue(arguments_);
    const auto bytes = std::as_bytes(std::span(value));
    return Report([this, bytes](int number) -> Task<Status> {
      const std::string key = KeyOf(number);
      const PutOptions options;
      const Result<ObjectInfo> put = co_await store_.Put(key, bytes, options);
      co_return put ? Status() : put.error();
    });
  }

  // Records at random; what servers have under their keys is known then.
  Status Search() {
    const Operation search = [this](int /*number*/) -> Task<Status> {
      const std::string key = KeyOf(
          std::uniform_int_distribution(0, arguments_.records - 1)(random_));
      Value value;
      const Result<GetInfo> got = co_await store_.Get(key, value);
      co_return got ? Status() : got.error();
    };
    Status status = RunAll([this](int number) -> Task<Status> {
      const std::string key = KeyOf(number);
      Value value;
      const Result<GetInfo> got = co_await plain_.Get(key, value);
      co_return got ? Status() : got.error();
    });
    return status.ok() ? Report(search) : status;
  }

  Status Parity() {
    const Result<TransitionTarget> target =
        ParseTransitionTarget(arguments_.to);
    if (!target) return target.error();
    return Report([this, to = *target](int number) -> Task<Status> {
      const std::string key = KeyOf(number);
      const Result<TransitionInfo> moved =
          co_await store_.Transition(key, to, TransitionVariant::kOptimal);
      if (!moved) co_return moved.error();
      bytes_read_ += moved->bytes_read;
      bytes_written_ += moved->bytes_written;
      co_return Status();
    });
  }

 private:
  Status Report(const Operation& operation) {
    const net::TimePoint begin = loop_->Now();
    Status status = RunAll(operation);
    if (!status.ok()) return status;
    const auto spent = [this](store::RequestStep step) {
      return Seconds(steps_.spent(step)).count();
    };
    fmt::print(
        "{{\"seconds\":{},\"process_s\":{},\"bytes_read\":{},"
        "\"bytes_written\":{}}}\n",
        Seconds(loop_->Now() - begin).count(),
        spent(store::RequestStep::kParity) + spent(store::RequestStep::kSplit) +
            spent(store::RequestStep::kDecode),
        bytes_read_, bytes_written_);
    return {};
  }

  Status RunAll(const Operation& operation) {
    next_ = 0;
    net::SyncWait(*loop_, RunWorkers(operation));
    return status_;
  }

  Task<void> RunWorkers(const Operation& operation) {
    net::Latch latch(*loop_, arguments_.in_flight);
    for (int i = 0; i < arguments_.in_flight; ++i) {
      net::Spawn(Work(operation, latch));
    }
    co_await latch;
  }

  Task<void> Work(const Operation& operation, net::Latch& latch) {
    while (next_ < arguments_.records && status_.ok()) {
      Status status = co_await operation(next_++);
      if (!status.ok()) status_ = std::move(status);
    }
    latch.CountDown();
  }

  const Arguments& arguments_;
  const std::unique_ptr<net::Runtime> loop_ = net::NewEventLoop();
  store::Session session_;
  store::Store plain_;
  store::StepTimer steps_;
  store::Store store_;  // takes the time of steps
  std::mt19937_64 random_{1};
  int next_ = 0;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t bytes_written_ = 0;
  Status status_;
};

// The file without parity: each record whole on one server, one after the
// other, by libmemcached.
Status CreatePlain(const Arguments& arguments) {
  auto client = bench::PlainClient::Open(arguments.servers);
  if (!client) return client.error();
  const std::vector<std::uint64_t> value = RandomValue(arguments);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < arguments.records; ++i) {
    const std::size_t server =
        static_cast<std::size_t>(i) % (*client)->server_count();
    Status set =
        (*client)->Set(server, KeyOf(i), std::as_bytes(std::span(value)));
    if (!set.ok()) return set;
  }
  fmt::print("{{\"seconds\":{},\"process_s\":0}}\n",
             Seconds(std::chrono::steady_clock::now() - begin).count());
  return {};
}

Status Run(const Arguments& arguments, const std::string& command) {
  if (command == "create-plain") return CreatePlain(arguments);
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
  client.inline_below = 0;
  client.column_below = 0;
  Load load(arguments, std::move(*cluster), client);
  if (command == "create") return load.Create();
  return command == "search" ? load.Search() : load.Parity();
}

int Main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("The work of measure.", "lhrs-load");
  app.add_option("--servers", arguments.servers, "host:port,...")
      ->envname("ERS_SERVERS")
      ->required();
  app.add_option("--scheme", arguments.scheme)->capture_default_str();
  app.add_option("--max-failures", arguments.max_failures)
      ->capture_default_str();
  app.add_option("--records", arguments.records)
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  app.add_option("--bytes", arguments.bytes, "Of each")->capture_default_str();
  app.add_option("--in-flight", arguments.in_flight, "Records at a time")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  app.add_option("--to", arguments.to, "For parity: a scheme");
  app.fallthrough();  // of those that follow
  app.add_subcommand("create", "Stores the records");
  app.add_subcommand("create-plain", "Stores them by libmemcached, one copy");
  app.add_subcommand("search", "Reads as many records, drawn at random");
  app.add_subcommand("parity",
                     "Brings all records to a scheme with more or "
                     "less parity");
  app.require_subcommand(1, 1);
  const std::optional<int> ended = cli::Parse(app, argc, argv);
  if (ended) return *ended;
  const Status status =
      Run(arguments, app.get_subcommands().front()->get_name());
  if (status.ok()) return 0;
  fmt::print(stderr, "lhrs-load: {}\n", status.message());
  return 1;
}

}  // namespace
}  // namespace ers::eval

int main(int argc, char** argv) { return ers::eval::Main(argc, argv); }
