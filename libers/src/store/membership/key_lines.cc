#include "store/membership/key_lines.h"

#include <algorithm>
#include <functional>

#include "base/mutex.h"

namespace ers::store {

// Of one coroutine, on its loop's thread. Out of the line once it was called.
struct KeyLines::Waiter {
  explicit Waiter(net::Runtime& loop) : runtime(loop), woken(loop, 1) {}
  void Wake() {
    if (woken.count() > 0) woken.CountDown();
  }

  net::Runtime& runtime;
  net::Latch woken;
  bool called = false;  // guarded by the shard's mutex
};

KeyLines::Turn::Turn(Turn&& other) noexcept
    : runtime_(other.runtime_),
      shard_(other.shard_),
      entry_(std::exchange(other.entry_, nullptr)),
      waited_(other.waited_),
      found_(std::move(other.found_)),
      left_(std::move(other.left_)) {}

KeyLines::Turn::~Turn() {
  if (entry_ != nullptr) End(*this);
}

// The turn goes to the next in line while the mutex is held, so that none
// comes in between; its loop hears of it afterwards. It is there as long as its
// coroutine waits, and that waits for the call.
void KeyLines::End(Turn& turn) {
  std::shared_ptr<Waiter> next;
  {
    const MutexLock lock(turn.shard_.mutex);
    Line& line = turn.entry_->second;
    ++line.turns;
    if (turn.left_) line.left = std::move(turn.left_);
    if (line.waiting.empty()) {
      turn.shard_.lines.erase(turn.shard_.lines.find(turn.entry_->first));
      return;
    }
    next = std::move(line.waiting.front());
    line.waiting.pop_front();
    next->called = true;
  }
  if (&next->runtime == &turn.runtime_) {
    next->Wake();
    return;
  }
  net::Runtime& runtime = next->runtime;
  runtime.Post([next = std::move(next)] { next->Wake(); });
}

KeyLines::Shard& KeyLines::ShardOf(std::string_view key) {
  return shards_[std::hash<std::string_view>()(key) % kShards];
}

std::optional<KeyLines::Turn> KeyLines::TryTake(net::Runtime& runtime,
                                                std::string_view key) {
  Shard& shard = ShardOf(key);
  const MutexLock lock(shard.mutex);
  const auto [at, is_new] = shard.lines.try_emplace(std::string(key));
  if (!is_new) return std::nullopt;
  return Turn(runtime, shard, *at);
}

net::Task<std::optional<KeyLines::Turn>> KeyLines::Take(
    net::Runtime& runtime, std::string_view key, net::Duration patience) {
  Shard& shard = ShardOf(key);
  const auto waiter = std::make_shared<Waiter>(runtime);
  Entry* entry = nullptr;
  std::uint64_t turns = 0;
  {
    const MutexLock lock(shard.mutex);
    const auto [at, is_new] = shard.lines.try_emplace(std::string(key));
    entry = &*at;
    if (is_new) co_return Turn(runtime, shard, *entry);
    entry->second.waiting.push_back(waiter);
    turns = entry->second.turns;
  }
  // While turns end there is no reason to give up.
  net::Timer* again = nullptr;
  const auto check = [&] {
    const MutexLock lock(shard.mutex);
    if (waiter->called) return;
    Line& line = entry->second;
    if (std::exchange(turns, line.turns) != line.turns) {
      again->Start(patience);
      return;
    }
    std::erase(line.waiting, waiter);
    waiter->Wake();
  };
  const std::unique_ptr<net::Timer> timer = runtime.NewTimer(check);
  again = timer.get();
  timer->Start(patience);
  co_await waiter->woken;
  const MutexLock lock(shard.mutex);
  if (!waiter->called) co_return std::nullopt;
  Turn turn(runtime, shard, *entry);
  turn.waited_ = true;
  turn.found_ = entry->second.left;
  co_return std::move(turn);
}

std::size_t KeyLines::size() {
  std::size_t keys = 0;
  for (Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    keys += shard.lines.size();
  }
  return keys;
}

}  // namespace ers::store
