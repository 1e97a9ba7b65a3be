#include "sim/store/store_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/micros.h"
#include "sim/store/client_process.h"
#include "sim/store/replacements.h"
#include "sim/store/server_watch.h"
#include "sim/store/stored_state.h"
#include "sim/store/workload.h"
#include "store/format/planted_bug.h"
#include "store/membership/view_loader.h"
#include "store/support/wakeup.h"
#include "store/upkeep/backfill.h"
#include "store/upkeep/garbage.h"

namespace ers::sim {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kFirstAddress = 11;  // two digits: sorted by name as by number
constexpr Duration kPatience = minutes(20);
constexpr Duration kLateReaders = seconds(130);
// Eight of these outlast a stub.
constexpr Duration kBetweenCollections = seconds(10);
constexpr Duration kBackfillEvery = milliseconds(20);
// As often as a daemon does.
constexpr Duration kProbeEvery = milliseconds(500);
// Whatever was lost, no later than this all goes on: 20 s after all can reach
// all. A process that starts in the midst of it may have to wait for leases
// twice, 5 s each time.
constexpr Duration kGoesOnWithin = kLongestCut + seconds(20);

// About as long as the clients will take.
Duration SpanOf(const Scenario& scenario) {
  const Duration one =
      std::max<Duration>(std::chrono::microseconds(400), scenario.latency / 2);
  const Duration pauses = (scenario.pause - Scenario().pause) / 8;
  return scenario.operations *
         (one + pauses / (scenario.clients * scenario.processes));
}

// So that a second, with which objects expire, begins while clients are at it.
std::int64_t WallStart(std::uint64_t seed, const Scenario& scenario) {
  constexpr std::int64_t kFirstSecond = 1'700'000'001;
  SeededRandom random(seed * 11 + 5);
  const Duration early = random.Between(
      Duration{}, std::min<Duration>(seconds(1), SpanOf(scenario)));
  return kFirstSecond * kMicrosPerSecond -
         std::chrono::duration_cast<std::chrono::microseconds>(early).count();
}

// Of a clock that is wrong.
Duration DrawSkew(SeededRandom& random) {
  return random.Between(-hours(1), hours(1));
}

// Owns all that a run is made of, in the order in which it must go.
class Driver {
 public:
  Driver(std::uint64_t seed, Profile profile, bool trace)
      : world_(seed),
        scenario_(DrawScenario(world_.random(), profile)),
        clocks_(seed * 17 + 3),
        stops_(seed * 19 + 7),
        packs_(seed * 23 + 13) {
    world_.network().latency_max = scenario_.latency;
    store::impatient = seed % 2 == 0;
    store::asks_any = seed % 3 != 0;
    world_.StartWallAt(WallStart(seed, scenario_));
    ModelServerOptions options;
    options.item_size_max = scenario_.item_size_max;
    options.evicted_after_s = scenario_.bumps_lru ? 1 : 0;
    // As many servers as may be out are wrong, if the others are more.
    const int wrong = scenario_.clocks ? std::min(scenario_.max_failures,
                                                  (scenario_.servers - 1) / 2)
                                       : 0;
    for (int i = 0; i < scenario_.servers; ++i) {
      options.clock_ahead = {};
      if (i < wrong) {
        options.clock_ahead =
            std::chrono::duration_cast<seconds>(DrawSkew(clocks_));
      }
      world_.AddServer(fmt::format("10.0.0.{}:11211", kFirstAddress + i),
                       options);
    }
    watch_ = std::make_unique<ServerWatch>(world_, scenario_, trace);
    if (scenario_.stops_in_changes) {
      watch_->on_view_command = [this](SimRuntime& process) {
        StopNowAndThen(process);
      };
    }
    replacements_ = std::make_unique<Replacements>(world_, scenario_, *watch_,
                                                   std::move(options));
    workload_ = std::make_unique<Workload>(world_, scenario_, trace);
  }

  // Processes that end still send something, and are not to be watched any
  // more.
  ~Driver() { watch_.reset(); }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  StoreRun Run();

  // Something of it can never end: it may not be destroyed.
  [[nodiscard]] bool stuck() const { return stuck_; }

 private:
  // A process, and its clients that are not known to have been killed.
  struct Running {
    std::shared_ptr<ClientProcess> process;
    std::set<int> clients;
  };

  [[nodiscard]] std::string ServerList();
  [[nodiscard]] FaultPlan::ProcessFaults MakeProcessFaults();
  void StepClocks();
  void StopNowAndThen(SimRuntime& process);
  void StartProcess();
  net::Task<void> Backfill(std::shared_ptr<ClientProcess> process);
  net::Task<void> ProbeServers(std::shared_ptr<ClientProcess> process);
  void KillProcess(Running& running);
  Running& AnyProcess();
  [[nodiscard]] bool Rests(const ClientProcess& process) const {
    return world_.now() < process.rests_until();
  }
  net::Task<void> CollectAgainAndAgain(std::shared_ptr<ClientProcess> process);
  net::Task<void> PackAgainAndAgain(std::shared_ptr<ClientProcess> process);
  bool RunUntilIdle();
  void ReadAll();
  void ReadAllAtTheEnd();
  void CollectGarbageAtTheEnd();
  [[nodiscard]] History WithKeepings() const;
  void Collect(StoreRun& run);

  World world_;
  const Scenario scenario_;
  std::unique_ptr<ServerWatch> watch_;
  std::unique_ptr<Replacements> replacements_;
  std::unique_ptr<Workload> workload_;
  std::vector<Running> running_;
  std::unique_ptr<FaultPlan> faults_;
  SeededRandom clocks_;
  SeededRandom stops_;
  SeededRandom packs_;
  int stops_left_ = 6;
  int processes_ = 0;    // ever
  int filling_ = 0;      // processes that do
  int collecting_ = 0;   // garbage: the same
  int packing_ = 0;      // small values: the same
  int probing_ = 0;      // for servers that came back: the same
  bool ended_ = false;   // no process probes any more
  bool ending_ = false;  // no more is backfilled, nor collected
  bool collected_ = false;
  std::int64_t collected_us_ = 0;  // by the time of the one that did
  int clients_ = 0;
  std::set<int> killed_clients_;
  std::vector<Violation> violations_;
  bool stuck_ = false;
};

// As the cluster was set up; or with those that have taken others' places.
std::string Driver::ServerList() {
  const std::shared_ptr<const store::View> view = watch_->view();
  const bool new_list = view && scenario_.replaces &&
                        scenario_.scope == FaultScope::kWithin &&
                        world_.random().Below(2) == 0;
  std::string list;
  for (int i = 0; i < scenario_.servers; ++i) {
    const SimServer& server =
        new_list ? watch_->ServerOf(i)
                 : *world_.servers()[static_cast<std::size_t>(i)];
    list += (list.empty() ? "" : ",") + server.name();
  }
  return list;
}

// Of a process, now and then.
void Driver::StepClocks() {
  if (!running_.empty()) {
    AnyProcess().process->runtime().set_wall_skew(DrawSkew(clocks_));
  }
  if (ending_) return;
  world_.After(clocks_.Between({}, SpanOf(scenario_) / 4),
               [this] { StepClocks(); });
}

void Driver::StopNowAndThen(SimRuntime& process) {
  constexpr std::uint64_t kOneIn = 8;
  const bool stops = stops_left_ > 0 && !ending_ && stops_.Below(kOneIn) == 0;
  if (!stops) return;
  --stops_left_;
  process.PauseFor(stops_.Between(milliseconds(600), milliseconds(3000)));
}

void Driver::StartProcess() {
  SimRuntime& runtime = world_.AddProcess(fmt::format("p{}", processes_++));
  if (scenario_.clocks) runtime.set_wall_skew(DrawSkew(clocks_));
  Running& running = running_.emplace_back();
  running.process =
      std::make_shared<ClientProcess>(runtime, ServerList(), scenario_);
  watch_->Follow(running.process.get());
  for (int i = 0; i < scenario_.clients; ++i) {
    const int client = clients_++;
    running.clients.insert(client);
    net::Spawn(workload_->Run(*running.process, client));
  }
  if (scenario_.fills) {
    ++filling_;
    net::Spawn(Backfill(running.process));
  }
  if (scenario_.loses) {
    ++probing_;
    net::Spawn(ProbeServers(running.process));
  }
  if (scenario_.grace.count() > 0) {
    ++collecting_;
    net::Spawn(CollectAgainAndAgain(running.process));
  }
  if (scenario_.packs) {
    ++packing_;
    net::Spawn(PackAgainAndAgain(running.process));
  }
}

net::Task<void> Driver::PackAgainAndAgain(
    std::shared_ptr<ClientProcess> process) {
  while (!ending_) {
    const auto nap = store::Wakeup::New(process->runtime());
    co_await nap->Wait(packs_.Between({}, SpanOf(scenario_) / 8));
    if (!process->view() || Rests(*process)) continue;
    co_await workload_->Pack(*process);
  }
  --packing_;
}

net::Task<void> Driver::CollectAgainAndAgain(
    std::shared_ptr<ClientProcess> process) {
  while (!ending_) {
    const auto nap = store::Wakeup::New(process->runtime());
    co_await nap->Wait(scenario_.grace);
    if (!process->view() || Rests(*process)) continue;
    store::GarbageTerms terms;
    terms.options.grace = scenario_.grace;
    terms.parallel = 2;
    (void)co_await store::CollectGarbage(process->session(), terms);
  }
  --collecting_;
}

// Probes again and again which servers are out and answer.
net::Task<void> Driver::Backfill(std::shared_ptr<ClientProcess> process) {
  while (!ending_) {
    const auto nap = store::Wakeup::New(process->runtime());
    co_await nap->Wait(kBackfillEvery);
    for (int i = 0; i < scenario_.servers && !ending_; ++i) {
      const std::shared_ptr<const store::View> view = process->view();
      if (!view || Rests(*process) ||
          view->members[static_cast<std::size_t>(i)].InSync()) {
        continue;
      }
      store::BackfillTerms terms;
      terms.parallel = 2;
      std::vector<int> members = {i};
      (void)co_await store::Backfill(process->session(), std::move(members),
                                     terms);
    }
  }
  --filling_;
}

net::Task<void> Driver::ProbeServers(std::shared_ptr<ClientProcess> process) {
  while (!ended_) {
    const auto nap = store::Wakeup::New(process->runtime());
    co_await nap->Wait(kProbeEvery);
    if (Rests(*process)) continue;
    const Status known = co_await store::EnsureView(process->session());
    if (!process->view() || !known.ok()) continue;
    co_await store::MissRestarted(process->session());
  }
  --probing_;
}

void Driver::KillProcess(Running& running) {
  running.process->runtime().Kill();
  if (scenario_.loses) --probing_;
  if (scenario_.fills) --filling_;
  if (scenario_.grace.count() > 0) --collecting_;
  if (scenario_.packs) --packing_;
  workload_->Forget(running.process.get());
  watch_->Leave(running.process.get());
  killed_clients_.merge(running.clients);
  const ClientProcess* killed = running.process.get();
  ParkForever(std::move(running.process));
  running = std::move(running_.back());
  running_.pop_back();
  StartProcess();
  replacements_->PassOn(killed, [this] { return AnyProcess().process; });
}

Driver::Running& Driver::AnyProcess() {
  return running_[world_.random().Below(running_.size())];
}

bool Driver::RunUntilIdle() {
  const bool ended = world_.RunUntil(
      [this] {
        return workload_->running() == 0 &&
               (!ending_ || (filling_ + collecting_ + packing_ == 0 &&
                             !replacements_->running()));
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

// By each session of each process.
void Driver::ReadAll() {
  const int sessions = std::min(scenario_.sessions, scenario_.clients);
  for (const Running& running : running_) {
    for (int i = 0; i < sessions; ++i) {
      net::Spawn(workload_->ReadAll(*running.process, clients_++));
    }
  }
}

// Within f faults, what was healed must serve again.
void Driver::ReadAllAtTheEnd() {
  // A session finds by its first calls what its own connections have missed.
  // Where more than f have lost their memory, it waits for leases then.
  if (scenario_.loses) {
    ReadAll();
    if (!RunUntilIdle()) return;
    world_.RunUntil([] { return false; }, seconds(5));
  }
  const std::size_t before = workload_->history().operations().size();
  ReadAll();
  const bool serves = scenario_.scope != FaultScope::kBeyond || scenario_.loses;
  if (!RunUntilIdle() || !serves) return;
  const auto& operations = workload_->history().operations();
  for (std::size_t i = before; i < operations.size(); ++i) {
    if (operations[i].ending != Ending::kFailed) continue;
    violations_.push_back(
        Breach(Invariant::kEverythingEnds, operations[i].key,
               Describe(operations[i]) + " though the faults are over"));
  }
}

// Nothing is written any more: whatever was staged for nothing is old enough.
void Driver::CollectGarbageAtTheEnd() {
  ClientProcess& process = *AnyProcess().process;
  Result<GarbageReport> report =
      Fail(StatusCode::kUnavailable, "it does not end");
  bool ended = false;
  net::Spawn([](store::Session& session, bool packs,
                Result<GarbageReport>& into, bool& done) -> net::Task<void> {
    store::GarbageTerms terms;
    terms.options.grace = {};
    // A server that turns out to have another memory leaves in the first one,
    // or, where its connection is just being tried again, in a later one. What
    // has ended goes in one, and its pack in the next.
    int all_listed = 0;
    for (int i = 0; i < 8 && all_listed < (packs ? 2 : 1); ++i) {
      into = co_await store::CollectGarbage(session, terms);
      // A change that gave up by the run's short G is tried again; of a pack
      // that was never stored there may be a stub, which says no key and lives
      // for a minute.
      const bool again = packs && into && !into->why.ok();
      if (into && into->silent == 0 && !again) ++all_listed;
      if (!again) continue;
      const auto nap = store::Wakeup::New(session.runtime());
      co_await nap->Wait(kBetweenCollections);
    }
    done = true;
  }(process.session(), scenario_.packs, report, ended));
  stuck_ = !world_.RunUntil([&ended] { return ended; }, kPatience);
  // What was flushed is dropped behind it, that of late readers by and by.
  if (!stuck_) world_.RunUntil([] { return false; }, seconds(5));
  const Status why = report ? report->why : report.error();
  collected_ = why.ok();
  collected_us_ = process.session().WallMicros();
  bool all_up = true;
  bool any_out = false;
  const std::shared_ptr<const store::View> view = process.view();
  for (int i = 0; view && i < scenario_.servers; ++i) {
    const bool down =
        view->members[static_cast<std::size_t>(i)].state == MemberState::kDown;
    all_up = all_up && (down || watch_->IsMember(i));
    any_out = any_out || down;
  }
  // What no server can decide stays: of manifests that are damaged everywhere,
  // and where a server has died that no process has missed yet.
  if (collected_ || scenario_.scope == FaultScope::kBeyond || !all_up ||
      why.code() == StatusCode::kCorruption) {
    return;
  }
  // A pack of a scheme with a smaller m than f is read to be dropped: not
  // before its servers are back.
  if (scenario_.packs && any_out && why.code() == StatusCode::kUnavailable) {
    return;
  }
  violations_.push_back(
      Breach(Invariant::kGarbageOnly, "", "garbage is left: " + why.message()));
}

// A flush with a time to come may leave what was changed behind that time, also
// by none of the clients.
History Driver::WithKeepings() const {
  constexpr int kNoClient = -1;
  History history = workload_->history();
  for (const ServerWatch::Keeping& keeping : watch_->keepings()) {
    const std::uint32_t id = history.Begin(kNoClient, keeping.key,
                                           OperationKind::kKeep, keeping.first);
    history.End(id, Ending::kAcked, keeping.last);
  }
  return history;
}

void Driver::Collect(StoreRun& run) {
  run.faults = faults_->windows();
  const auto add = [&run](const std::vector<Violation>& more) {
    run.violations.insert(run.violations.end(), more.begin(), more.end());
  };
  add(watch_->violations());
  add(workload_->violations());
  add(violations_);
  if (!stuck_) add(replacements_->Check());
  if (!stuck_) {
    add(CheckParity(scenario_, *watch_));
    if (collected_) {
      add(CheckNothingLeftOver(scenario_, *watch_, collected_us_));
    }
    // Beyond f some are lost for good, and every member has missed those that
    // died.
    if (collected_ && scenario_.scope != FaultScope::kBeyond) {
      const bool may_lose = std::any_of(
          run.faults.begin(), run.faults.end(), [](const FaultWindow& fault) {
            return fault.kind == FaultKind::kEvict ||
                   fault.kind == FaultKind::kCorrupt;
          });
      add(CheckRedundancy(scenario_, *watch_, may_lose));
    }
  }
  CheckOptions options;
  // The promise is for servers that do not evict, and not for plain items.
  options.values_may_vanish =
      scenario_.scope == FaultScope::kBeyond ||
      (scenario_.exports && scenario_.scope != FaultScope::kNone) ||
      std::any_of(run.faults.begin(), run.faults.end(), [](const auto& fault) {
        return fault.kind == FaultKind::kEvict;
      });
  options.cas_may_repeat = scenario_.exports;
  options.exported_may_return =
      scenario_.exports && scenario_.scope == FaultScope::kBeyond;
  options.killed_clients = killed_clients_;
  if (stuck_) {
    for (const Running& running : running_) {
      options.killed_clients.insert(running.clients.begin(),
                                    running.clients.end());
    }
  }
  add(Check(WithKeepings(), options));
  run.scenario = scenario_;
  run.history = workload_->history();
  run.trace_hash = world_.trace_hash();
  run.events = world_.events();
}

FaultPlan::ProcessFaults Driver::MakeProcessFaults() {
  FaultPlan::ProcessFaults process_faults;
  process_faults.any = [this]() -> SimRuntime& {
    return AnyProcess().process->runtime();
  };
  process_faults.pause = [this](Duration length) {
    SimRuntime& process = AnyProcess().process->runtime();
    if (world_.random().Below(2) == 0) {
      process.PauseFor(length);
    } else {
      process.PauseBeforeWriting(length);
    }
  };
  process_faults.rest = [this](Duration length) {
    AnyProcess().process->RestUntil(world_.now() + length);
  };
  process_faults.view = [this] { return watch_->view(); };
  process_faults.kill = [this] {
    if (workload_->operations_left() > 0) KillProcess(AnyProcess());
  };
  process_faults.write_last = [this](Duration stopped) {
    SimRuntime& runtime = AnyProcess().process->runtime();
    runtime.WriteLast(stopped, [this, &runtime] {
      const auto running = std::find_if(
          running_.begin(), running_.end(), [&runtime](const Running& one) {
            return &one.process->runtime() == &runtime;
          });
      if (running == running_.end()) return;
      if (workload_->operations_left() == 0) return;
      std::uint32_t& lingers = world_.network().linger_chance;
      const std::uint32_t before = std::exchange(lingers, 1'000'000);
      KillProcess(*running);
      lingers = before;
    });
  };
  process_faults.replace = [this](SimServer& server,
                                  std::function<void()> over) {
    std::vector<std::shared_ptr<ClientProcess>> by = {AnyProcess().process};
    // Another one at the same time, as by an operator without patience.
    const auto& other = AnyProcess().process;
    if (other != by.front()) by.push_back(other);
    return replacements_->Begin(watch_->SlotOf(server), by, std::move(over));
  };
  process_faults.replacing = [this] { return replacements_->pending(); };
  process_faults.keep_all = [this] {
    return std::all_of(
        running_.begin(), running_.end(),
        [](const Running& running) { return running.process->KeepsAll(); });
  };
  process_faults.server_of = [this](int member) -> SimServer& {
    return watch_->ServerOf(member);
  };
  process_faults.servers_of = [this](int member) {
    std::vector<SimServer*> servers;
    for (const auto& server : world_.servers()) {
      if (watch_->SlotOf(*server) == member) servers.push_back(server.get());
    }
    return servers;
  };
  return process_faults;
}

StoreRun Driver::Run() {
  faults_ = std::make_unique<FaultPlan>(world_, scenario_, SpanOf(scenario_),
                                        MakeProcessFaults());
  for (int i = 0; i < scenario_.processes; ++i) StartProcess();
  if (scenario_.clocks) StepClocks();
  StoreRun run;
  if (RunUntilIdle()) {
    faults_->Heal();
    // Connections are tried again after a backoff of a second at most.
    const Duration soon = seconds(3);
    world_.RunUntil([] { return false; },
                    scenario_.loses ? kGoesOnWithin : soon);
    ending_ = true;
    // What is begun can be ended, within f faults.
    if (scenario_.scope == FaultScope::kWithin) {
      world_.RunUntil([this] { return !replacements_->pending(); },
                      seconds(30));
    }
    replacements_->End();
    ReadAllAtTheEnd();
    ended_ = true;
    if (!stuck_) {
      stuck_ = !world_.RunUntil([this] { return probing_ == 0; }, kPatience);
    }
  }
  if (!stuck_) {
    world_.RunUntil([] { return false; }, kLateReaders);
    CollectGarbageAtTheEnd();
  }
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
