// Task: the coroutine type of every operation, and what it waits on.
//
// A Task starts when it is awaited (or spawned) and runs on its loop's thread.
// Rule for gcc 12: name aggregates and lambdas before they go into a co_await
// expression; temporaries of them are destroyed twice there.
#ifndef ERS_NET_TASK_H_
#define ERS_NET_TASK_H_

#include <cassert>
#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/recycled.h"
#include "net/runtime.h"

namespace ers::net {

template <typename T>
class Task;

namespace task_internal {

// Plain resumption in place of symmetric transfer: without tail calls (-O0,
// sanitizers) a transfer costs stack for every await that completes at once,
// and a long run of them overflows it. Here such an await returns to its loop.
struct FinalAwaiter {
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> handle) const noexcept {
    auto& promise = handle.promise();
    if (promise.awaited) {
      promise.continuation.resume();  // may destroy `handle`
    } else if (promise.detached) {
      handle.destroy();
    } else {
      promise.finished = true;
    }
  }
  void await_resume() const noexcept {}
};

struct PromiseBase : Recycled {
  std::coroutine_handle<> continuation;
  bool finished = false;  // ended before the awaiting coroutine suspended
  bool awaited = false;   // the awaiting coroutine is suspended
  bool detached = false;  // no coroutine awaits it
  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  // The project throws nowhere; what a library throws (bad_alloc) ends here.
  [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
};

struct Nothing {};
template <typename T>
using HeldValue = std::conditional_t<std::is_void_v<T>, Nothing, T>;

template <typename T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <typename U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() const noexcept {}
};

}  // namespace task_internal

// Move-only; owns its coroutine; awaited once. Must not be destroyed between
// its first suspension and its end.
template <typename T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = task_internal::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept
      : handle_(std::exchange(other.handle_, {})),
        ready_(std::move(other.ready_)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(ready_, other.ready_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // One that has ended, without a coroutine: for what seldom has to wait.
  static Task Ready(task_internal::HeldValue<T> outcome = {}) {
    Task task((Handle()));
    task.ready_.emplace(std::move(outcome));
    return task;
  }

  // Starts it now, on this thread; it frees itself at its end.
  void Detach() &&
    requires std::is_void_v<T>
  {
    if (!handle_) return;
    const Handle handle = std::exchange(handle_, {});
    handle.promise().detached = true;
    handle.resume();
  }

  bool await_ready() const noexcept { return !handle_; }
  bool await_suspend(std::coroutine_handle<> continuation) noexcept {
    auto& promise = handle_.promise();
    promise.continuation = continuation;
    handle_.resume();
    promise.awaited = !promise.finished;
    return promise.awaited;
  }
  T await_resume() {
    if constexpr (!std::is_void_v<T>) {
      return handle_ ? std::move(*handle_.promise().value) : std::move(*ready_);
    }
  }

 private:
  Handle handle_;
  std::optional<task_internal::HeldValue<T>> ready_;
};

namespace task_internal {

template <typename T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

// A coroutine that starts at once and frees itself when it ends.
struct Detached {
  struct promise_type {
    Detached get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };
};

}  // namespace task_internal

// Starts `task` now, on this thread; it frees itself at its end.
inline void Spawn(Task<void> task) { std::move(task).Detach(); }

// Runs `task` to its end on the runtime's loop, on the calling thread.
template <typename T>
T SyncWait(Runtime& runtime, Task<T> task) {
  bool done = false;
  if constexpr (std::is_void_v<T>) {
    [](Task<void> owned, bool& flag) -> task_internal::Detached {
      co_await std::move(owned);
      flag = true;
    }(std::move(task), done);
    runtime.RunUntil([&done] { return done; });
  } else {
    std::optional<T> result;
    [](Task<T> owned, std::optional<T>& out,
       bool& flag) -> task_internal::Detached {
      out.emplace(co_await std::move(owned));
      flag = true;
    }(std::move(task), result, done);
    runtime.RunUntil([&done] { return done; });
    return std::move(*result);
  }
}

// A count that one coroutine waits on to reach zero. The waiter is resumed
// through Runtime::Defer, so that the one that counts down never finds itself
// destroyed on return. Loop thread only.
class Latch : private Deferred {
 public:
  explicit Latch(Runtime& runtime, int count = 0)
      : runtime_(runtime), count_(count) {
    run = [](Deferred& self) {
      auto& latch = static_cast<Latch&>(self);
      // Counted up again meanwhile: the next zero defers anew.
      if (latch.count_ != 0 || !latch.waiter_) return;
      std::exchange(latch.waiter_, {}).resume();
    };
  }
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;
  ~Latch() { assert(!waiter_); }

  void Add(int count = 1) { count_ += count; }
  void CountDown() {
    assert(count_ > 0);
    if (--count_ == 0 && waiter_) runtime_.Defer(*this);
  }
  int count() const { return count_; }

  // Awaits zero. One waiter at a time; reusable after it was resumed.
  auto operator co_await() {
    struct Awaiter {
      Latch& latch;
      bool await_ready() const noexcept { return latch.count_ == 0; }
      void await_suspend(std::coroutine_handle<> handle) const noexcept {
        assert(!latch.waiter_);
        latch.waiter_ = handle;
      }
      void await_resume() const noexcept {}
    };
    return Awaiter{*this};
  }

 private:
  Runtime& runtime_;
  int count_;
  std::coroutine_handle<> waiter_;
};

// Awaits one turn of the runtime's deferred queue: what was deferred before,
// such as the links' writes, has run when it resumes. Loop thread only.
class Turn : private Deferred {
 public:
  explicit Turn(Runtime& runtime) : runtime_(runtime) {
    run = [](Deferred& self) { static_cast<Turn&>(self).waiter_.resume(); };
    late = true;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) noexcept {
    waiter_ = handle;
    runtime_.Defer(*this);
  }
  void await_resume() const noexcept {}

 private:
  Runtime& runtime_;
  std::coroutine_handle<> waiter_;
};

}  // namespace ers::net

#endif  // ERS_NET_TASK_H_
