// Memory of values under way: what a worker's requests may hold together, and
// which of them wait for it. docs/reference/settings.md, "Memory", says what it
// promises.
#ifndef ERS_PROXY_SERVER_MEMORY_H_
#define ERS_PROXY_SERVER_MEMORY_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "metrics/counters.h"
#include "net/runtime.h"
#include "net/task.h"
#include "store/support/memory.h"

namespace ers::proxy {

// What memory waits for: servers, which answer within their timeout or count as
// dead, or a client, which may take for ever.
enum class WaitsFor : std::uint8_t { kServers, kClient };

struct MemoryLimit {
  // Of one worker.
  std::uint64_t bytes = ~std::uint64_t{0};
  // Kept for requests that hold memory already and need more to end: what one
  // of them may ask for at most. Under a third of `bytes`.
  std::uint64_t reserve = 0;
};

// One per worker. Loop thread only, but for held().
class MemoryBudget {
 public:
  MemoryBudget(net::Runtime& runtime, Counters& counters)
      : runtime_(runtime), counters_(counters) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  void SetLimit(const MemoryLimit& limit);
  // Called whenever a request has to wait.
  void OnWait(std::function<void()> call) { on_wait_ = std::move(call); }
  // The most that one request may ask for at a time: the rest serves others.
  [[nodiscard]] std::uint64_t most() const {
    return (limit_.bytes - limit_.reserve) / 2;
  }
  // Any thread.
  [[nodiscard]] std::uint64_t held() const {
    return held_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool has_waiters() const {
    return !urgent_.empty() || !waiting_[0].empty() || !waiting_[1].empty();
  }

 private:
  friend class MemoryHold;
  struct Waiter {
    Waiter(net::Runtime& runtime, std::uint64_t wanted, WaitsFor whose)
        : bytes(wanted), rest(wanted), waits_for(whose), granted(runtime, 1) {}
    std::uint64_t bytes;  // wanted, then granted
    std::uint64_t rest;   // of the reserve it gets so many
    const WaitsFor waits_for;
    bool of_reserve = false;
    net::Latch granted;
  };
  using Queue = std::deque<Waiter*>;

  [[nodiscard]] bool Fits(std::uint64_t bytes, WaitsFor waits_for) const;
  [[nodiscard]] bool Queued(WaitsFor waits_for) const {
    // What servers will end leaves the reserve to the urgent ones anyway.
    if (waits_for == WaitsFor::kClient && !urgent_.empty()) return true;
    return !waiting_[Index(waits_for)].empty();
  }
  static std::size_t Index(WaitsFor waits_for) {
    return static_cast<std::size_t>(waits_for);
  }
  void Add(std::uint64_t bytes, WaitsFor waits_for);
  void Remove(std::uint64_t bytes, WaitsFor waits_for,
              std::uint64_t of_reserve);
  void Change(std::uint64_t bytes, WaitsFor from, WaitsFor to);
  [[nodiscard]] Status Check(std::uint64_t bytes, bool urgent) const;
  net::Task<void> Wait(Waiter& waiter, bool urgent);
  void Serve();

  net::Runtime& runtime_;
  Counters& counters_;
  MemoryLimit limit_;
  std::function<void()> on_wait_;
  // One writer.
  std::atomic<std::uint64_t> held_{0};
  std::uint64_t reserve_used_ = 0;
  std::uint64_t held_by_clients_ = 0;  // of the rest
  Queue urgent_;                       // of requests that hold some
  std::array<Queue, 2> waiting_;       // by waits_for
};

// What one connection holds in all.
struct MemoryAccount {
  MemoryBudget& budget;
  std::uint64_t held = 0;
};

// What one value of a connection holds; gives it back when destroyed.
class MemoryHold final : public store::Memory {
 public:
  MemoryHold(MemoryAccount& account, WaitsFor waits_for)
      : account_(account), waits_for_(waits_for) {}
  ~MemoryHold() override { Give(bytes_); }
  MemoryHold(const MemoryHold&) = delete;
  MemoryHold& operator=(const MemoryHold&) = delete;

  bool TryTake(std::uint64_t bytes) override;
  // kNoMemory: it is more than one request may have.
  net::Task<Status> Take(std::uint64_t bytes) override;
  void Give(std::uint64_t bytes) override;
  // `step` bytes as soon as there is room, or all of `rest` from the reserve,
  // which is for a request that ends with that. What it got.
  net::Task<Result<std::uint64_t>> TakeStep(std::uint64_t step,
                                            std::uint64_t rest);
  void KeepAtMost(std::uint64_t bytes) {
    if (bytes_ > bytes) Give(bytes_ - bytes);
  }
  // Takes over from another hold of the connection.
  void TakeFrom(MemoryHold& other, std::uint64_t bytes);
  // Also of what it holds.
  void SetWaitsFor(WaitsFor waits_for);
  // Others of the connection that hold some wait behind this one in line.
  void SetFirstInLine() { first_in_line_ = true; }

 private:
  net::Task<Status> Take(std::uint64_t step, std::uint64_t rest,
                         std::uint64_t* got);
  net::Task<Status> Wait(std::uint64_t bytes);

  MemoryAccount& account_;
  WaitsFor waits_for_;
  bool first_in_line_ = false;
  std::uint64_t bytes_ = 0;
  std::uint64_t of_reserve_ = 0;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_MEMORY_H_
