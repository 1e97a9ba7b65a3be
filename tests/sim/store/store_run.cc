#include "sim/store/store_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "sim/store/client_process.h"
#include "sim/store/server_watch.h"
#include "sim/store/stored_state.h"
#include "sim/store/workload.h"
#include "store/wakeup.h"

namespace ers::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kFirstAddress = 11;  // two digits: sorted by name as by number
constexpr Duration kPatience = minutes(20);
constexpr Duration kLateReaders = seconds(130);
constexpr Duration kFillEvery = milliseconds(20);

// Owns all that a run is made of, in the order in which it must go.
class Driver {
 public:
  Driver(std::uint64_t seed, Profile profile, bool trace)
      : world_(seed),
        scenario_(DrawScenario(world_.random(), profile)),
        trace_(trace) {
    world_.network().latency_max = scenario_.latency;
    ModelServerOptions options;
    options.item_size_max = scenario_.item_size_max;
    for (int i = 0; i < scenario_.servers; ++i) {
      world_.AddServer(fmt::format("10.0.0.{}:11211", kFirstAddress + i),
                       options);
    }
    watch_ = std::make_unique<ServerWatch>(world_, scenario_, trace);
    workload_ = std::make_unique<Workload>(world_, scenario_, trace);
  }

  StoreRun Run();

  // Something of it can never end: it may not be destroyed.
  [[nodiscard]] bool stuck() const { return stuck_; }

 private:
  void StartProcess();
  net::Task<void> FillMembers(std::shared_ptr<ClientProcess> process);
  void KillProcess();
  bool RunUntilIdle();
  void ReadAllAtTheEnd();
  void Collect(StoreRun& run);

  World world_;
  const Scenario scenario_;
  const bool trace_;
  std::unique_ptr<ServerWatch> watch_;
  std::unique_ptr<Workload> workload_;
  std::shared_ptr<ClientProcess> process_;
  std::unique_ptr<FaultPlan> faults_;
  int processes_ = 0;
  int filling_ = 0;      // processes that do
  bool ending_ = false;  // no more is filled
  int clients_ = 0;
  std::set<int> killed_clients_;
  std::set<int> living_clients_;
  std::vector<Violation> violations_;
  bool stuck_ = false;
};

void Driver::StartProcess() {
  SimRuntime& runtime = world_.AddProcess(fmt::format("p{}", processes_++));
  process_ =
      std::make_shared<ClientProcess>(runtime, world_, scenario_, trace_);
  watch_->Follow(process_.get());
  for (int i = 0; i < scenario_.clients; ++i) {
    const int client = clients_++;
    living_clients_.insert(client);
    net::Spawn(workload_->Run(*process_, client));
  }
  if (scenario_.fills) {
    filling_ = 1;
    net::Spawn(FillMembers(process_));
  }
}

// Looks again and again who is out and answers.
net::Task<void> Driver::FillMembers(std::shared_ptr<ClientProcess> process) {
  while (!ending_) {
    const auto nap = store::Wakeup::New(process->runtime());
    co_await nap->Wait(kFillEvery);
    for (int i = 0; i < scenario_.servers && !ending_; ++i) {
      const std::shared_ptr<const store::View> view = process->view();
      if (!view || view->members[static_cast<std::size_t>(i)].state ==
                       MemberState::kFull) {
        continue;
      }
      store::FillTerms terms;
      terms.parallel = 2;
      (void)co_await process->store(0).Fill(i, terms);
    }
  }
  --filling_;
}

void Driver::KillProcess() {
  process_->runtime().Kill();
  workload_->Forget(workload_->running());
  killed_clients_.merge(living_clients_);
  living_clients_.clear();
  watch_->Follow(nullptr);
  ParkForever(std::exchange(process_, nullptr));
  StartProcess();
}

bool Driver::RunUntilIdle() {
  const bool ended = world_.RunUntil(
      [this] {
        return workload_->running() == 0 && (!ending_ || filling_ == 0);
      },
      kPatience);
  if (ended) return true;
  stuck_ = true;
  for (const Operation& operation : workload_->history().operations()) {
    const bool open = operation.ending == Ending::kOpen &&
                      !killed_clients_.contains(operation.client);
    if (!open) continue;
    violations_.push_back(Breach(Invariant::kEverythingEnds, operation.key,
                                 Describe(operation) + " does not end"));
  }
  return false;
}

// Within M faults, what was healed must serve again.
void Driver::ReadAllAtTheEnd() {
  const std::size_t before = workload_->history().operations().size();
  const int sessions = std::min(scenario_.sessions, scenario_.clients);
  for (int i = 0; i < sessions; ++i) {
    net::Spawn(workload_->ReadAll(*process_, clients_++));
  }
  if (!RunUntilIdle() || scenario_.scope == FaultScope::kBeyond) return;
  const auto& operations = workload_->history().operations();
  for (std::size_t i = before; i < operations.size(); ++i) {
    if (operations[i].ending != Ending::kFailed) continue;
    violations_.push_back(
        Breach(Invariant::kEverythingEnds, operations[i].key,
               Describe(operations[i]) + " though the faults are over"));
  }
}

void Driver::Collect(StoreRun& run) {
  const auto add = [&run](const std::vector<Violation>& more) {
    run.violations.insert(run.violations.end(), more.begin(), more.end());
  };
  add(watch_->violations());
  add(workload_->violations());
  add(violations_);
  if (!stuck_) {
    add(CheckParity(world_, scenario_, *watch_));
    if (scenario_.scope == FaultScope::kNone) {
      add(CheckNothingLeftOver(world_, scenario_, *watch_));
    }
  }
  run.faults = faults_->windows();
  CheckOptions options;
  // The promise is for servers that do not evict, and not for plain items.
  options.values_may_vanish =
      scenario_.scope == FaultScope::kBeyond ||
      (scenario_.exports && scenario_.scope != FaultScope::kNone) ||
      std::any_of(run.faults.begin(), run.faults.end(), [](const auto& fault) {
        return fault.kind == FaultKind::kEvict;
      });
  options.cas_may_repeat = scenario_.exports;
  options.killed_clients = killed_clients_;
  if (stuck_) {
    options.killed_clients.insert(living_clients_.begin(),
                                  living_clients_.end());
  }
  add(Check(workload_->history(), options));
  run.scenario = scenario_;
  run.history = workload_->history();
  run.trace_hash = world_.trace_hash();
  run.events = world_.events();
}

StoreRun Driver::Run() {
  // About as long as the clients will take.
  const Duration one =
      std::max<Duration>(std::chrono::microseconds(400), scenario_.latency / 2);
  const Duration pauses = (scenario_.pause - Scenario().pause) / 8;
  const Duration span =
      scenario_.operations * (one + pauses / scenario_.clients);
  FaultPlan::ProcessFaults process_faults;
  process_faults.pause = [this](Duration length) {
    process_->runtime().PauseFor(length);
  };
  process_faults.view = [this] { return process_->view(); };
  process_faults.kill = [this] {
    if (workload_->operations_left() > 0) KillProcess();
  };
  faults_ = std::make_unique<FaultPlan>(world_, scenario_, span,
                                        std::move(process_faults));
  StartProcess();
  StoreRun run;
  if (RunUntilIdle()) {
    faults_->Heal();
    // Connections are tried again after a backoff of a second at most.
    world_.RunUntil([] { return false; }, seconds(3));
    ending_ = true;
    ReadAllAtTheEnd();
  }
  if (!stuck_) world_.RunUntil([] { return false; }, kLateReaders);
  Collect(run);
  return run;
}

}  // namespace

StoreRun RunStore(std::uint64_t seed, Profile profile, bool trace) {
  auto driver = std::make_shared<Driver>(seed, profile, trace);
  StoreRun run = driver->Run();
  if (driver->stuck()) ParkForever(std::move(driver));
  return run;
}

}  // namespace ers::sim
