#include "sim/store/replacements.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "store/support/wakeup.h"
#include "store/upkeep/replace.h"

namespace ers::sim {
namespace {

constexpr Duration kTryAgainAfter = std::chrono::milliseconds(50);
constexpr Duration kLookEvery = std::chrono::milliseconds(20);

// The same host, another port: sorted by name its slot stays where it is.
std::string NextName(const World& world, const std::string& name) {
  const std::string host = name.substr(0, name.find(':'));
  constexpr std::size_t kFirstPort = 11211;
  return fmt::format("{}:{}", host, kFirstPort + world.servers().size());
}

}  // namespace

bool Replacements::Begin(int slot, const std::vector<Process>& by,
                         std::function<void()> over) {
  const bool busy = std::any_of(
      all_.begin(), all_.end(),
      [slot](const auto& one) { return one->slot == slot && !one->done; });
  if (busy) return false;
  auto one = std::make_unique<Replacement>();
  SimServer& before = watch_.ServerOf(slot);
  one->before = &before;
  one->after = &world_.AddServer(NextName(world_, before.name()), options_);
  one->slot = slot;
  one->over = std::move(over);
  watch_.Listen(*one->after, slot);
  all_.push_back(std::move(one));
  for (const Process& process : by) Start(*all_.back(), process);
  return true;
}

void Replacements::Start(Replacement& one, const Process& process) {
  one.by.insert(process.get());
  net::Spawn(Run(process, one));
}

void Replacements::PassOn(const ClientProcess* killed,
                          const std::function<Process()>& other) {
  for (const auto& one : all_) {
    if (one->by.erase(killed) > 0 && one->by.empty()) Start(*one, other());
  }
}

net::Task<void> Replacements::Run(Process process, Replacement& one) {
  bool done = false;
  while (!done && !one.refused && !ending_) {
    const Status status = co_await store::ReplaceServer(
        process->session(), one.before->name(), one.after->name());
    done = status.ok();
    one.why_not = status.message();
    const bool restart = status.code() == StatusCode::kInvalidArgument;
    one.refused = restart && &watch_.ServerOf(one.slot) == one.after;
    if (done || one.refused) break;
    if (restart) RestartEmpty(one);
    const auto nap = store::Wakeup::New(process->runtime());
    co_await nap->Wait(kTryAgainAfter);
  }
  one.done = one.done || done;
  if (done) co_await AwaitInSync(process, one);
  one.by.erase(process.get());
}

// As the error says: it was given the place by a view that never came into
// force.
void Replacements::RestartEmpty(Replacement& one) {
  world_.After({}, [&one] {
    if (!one.after->up()) return;
    one.after->Crash();
    one.after->Restart();
  });
}

net::Task<void> Replacements::AwaitInSync(Process process, Replacement& one) {
  while (!ending_ && one.over && scenario_.fills) {
    if (&watch_.ServerOf(one.slot) != one.after) co_return;
    if (watch_.IsInSync(one.slot)) {
      std::exchange(one.over, nullptr)();
      co_return;
    }
    const auto nap = store::Wakeup::New(process->runtime());
    co_await nap->Wait(kLookEvery);
  }
}

bool Replacements::pending() const {
  return std::any_of(all_.begin(), all_.end(), [](const auto& one) {
    return !one->done && !one->refused && one->after->up();
  });
}

bool Replacements::running() const {
  return std::any_of(all_.begin(), all_.end(),
                     [](const auto& one) { return !one->by.empty(); });
}

std::vector<Violation> Replacements::Check() const {
  std::vector<Violation> violations;
  if (scenario_.scope == FaultScope::kBeyond) return violations;
  std::set<int> slots;
  for (auto it = all_.rbegin(); it != all_.rend(); ++it) {
    const Replacement& one = **it;
    const std::string what = fmt::format("{} in the place of {}",
                                         one.after->name(), one.before->name());
    // One that answers is let go only while all others are in sync.
    const bool must = one.after->up() && !one.before->up();
    if (!one.done && (one.refused || must)) {
      violations.push_back(
          Breach(Invariant::kEverythingEnds, "",
                 fmt::format("{} was not taken: {}", what, one.why_not)));
    }
    if (!one.done || !slots.insert(one.slot).second) continue;
    if (&watch_.ServerOf(one.slot) == one.after) continue;
    violations.push_back(
        Breach(Invariant::kNothingLost, "",
               fmt::format("{}: that was done, and is no more: it is {}", what,
                           watch_.ServerOf(one.slot).name())));
  }
  return violations;
}

}  // namespace ers::sim
