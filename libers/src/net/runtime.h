// Runtime: the one interface between the store and the outside world: time,
// randomness, timers and byte streams. net/event_loop.h runs it on libevent;
// tests/sim runs it in virtual time over model servers, from one seed.
#ifndef ERS_NET_RUNTIME_H_
#define ERS_NET_RUNTIME_H_

#include <sys/types.h>
#include <sys/uio.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/endpoint.h"

namespace ers::net {

using Duration = std::chrono::nanoseconds;
// Monotonic time since an arbitrary start.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// Called about one Stream. Every call comes from the loop, never from inside a
// call of the Stream or of Runtime::Connect.
class StreamHandler {
 public:
  virtual ~StreamHandler() = default;
  virtual void OnConnected() = 0;
  // Bytes (or the end of the stream) can be read. Level-triggered: it comes
  // again while unread bytes are left.
  virtual void OnReadable() = 0;
  // Only after WantWrite(true): WriteV would take bytes.
  virtual void OnWritable() = 0;
  // The connection could not be made or broke; `reason` reads after
  // "server: ", e.g. "connection refused". The Stream is dead, destroy it.
  virtual void OnFailed(const std::string& reason) = 0;
};

// A non-blocking byte stream to a server (TCP_NODELAY where it is TCP).
// Destroying it closes the connection at once; no handler call follows. Bytes
// already written may still reach the server, soon or never. Loop thread only.
class Stream {
 public:
  virtual ~Stream() = default;
  // As readv(2) and writev(2): bytes moved; 0 from ReadV is the end of the
  // stream; -1 with errno EAGAIN when nothing can move now, other errno when
  // the stream is broken.
  virtual ssize_t ReadV(const iovec* pieces, int count) = 0;
  virtual ssize_t WriteV(const iovec* pieces, int count) = 0;
  virtual void WantWrite(bool want) = 0;
};

// A one-shot timer; starting it again moves it. Destroying it stops it.
class Timer {
 public:
  virtual ~Timer() = default;
  virtual void Start(Duration delay) = 0;
  virtual void Stop() = 0;
};

// Something to run once, soon. Intrusive: the owner keeps it alive until it
// ran; it may be deferred again from inside `run`.
struct Deferred {
  void (*run)(Deferred&) = nullptr;
  // Behind all that are not: for writes, which then carry what those add.
  bool late = false;
  Deferred* next = nullptr;
  bool queued = false;
};

// One per loop thread. Everything but Post is for that thread only.
class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual TimePoint Now() = 0;
  // Microseconds since the Unix epoch.
  virtual std::int64_t WallMicros() = 0;
  virtual std::uint64_t Random() = 0;

  // Starts connecting; `handler` must outlive the Stream. Failures come
  // through OnFailed.
  virtual std::unique_ptr<Stream> Connect(const Endpoint& endpoint,
                                          StreamHandler& handler) = 0;
  virtual std::unique_ptr<Timer> NewTimer(std::function<void()> fire) = 0;
  // Late by far less than a millisecond, where others may be late by several.
  // Each Start is a system call.
  virtual std::unique_ptr<Timer> NewFineTimer(std::function<void()> fire) {
    return NewTimer(std::move(fire));
  }

  // Runs `deferred` after the current callback, and maybe others that are due,
  // before the loop waits again: late ones last, else in the order of the
  // calls. No-op while it is queued.
  virtual void Defer(Deferred& deferred) = 0;
  // Any thread: runs `task` on the loop thread, waking it up.
  virtual void Post(std::function<void()> task) = 0;

  // Runs the loop on the calling thread until `done` is true after some
  // callback. Not reentrant.
  virtual void RunUntil(const std::function<bool()>& done) = 0;
};

}  // namespace ers::net

#endif  // ERS_NET_RUNTIME_H_
