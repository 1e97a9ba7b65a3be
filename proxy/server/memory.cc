#include "server/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ers::proxy {

using net::Task;

// No circle of waits: what holds nothing waits without harm, and what holds
// some and needs more to end asks for all of that in one go, is served first
// and may use the reserve.

void MemoryBudget::SetLimit(const MemoryLimit& limit) {
  limit_ = limit;
  Serve();
}

bool MemoryBudget::Fits(std::uint64_t bytes, WaitsFor waits_for) const {
  const std::uint64_t all = limit_.bytes - limit_.reserve;
  const std::uint64_t used = held() - reserve_used_;
  if (bytes > all || used > all - bytes) return false;
  return waits_for == WaitsFor::kServers || held_by_clients_ + bytes <= all / 2;
}

void MemoryBudget::Add(std::uint64_t bytes, WaitsFor waits_for) {
  held_.store(held() + bytes, std::memory_order_relaxed);
  if (waits_for == WaitsFor::kClient) held_by_clients_ += bytes;
}

void MemoryBudget::Remove(std::uint64_t bytes, WaitsFor waits_for,
                          std::uint64_t of_reserve) {
  held_.store(held() - bytes, std::memory_order_relaxed);
  if (waits_for == WaitsFor::kClient) held_by_clients_ -= bytes - of_reserve;
  reserve_used_ -= of_reserve;
  if (has_waiters()) Serve();
}

void MemoryBudget::Change(std::uint64_t bytes, WaitsFor from, WaitsFor to) {
  if (from == to) return;
  if (to == WaitsFor::kClient) {
    held_by_clients_ += bytes;
  } else {
    held_by_clients_ -= bytes;
    if (has_waiters()) Serve();
  }
}

Status MemoryBudget::Check(std::uint64_t bytes, bool urgent) const {
  const std::uint64_t allowed = urgent ? limit_.reserve : most();
  if (bytes <= allowed) return {};
  return {StatusCode::kNoMemory,
          fmt::format("the request needs {} bytes of memory and may have {}: "
                      "raise limits.memory_in_flight_bytes",
                      bytes, allowed)};
}

Task<void> MemoryBudget::Wait(Waiter& waiter, bool urgent) {
  counters_.Add(Counter::kMemoryWaits);
  (urgent ? urgent_ : waiting_[Index(waiter.waits_for)]).push_back(&waiter);
  if (urgent) Serve();  // the reserve may have room
  if (on_wait_) on_wait_();
  co_await waiter.granted;
}

void MemoryBudget::Serve() {
  const auto grant = [this](Queue& queue) {
    Waiter& waiter = *queue.front();
    queue.pop_front();
    Add(waiter.bytes,
        waiter.of_reserve ? WaitsFor::kServers : waiter.waits_for);
    if (waiter.of_reserve) reserve_used_ += waiter.bytes;
    waiter.granted.CountDown();
  };
  while (!urgent_.empty()) {
    Waiter& waiter = *urgent_.front();
    if (!Fits(waiter.bytes, waiter.waits_for)) {
      if (reserve_used_ + waiter.rest > limit_.reserve && reserve_used_ > 0) {
        break;
      }
      waiter.of_reserve = true;
      waiter.bytes = waiter.rest;
    }
    grant(urgent_);
  }
  for (Queue& queue : waiting_) {
    // A lower limit than when it was asked for must not block the queue.
    while (
        !queue.empty() &&
        (queue.front()->waits_for == WaitsFor::kServers || urgent_.empty()) &&
        Fits(std::min(queue.front()->bytes, most()),
             queue.front()->waits_for)) {
      grant(queue);
    }
  }
}

bool MemoryHold::TryTake(std::uint64_t bytes) {
  MemoryBudget& budget = account_.budget;
  if (budget.Queued(waits_for_) || !budget.Fits(bytes, waits_for_))
    return false;
  budget.Add(bytes, waits_for_);
  bytes_ += bytes;
  account_.held += bytes;
  return true;
}

Task<Status> MemoryHold::Take(std::uint64_t step, std::uint64_t rest,
                              std::uint64_t* got) {
  MemoryBudget& budget = account_.budget;
  const bool urgent = bytes_ > 0 || (first_in_line_ && account_.held > 0);
  *got = step;
  Status allowed = budget.Check(urgent ? rest : step, urgent);
  if (!allowed.ok() || TryTake(step)) co_return allowed;
  MemoryBudget::Waiter waiter(budget.runtime_, step, waits_for_);
  waiter.rest = rest;
  co_await budget.Wait(waiter, urgent);
  *got = waiter.bytes;
  bytes_ += waiter.bytes;
  account_.held += waiter.bytes;
  if (waiter.of_reserve) {
    of_reserve_ += waiter.bytes;
  } else {
    budget.Change(waiter.bytes, waiter.waits_for, waits_for_);
  }
  co_return Status();
}

Task<Status> MemoryHold::Take(std::uint64_t bytes) {
  if (bytes_ == 0 && !first_in_line_ && bytes <= account_.budget.most() &&
      TryTake(bytes)) {
    return Task<Status>::Ready();
  }
  return Wait(bytes);
}

Task<Status> MemoryHold::Wait(std::uint64_t bytes) {
  std::uint64_t got = 0;
  co_return co_await Take(bytes, bytes, &got);
}

Task<Result<std::uint64_t>> MemoryHold::TakeStep(std::uint64_t step,
                                                 std::uint64_t rest) {
  std::uint64_t got = 0;
  Status status = co_await Take(step, rest, &got);
  if (!status.ok()) co_return Fail(std::move(status));
  co_return got;
}

void MemoryHold::Give(std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t of_reserve = std::min(bytes, of_reserve_);
  bytes_ -= bytes;
  of_reserve_ -= of_reserve;
  account_.held -= bytes;
  account_.budget.Remove(bytes, waits_for_, of_reserve);
}

void MemoryHold::TakeFrom(MemoryHold& other, std::uint64_t bytes) {
  bytes = std::min(bytes, other.bytes_);
  const std::uint64_t of_reserve = std::min(bytes, other.of_reserve_);
  other.bytes_ -= bytes;
  other.of_reserve_ -= of_reserve;
  bytes_ += bytes;
  of_reserve_ += of_reserve;
  account_.budget.Change(bytes - of_reserve, other.waits_for_, waits_for_);
}

void MemoryHold::SetWaitsFor(WaitsFor waits_for) {
  account_.budget.Change(bytes_ - of_reserve_,
                         std::exchange(waits_for_, waits_for), waits_for);
}

}  // namespace ers::proxy
