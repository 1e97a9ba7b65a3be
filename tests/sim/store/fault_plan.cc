#include "sim/store/fault_plan.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <string>
#include <utility>

#include "store/format/keys.h"

namespace ers::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kKinds = static_cast<std::size_t>(FaultKind::kCount);
constexpr auto kDrawn = static_cast<std::size_t>(FaultKind::kReplace);
constexpr std::array<std::string_view, kKinds> kNames = {
    "crash",     "restart",      "stall",        "hiccup",      "partition",
    "cut",       "lost-replies", "cut-replies",  "slow",        "evict",
    "no-memory", "corrupt",      "client-pause", "client-kill", "replace"};

// May strike servers that are no victims: nothing is lost by it, and no server
// has to leave the view.
bool IsMild(FaultKind kind, const Scenario& scenario) {
  switch (kind) {
    case FaultKind::kCut:
      // A connection that breaks while it is being made is a failed server,
      // and with many faults in a row that is no rarity.
      return !scenario.stress && !scenario.hides;
    case FaultKind::kPartition:
      return scenario.hides;
    case FaultKind::kHiccup:
    case FaultKind::kSlow:
    case FaultKind::kClientPause:
    case FaultKind::kClientKill:
      return true;
    default:
      return false;
  }
}

// Of the time that a fault lasts.
std::pair<Duration, Duration> Lengths(FaultKind kind,
                                      const Scenario& scenario) {
  switch (kind) {
    // Around the request timeout most is at stake.
    case FaultKind::kStall:
      return {milliseconds(950), milliseconds(1100)};
    case FaultKind::kPartition:
      if (scenario.hides) return {milliseconds(5), milliseconds(100)};
      return {milliseconds(500), scenario.rolls ? Duration(milliseconds(900))
                                                : Duration(seconds(8))};
    case FaultKind::kHiccup:
      // Many in a row must not add up to the 200 ms of silence that make a
      // server leave.
      return {microseconds(100), milliseconds(scenario.stress ? 40 : 90)};
    case FaultKind::kSlow:
      // Shorter than what others wait once a lease is over.
      return {microseconds(100), milliseconds(scenario.stress ? 300 : 50)};
    case FaultKind::kClientPause:
      if (scenario.scope == FaultScope::kWithin) {
        return {milliseconds(1), milliseconds(300)};
      }
      return {milliseconds(1), seconds(4)};
    case FaultKind::kRestart:
      return {microseconds(0), scenario.rolls ? Duration(milliseconds(20))
                                              : Duration(seconds(2))};
    default:
      return {microseconds(100), milliseconds(50)};
  }
}

// Of what is repaired only by its readers, too much would come together.
FaultKind Rolling(FaultKind kind) {
  switch (kind) {
    case FaultKind::kCrash:
    case FaultKind::kEvict:
    case FaultKind::kCorrupt:
    case FaultKind::kCut:
      return FaultKind::kRestart;
    default:
      return kind;
  }
}

}  // namespace

std::string_view FaultName(FaultKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

FaultPlan::FaultPlan(World& world, const Scenario& scenario, Duration span,
                     ProcessFaults process)
    : world_(world),
      scenario_(scenario),
      process_(std::move(process)),
      victims_(scenario.victims) {
  if (scenario.scope != FaultScope::kNone) Draw(span);
  if (scenario.rests) DrawRest(span);
  if (scenario.writes_last) DrawLastWrite(span);
  if (scenario.loses) DrawLosses(span);
  if (scenario.replaces) {
    SeededRandom aside = world_.random();
    const std::uint64_t count = 1 + aside.Below(3);
    for (std::uint64_t i = 0; i < count; ++i) DrawReplacement(span, aside);
  }
  if (!scenario.hides) return;
  constexpr std::uint32_t kNowAndThen = 200'000;
  for (const auto& server : world_.servers()) {
    server->faults().dump_refused_chance = kNowAndThen;
  }
}

void FaultPlan::Draw(Duration span) {
  SeededRandom& random = world_.random();
  // A server that is silent while the cluster is set up is not in it: only
  // beyond f may that be any.
  const Duration earliest = scenario_.scope == FaultScope::kWithin
                                ? milliseconds(3) + 20 * scenario_.latency
                                : Duration{};
  const bool many = scenario_.stress || scenario_.rolls || scenario_.hides;
  const std::uint64_t count = 1 + random.Below(many ? 30 : 8);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto kind = static_cast<FaultKind>(random.Below(kDrawn));
    if (scenario_.stress) {
      // The leaving of servers, and what is still under way then, is the
      // matter.
      constexpr std::array kMax = {FaultKind::kHiccup, FaultKind::kSlow,
                                   FaultKind::kCrash, FaultKind::kStall};
      if (random.Below(4) != 0) kind = kMax[random.Below(kMax.size())];
    }
    if (scenario_.hides && random.Below(2) == 0) kind = FaultKind::kPartition;
    if (scenario_.rolls) kind = Rolling(kind);
    // Where all replicas of a key are lost but one that is damaged, it stays an
    // error until the key is written anew.
    if (scenario_.loses && kind == FaultKind::kCorrupt) kind = FaultKind::kSlow;
    const auto [least, most] = Lengths(kind, scenario_);
    const Duration length = random.Between(least, most);
    world_.After(random.Between(earliest, span), [this, kind, length] {
      if (healed_) return;
      if (IsMild(kind, scenario_)) return Strike(kind, Anywhere(), length);
      StrikeVictim(kind, length);
    });
  }
}

void FaultPlan::StrikeVictim(FaultKind kind, Duration length) {
  Roll();
  // Processes hear of it a little later.
  const Duration heard = 2 * world_.network().latency_max;
  harm_ends_ = std::max(harm_ends_, world_.now() + length + heard);
  Strike(kind, Victim(), length);
}

// A process has nothing to do, until the others take it for gone and go on
// without it and without a server.
void FaultPlan::DrawRest(Duration span) {
  SeededRandom aside = world_.random();
  const Duration earliest = milliseconds(3) + 20 * scenario_.latency;
  const Duration begin = earliest + aside.Between(Duration{}, span / 2);
  const Duration length = aside.Between(seconds(5), seconds(9));
  world_.After(begin, [this, length] {
    if (!healed_) process_.rest(length);
  });
  const Duration soon = aside.Between(Duration{}, 50 * scenario_.latency);
  const auto [least, most] = Lengths(FaultKind::kRestart, scenario_);
  const Duration back = aside.Between(least, most);
  world_.After(begin + soon, [this, back] {
    if (!healed_) StrikeVictim(FaultKind::kRestart, back);
  });
}

// A server dies, and a process that is about to write: it is stopped for most
// of the time that its lease lasts, writes, and is killed. What it wrote comes
// late, while others change the view.
void FaultPlan::DrawLastWrite(Duration span) {
  SeededRandom aside = world_.random();
  const Duration earliest = milliseconds(3) + 20 * scenario_.latency;
  const Duration begin = earliest + aside.Between(Duration{}, span);
  const Duration stopped = aside.Between(milliseconds(200), milliseconds(400));
  const auto [least, most] = Lengths(FaultKind::kRestart, scenario_);
  const Duration back = aside.Between(least, most);
  world_.After(begin, [this, stopped, back] {
    if (healed_) return;
    StrikeVictim(FaultKind::kRestart, back);
    process_.write_last(stopped);
  });
}

// More than f servers die, one soon after the other, and come back empty, in
// any order. At times one of the others is cut off from a process meanwhile, or
// all die but for one that was cut off from every process before, and knows
// nothing of what was changed without it.
void FaultPlan::DrawLosses(Duration span) {
  SeededRandom aside = world_.random();
  const std::uint64_t losses = 1 + aside.Below(3);
  for (std::uint64_t i = 0; i < losses; ++i) {
    const Duration begin = aside.Between(milliseconds(20), span);
    if (aside.Below(3) == 0) {
      DrawLossOfOthers(begin, aside);
    } else {
      DrawLoss(begin, aside);
    }
  }
}

// One of a loss. What has begun goes on also where faults stop meanwhile: where
// no more than f were lost, nothing would say that their blocks are.
void FaultPlan::LoseAt(Duration dies, std::uint64_t server, Duration length,
                       const std::shared_ptr<bool>& begun) {
  world_.After(dies, [this, server, length, begun] {
    SimServer& victim = process_.server_of(static_cast<int>(server));
    if (healed_ && !*begun) return;
    *begun = true;
    Strike(FaultKind::kRestart, victim, length);
  });
}

void FaultPlan::DrawLoss(Duration begin, SeededRandom& aside) {
  const auto servers = static_cast<std::uint64_t>(scenario_.servers);
  const auto least = static_cast<std::uint64_t>(scenario_.max_failures) + 1;
  std::uint64_t count = least + aside.Below(servers - least + 1);
  const auto begun = std::make_shared<bool>(false);
  for (std::uint64_t server = 0; server < servers; ++server) {
    // `count` of those that are left, each as likely.
    if (aside.Below(servers - server) >= count) continue;
    --count;
    const Duration dies = begin + aside.Between(Duration{}, milliseconds(300));
    LoseAt(dies, server, aside.Between(milliseconds(1), seconds(3)), begun);
  }
  if (aside.Below(2) == 0) return;
  const Duration length = aside.Between(milliseconds(1), kLongestCut);
  world_.After(begin, [this, length] {
    if (healed_) return;
    SimServer& server = Anywhere();
    SimRuntime& process = process_.any();
    server.SetReachableFrom(process, false);
    world_.After(length, [&server, &process] {
      server.SetReachableFrom(process, true);
    });
  });
}

void FaultPlan::DrawLossOfOthers(Duration begin, SeededRandom& aside) {
  const auto servers = static_cast<std::uint64_t>(scenario_.servers);
  const std::uint64_t stays = aside.Below(servers);
  // Half of the time the others are back before that one is, and what was sent
  // to it by what they have lost arrives after that.
  const bool soon = aside.Below(2) == 0;
  const Duration cut = soon ? aside.Between(milliseconds(50), milliseconds(400))
                            : aside.Between(seconds(1), seconds(3));
  const Duration dying = milliseconds(soon ? 30 : 300);
  const Duration others = begin + cut;
  const Duration back =
      soon ? aside.Between(milliseconds(550), milliseconds(900))
           : Duration(milliseconds(100));
  world_.After(begin, [this, stays] {
    if (!healed_) {
      process_.server_of(static_cast<int>(stays)).SetReachable(false);
    }
  });
  world_.After(others + dying + back, [this, stays] {
    process_.server_of(static_cast<int>(stays)).SetReachable(true);
  });
  const auto begun = std::make_shared<bool>(false);
  for (std::uint64_t server = 0; server < servers; ++server) {
    if (server == stays) continue;
    const Duration dies = others + aside.Between(Duration{}, dying);
    const Duration most = soon ? Duration(milliseconds(40)) : seconds(1);
    LoseAt(dies, server, aside.Between(milliseconds(1), most), begun);
  }
  // So that, mostly, no process is left that knows the newest view.
  const int kills = soon ? 1 : 5;
  for (int i = 0; i < kills; ++i) {
    world_.After(others + dying + milliseconds(10 + i), [this] {
      if (!healed_) Strike(FaultKind::kClientKill, Anywhere(), {});
    });
  }
}

// Of a server that is up, or has just died; at times the process that replaces
// it dies, too.
void FaultPlan::DrawReplacement(Duration span, SeededRandom& aside) {
  const Duration earliest = milliseconds(3) + 20 * scenario_.latency;
  const Duration begin = earliest + aside.Between(Duration{}, span);
  const bool dead = aside.Below(2) == 0;
  const Duration later =
      dead ? aside.Between(Duration{}, milliseconds(100)) : Duration{};
  world_.After(begin, [this, dead, later] {
    if (healed_) return;
    Roll();
    SimServer& victim = Victim();
    if (dead) Strike(FaultKind::kCrash, victim, {});
    world_.After(later, [this, &victim] {
      if (!healed_) Strike(FaultKind::kReplace, victim, {});
    });
  });
  if (aside.Below(2) == 0) return;
  const Duration soon = aside.Between(Duration{}, 40 * scenario_.latency);
  world_.After(begin + later + soon, [this] {
    if (!healed_) Strike(FaultKind::kClientKill, Anywhere(), {});
  });
}

// Has a process begun to change the view?
bool FaultPlan::IsChanging(const store::View& view) const {
  const auto& servers = world_.servers();
  return std::any_of(servers.begin(), servers.end(), [&](const auto& server) {
    const ModelItem* item = server->items().Find(store::kViewKey);
    if (item == nullptr) return false;
    const Result<store::View> there = store::DecodeView(item->value);
    return there && there->epoch > view.epoch;
  });
}

// All members are in sync, with the memory that they have now.
bool FaultPlan::AllIsWell() const {
  const std::shared_ptr<const store::View> view = process_.view();
  if (!view || view->NotInSync() > 0 || world_.now() < harm_ends_) return false;
  if (IsChanging(*view) || process_.replacing() || !process_.keep_all()) {
    return false;
  }
  for (std::size_t i = 0; i < view->members.size(); ++i) {
    SimServer& server = process_.server_of(static_cast<int>(i));
    const ModelItem* mark = server.items().Find(store::kBootKey);
    if (!server.up() || mark == nullptr ||
        !view->members[i].boot_mark.ends_with("/" + mark->value)) {
      return false;
    }
  }
  return true;
}

// Others are the victims from now on, if those before them are whole again.
void FaultPlan::Roll() {
  if (!scenario_.rolls || !AllIsWell()) return;
  std::vector<int> members(static_cast<std::size_t>(scenario_.servers));
  std::iota(members.begin(), members.end(), 0);
  for (std::size_t i = 0; i < victims_.size(); ++i) {
    std::swap(members[i],
              members[i + world_.random().Below(members.size() - i)]);
    victims_[i] = members[i];
  }
}

SimServer& FaultPlan::Anywhere() {
  const auto& servers = world_.servers();
  return *servers[world_.random().Below(servers.size())];
}

SimServer& FaultPlan::Victim() {
  const int victim = victims_[world_.random().Below(victims_.size())];
  SimServer& server = process_.server_of(victim);
  const std::vector<SimServer*> all = process_.servers_of(victim);
  if (all.size() == 1 || world_.random().Below(4) != 0) return server;
  return *all[world_.random().Below(all.size())];
}

void FaultPlan::Strike(FaultKind kind, SimServer& server, Duration length) {
  constexpr std::uint32_t kOften = 300'000;
  const TimePoint begin = world_.now();
  TimePoint end = begin + length;
  const auto then = [this, length](std::function<void()> undo) {
    world_.After(length, std::move(undo));
  };
  ServerFaults& faults = server.faults();
  switch (kind) {
    case FaultKind::kCrash:
      server.Crash();
      end = TimePoint::max();
      break;
    case FaultKind::kRestart:
      server.Crash();
      then([&server] { server.Restart(); });
      break;
    case FaultKind::kStall:
    case FaultKind::kHiccup:
      server.Stall();
      then([&server] { server.Continue(); });
      break;
    case FaultKind::kPartition:
      if (scenario_.hides) {
        SimRuntime& process = process_.any();
        server.SetReachableFrom(process, false);
        then([&server, &process] { server.SetReachableFrom(process, true); });
        break;
      }
      server.SetReachable(false);
      then([&server] { server.SetReachable(true); });
      break;
    case FaultKind::kCut:
      server.CutConnections();
      break;
    case FaultKind::kLostReplies:
      faults.drop_reply_chance = kOften;
      then([&faults] { faults.drop_reply_chance = 0; });
      break;
    case FaultKind::kCutReplies:
      faults.cut_reply_chance = kOften;
      then([&faults] { faults.cut_reply_chance = 0; });
      break;
    case FaultKind::kSlow:
      // Or one connection alone: others are not behind what it carries.
      if (scenario_.stress) {
        server.DelayOne(length);
        break;
      }
      faults.slow_max = milliseconds(20);
      then([&faults] { faults.slow_max = Duration{}; });
      break;
    case FaultKind::kEvict:
      server.EvictRandom(1 + world_.random().Below(4));
      break;
    case FaultKind::kNoMemory:
      faults.out_of_memory_chance = kOften;
      then([&faults] { faults.out_of_memory_chance = 0; });
      break;
    case FaultKind::kCorrupt:
      Corrupt(server);
      break;
    case FaultKind::kClientPause:
      process_.pause(length);
      break;
    case FaultKind::kClientKill:
      process_.kill();
      break;
    case FaultKind::kReplace: {
      const std::size_t window = windows_.size();
      const bool begun = process_.replace(
          server, [this, window] { windows_[window].end = world_.now(); });
      if (!begun) return;
      end = TimePoint::max();
      break;
    }
    case FaultKind::kCount:
      break;
  }
  windows_.push_back({kind, begin, end});
}

void FaultPlan::Corrupt(SimServer& server) {
  SeededRandom& random = world_.random();
  const std::vector<std::string> keys = server.items().LiveKeys();
  if (keys.empty()) return;
  std::string& value =
      server.items().Find(keys[random.Below(keys.size())])->value;
  // Behind magic and version: an item that is not ours, or newer, is reported
  // as such, whatever it was before.
  const std::size_t spared = value.starts_with("eRSp") ? 5 : 4;
  if (value.size() <= spared) return;
  // It would not be noticed: a plain item has no checksum.
  if (!value.starts_with("eR")) return;
  char& byte = value[spared + random.Below(value.size() - spared)];
  byte = static_cast<char>(byte ^ (1 << random.Below(8)));
}

void FaultPlan::Heal() {
  healed_ = true;
  for (const auto& server : world_.servers()) {
    server->faults() = ServerFaults();
    server->SetReachable(true);
    server->Continue();
    if (scenario_.loses && !server->up()) server->Restart();
  }
}

}  // namespace ers::sim
