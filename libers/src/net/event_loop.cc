#include "net/event_loop.h"

#include <event2/event.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "net/deferred_queue.h"
#include "net/resolver.h"
#include "net/socket_stream.h"

namespace ers::net {
namespace {

std::mt19937_64 SeededRandom() {
  std::array<std::uint32_t, 16> entropy{};
  auto* bytes = reinterpret_cast<char*>(entropy.data());
  std::size_t filled = 0;
  while (filled < sizeof entropy) {
    const ssize_t got = getrandom(bytes + filled, sizeof entropy - filled, 0);
    // Only EINTR can happen, and only before the kernel's pool is ready.
    if (got > 0) filled += static_cast<std::size_t>(got);
  }
  std::seed_seq seed(entropy.begin(), entropy.end());
  return std::mt19937_64(seed);
}

event_base* NewBase() {
  event_config* config = event_config_new();
  // One thread runs the base; Post wakes it through an eventfd of its own.
  // Timers count from when they are started, not from the loop's last turn.
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
  event_config_set_flag(config, EVENT_BASE_FLAG_NO_CACHE_TIME);
  event_base* base = event_base_new_with_config(config);
  event_config_free(config);
  return base;
}

class LibeventLoop final : public EventLoop {
 public:
  explicit LibeventLoop(Resolver& resolver,
                        std::optional<HttpProxy> through = std::nullopt);
  ~LibeventLoop() override;

  TimePoint Now() override { return std::chrono::steady_clock::now(); }
  std::int64_t WallMicros() override {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  std::uint64_t Random() override { return random_(); }
  std::unique_ptr<Stream> Connect(const Endpoint& endpoint,
                                  StreamHandler& handler) override {
    if (!through_) return ConnectPaced(endpoint, handler);
    return NewTunnelStream(*through_, endpoint, handler,
                           [this](StreamHandler& tunnel) {
                             return ConnectPaced(through_->at, tunnel);
                           });
  }
  std::unique_ptr<PacedStream> ConnectPaced(const Endpoint& endpoint,
                                            StreamHandler& handler) override {
    return NewSocketStream(base_, *this, resolver_, endpoint, handler);
  }
  std::unique_ptr<PacedStream> Adopt(int socket,
                                     StreamHandler& handler) override {
    return AdoptSocket(base_, socket, handler);
  }
  std::unique_ptr<Watch> WatchReadable(int descriptor,
                                       std::function<void()> ready) override;
  std::unique_ptr<Timer> NewTimer(std::function<void()> fire) override;
  std::unique_ptr<Timer> NewFineTimer(std::function<void()> fire) override;
  void Defer(Deferred& deferred) override;
  void Post(std::function<void()> task) override;
  void RunUntil(const std::function<bool()>& done) override;

 private:
  static void OnWakeUp(int fd, short what, void* self);
  void RunDeferred();

  event_base* base_;
  Resolver& resolver_;
  const std::optional<HttpProxy> through_;
  std::mt19937_64 random_ = SeededRandom();
  DeferredQueue deferred_;
  bool running_ = false;  // RunUntil

  int wake_up_fd_;
  event* wake_up_event_;
  Mutex posted_mutex_;
  std::vector<std::function<void()>> posted_ ERS_GUARDED_BY(posted_mutex_);
};

class LoopTimer final : public Timer {
 public:
  LoopTimer(event_base* base, std::function<void()> fire)
      : fire_(std::make_shared<std::function<void()>>(std::move(fire))),
        event_(event_new(base, -1, 0, OnFire, this)) {}
  ~LoopTimer() override { event_free(event_); }

  void Start(Duration delay) override {
    due_ = std::chrono::steady_clock::now() + delay;
    Wait(delay < kLongDelay ? delay : delay + kTick);
  }
  void Stop() override { event_del(event_); }

 private:
  // libevent's clock goes by the kernel's ticks: it may be so much early. A
  // long delay takes one more, so that the loop wakes up once, not again and
  // again just before the timer is due.
  static constexpr Duration kTick = std::chrono::milliseconds(4);
  static constexpr Duration kLongDelay = 5 * kTick;

  static void OnFire(int, short, void* self) {
    auto* timer = static_cast<LoopTimer*>(self);
    const Duration left = timer->due_ - std::chrono::steady_clock::now();
    if (left.count() > 0) {
      timer->Wait(left);
      return;
    }
    // Held here, because the callback may destroy the timer.
    const std::shared_ptr<std::function<void()>> fire = timer->fire_;
    (*fire)();
  }

  void Wait(Duration delay) {
    const auto micros =
        delay.count() > 0
            ? std::chrono::ceil<std::chrono::microseconds>(delay).count()
            : 0;
    timeval wait{};
    wait.tv_sec = static_cast<time_t>(micros / 1000000);
    wait.tv_usec = static_cast<suseconds_t>(micros % 1000000);
    event_add(event_, &wait);
  }

  std::shared_ptr<std::function<void()>> fire_;
  TimePoint due_;
  event* event_;
};

// libevent goes by a clock of the kernel's ticks, of which there may be no more
// than one in 4 ms; a timerfd does not.
class FineTimer final : public Timer {
 public:
  // Takes `descriptor`, a timerfd, over.
  FineTimer(event_base* base, int descriptor, std::function<void()> fire)
      : fire_(std::make_shared<std::function<void()>>(std::move(fire))),
        descriptor_(descriptor),
        event_(event_new(base, descriptor, EV_READ | EV_PERSIST | EV_ET, OnFire,
                         this)) {
    event_add(event_, nullptr);
  }
  ~FineTimer() override {
    event_free(event_);
    close(descriptor_);
  }

  void Start(Duration delay) override {
    // Zero would stop it.
    const Duration wait = std::max(delay, Duration(1));
    due_ = std::chrono::steady_clock::now() + wait;
    itimerspec times{};
    times.it_value.tv_sec = static_cast<time_t>(wait.count() / 1'000'000'000);
    times.it_value.tv_nsec = static_cast<long>(wait.count() % 1'000'000'000);
    timerfd_settime(descriptor_, 0, &times, nullptr);
  }
  // The descriptor is left to itself: that saves a system call.
  void Stop() override { due_ = TimePoint::max(); }

 private:
  static void OnFire(int, short, void* self) {
    auto* timer = static_cast<FineTimer*>(self);
    if (std::chrono::steady_clock::now() < timer->due_) return;
    timer->due_ = TimePoint::max();
    // Held here, because the callback may destroy the timer.
    const std::shared_ptr<std::function<void()>> fire = timer->fire_;
    (*fire)();
  }

  std::shared_ptr<std::function<void()>> fire_;
  TimePoint due_ = TimePoint::max();
  int descriptor_;
  event* event_;
};

class ReadableWatch final : public Watch {
 public:
  ReadableWatch(event_base* base, int descriptor, std::function<void()> ready)
      : ready_(std::move(ready)),
        event_(
            event_new(base, descriptor, EV_READ | EV_PERSIST, OnReady, this)) {
    event_add(event_, nullptr);
  }
  ~ReadableWatch() override { event_free(event_); }

 private:
  static void OnReady(int, short, void* self) {
    auto* watch = static_cast<ReadableWatch*>(self);
    watch->ready_();
  }

  std::function<void()> ready_;
  event* event_;
};

LibeventLoop::LibeventLoop(Resolver& resolver, std::optional<HttpProxy> through)
    : base_(NewBase()),
      resolver_(resolver),
      through_(std::move(through)),
      wake_up_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      wake_up_event_(
          event_new(base_, wake_up_fd_, EV_READ | EV_PERSIST, OnWakeUp, this)) {
  event_add(wake_up_event_, nullptr);
}

LibeventLoop::~LibeventLoop() {
  // What deferred something waits for it, also to free itself.
  RunDeferred();
  event_free(wake_up_event_);
  close(wake_up_fd_);
  event_base_free(base_);
}

std::unique_ptr<Watch> LibeventLoop::WatchReadable(
    int descriptor, std::function<void()> ready) {
  return std::make_unique<ReadableWatch>(base_, descriptor, std::move(ready));
}

std::unique_ptr<Timer> LibeventLoop::NewTimer(std::function<void()> fire) {
  return std::make_unique<LoopTimer>(base_, std::move(fire));
}

// Without a descriptor for it it is as fine as the others.
std::unique_ptr<Timer> LibeventLoop::NewFineTimer(std::function<void()> fire) {
  const int descriptor =
      timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (descriptor < 0) return NewTimer(std::move(fire));
  return std::make_unique<FineTimer>(base_, descriptor, std::move(fire));
}

void LibeventLoop::Defer(Deferred& deferred) { deferred_.Push(deferred); }

void LibeventLoop::RunDeferred() {
  while (!deferred_.empty()) deferred_.RunNext();
}

void LibeventLoop::Post(std::function<void()> task) {
  {
    const MutexLock lock(posted_mutex_);
    posted_.push_back(std::move(task));
  }
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the loop wakes up anyway.
  [[maybe_unused]] const ssize_t written = write(wake_up_fd_, &one, sizeof one);
}

void LibeventLoop::OnWakeUp(int fd, short, void* self) {
  auto& loop = *static_cast<LibeventLoop*>(self);
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(fd, &count, sizeof count);
  std::vector<std::function<void()>> tasks;
  {
    const MutexLock lock(loop.posted_mutex_);
    tasks.swap(loop.posted_);
  }
  for (const auto& task : tasks) {
    task();
  }
}

void LibeventLoop::RunUntil(const std::function<bool()>& done) {
  assert(!running_);
  RunDeferred();
  if (done()) return;
  running_ = true;
  do {
    // Never runs out of events: the wake-up event stays.
    event_base_loop(base_, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY);
    // After all that the loop woke up for: what several events have for one
    // server leaves in one write.
    RunDeferred();
  } while (!done());
  running_ = false;
}

}  // namespace

std::unique_ptr<EventLoop> NewEventLoop() {
  return NewEventLoopWith(Resolver::OfProcess());
}

std::unique_ptr<EventLoop> NewEventLoop(HttpProxy through) {
  return std::make_unique<LibeventLoop>(Resolver::OfProcess(),
                                        std::move(through));
}

std::unique_ptr<EventLoop> NewEventLoopWith(Resolver& resolver) {
  return std::make_unique<LibeventLoop>(resolver);
}

}  // namespace ers::net
