#include "store/replicas/key_turn.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "store/format/planted_bug.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Task;

// About a commit's time on a fast network, and so many times twice that.
constexpr net::Duration kFirstNap = std::chrono::milliseconds(1);
constexpr int kMaxNaps = 5;
constexpr std::uint64_t kNapParts = 1024;

}  // namespace

KeyTurn::KeyTurn(const ReplicaKey& key, bool out_of_turn)
    : key_(key), out_of_turn_(out_of_turn) {
  RestartDeadline();
}

Task<Status> KeyTurn::Take() {
  return TryTake() ? Task<Status>::Ready() : Wait();
}

bool KeyTurn::TryTake() {
  if (taken() || out_of_turn_ || Impatient()) return true;
  Session& session = key_.session;
  std::optional<KeyLines::Turn> turn =
      session.cluster().lines->TryTake(session.runtime(), key_.name);
  if (turn) turn_.emplace(std::move(*turn));
  return taken();
}

Task<Status> KeyTurn::Wait() {
  const InStep step(key_.steps, RequestStep::kWait);
  Session& session = key_.session;
  const net::Duration patience = session.cluster().options.operation_timeout;
  std::optional<KeyLines::Turn> turn = co_await session.cluster().lines->Take(
      session.runtime(), key_.name, patience);
  if (!turn) {
    co_return Status(
        StatusCode::kUnavailable,
        fmt::format("changes of key '{}' that came before do not come to an "
                    "end: try again",
                    key_.name));
  }
  turn_.emplace(std::move(*turn));
  if (const std::shared_ptr<const Manifest>& found = turn_->found()) {
    if (found->tombstone) {
      session.manifests().Erase(key_.name);
    } else {
      session.manifests().Insert(found);
    }
  }
  RestartDeadline();
  co_return Status();
}

void KeyTurn::Remember(const std::shared_ptr<const Manifest>& manifest) {
  if (manifest->tombstone) {
    key_.session.manifests().Erase(manifest->key);
  } else {
    key_.session.manifests().Insert(manifest);
  }
  if (turn_) turn_->Leave(manifest);
}

// Rivals that give way alike meet again: so it is by chance. That they rise
// only so far keeps one that has lost for a while from losing for good.
Task<void> KeyTurn::GiveWay() {
  if (Impatient()) co_return;
  net::Runtime& runtime = key_.session.runtime();
  const net::Duration most = kFirstNap * (1 << std::min(gave_way_, kMaxNaps));
  ++gave_way_;
  const auto part =
      static_cast<net::Duration::rep>(runtime.Random() % kNapParts);
  const std::shared_ptr<Wakeup> nap = Wakeup::New(runtime);
  (void)co_await nap->Wait(most * (1 + part) / kNapParts);
}

void KeyTurn::RestartDeadline() {
  deadline_ = key_.session.runtime().Now() +
              key_.session.cluster().options.operation_timeout;
}

bool KeyTurn::Expired() const {
  return key_.session.runtime().Now() >= deadline_;
}

Status KeyTurn::ChangedWithoutEnd() const {
  return {StatusCode::kUnavailable,
          fmt::format("key '{}' is changed by others without end: try again",
                      key_.name)};
}

}  // namespace ers::store
