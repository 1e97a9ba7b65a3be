// FakeRuntime: virtual time and scripted servers for one test thread.
#ifndef TESTS_UNIT_NET_FAKE_RUNTIME_H_
#define TESTS_UNIT_NET_FAKE_RUNTIME_H_

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/deferred_queue.h"
#include "net/runtime.h"
#include "net/tunnel_stream.h"

namespace ers::test {

// One connection, seen by the test as the server. Outlives the stream.
struct Wire {
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  std::string refuse;             // not empty: the connection cannot be made
  bool silent = false;            // it is neither made nor refused
  std::string received;           // what the client wrote
  std::string outgoing;           // what the client will read
  bool closed = false;            // end of stream behind `outgoing`
  int broken = 0;                 // errno of every read and write
  std::size_t read_limit = kAll;  // bytes that one read returns at most
  std::size_t write_room = kAll;  // bytes taken until the test makes more room
  std::size_t writes = 0;         // calls of WriteV that moved bytes
  std::size_t reads = 0;          // calls of ReadV
  bool open = false;              // the client holds the stream
  // Called after each write; may answer through `outgoing`.
  std::function<void(Wire&)> on_write;
};

class FakeRuntime final : public net::Runtime {
 public:
  // Called for each new connection, to set it up.
  std::function<void(Wire&)> on_connect = [](Wire&) {};
  // All connections so far, oldest first.
  std::deque<std::unique_ptr<Wire>> wires;
  std::uint64_t random = 0x0123456789abcdef;
  // Connections are to it, and through it to servers.
  std::optional<net::HttpProxy> through;

  Wire& last() { return *wires.back(); }

  net::TimePoint Now() override { return now_; }
  std::int64_t WallMicros() override { return 0; }
  std::uint64_t Random() override { return random++; }

  std::unique_ptr<net::Stream> Connect(const net::Endpoint& server,
                                       net::StreamHandler& handler) override {
    if (!through) return NewStream(handler);
    return net::NewTunnelStream(
        *through, server, handler,
        [this](net::StreamHandler& tunnel) { return NewStream(tunnel); });
  }

  std::unique_ptr<net::Timer> NewTimer(std::function<void()> fire) override {
    return std::make_unique<FakeTimer>(*this, std::move(fire));
  }

  void Defer(net::Deferred& deferred) override { deferred_.Push(deferred); }

  void Post(std::function<void()> task) override {
    posted_.push_back(std::move(task));
  }

  // Also returns when nothing can happen any more.
  void RunUntil(const std::function<bool()>& done) override {
    RunDeferred();
    while (!done() && (StepStreams() || StepTimer())) {
    }
  }
  // All that happens without time going on.
  void RunAll() {
    RunDeferred();
    while (StepStreams()) {
    }
  }
  // All that happens in the next `duration`.
  void Pass(net::Duration duration) {
    const net::TimePoint end = now_ + duration;
    RunAll();
    while (StepTimer(end)) RunAll();
    now_ = end;
  }

  // Time goes on while the thread is away: nothing happens, timers are late.
  void Stall(net::Duration duration) { now_ += duration; }

 private:
  struct FakeTimer final : net::Timer {
    FakeTimer(FakeRuntime& in, std::function<void()> what)
        : runtime(in), fire(std::move(what)) {
      runtime.timers_.push_back(this);
    }
    ~FakeTimer() override { std::erase(runtime.timers_, this); }
    void Start(net::Duration delay) override {
      at = runtime.now_ + std::max(delay, net::Duration{});
    }
    void Stop() override { at = net::TimePoint::max(); }

    FakeRuntime& runtime;
    std::function<void()> fire;
    net::TimePoint at = net::TimePoint::max();
  };

  struct FakeStream final : net::Stream {
    FakeStream(FakeRuntime& in, Wire& of, net::StreamHandler& to)
        : runtime(in), wire(of), handler(to) {
      wire.open = true;
      runtime.streams_.push_back(this);
    }
    ~FakeStream() override {
      wire.open = false;
      std::erase(runtime.streams_, this);
    }

    ssize_t ReadV(const iovec* pieces, int count) override {
      ++wire.reads;
      if (wire.broken != 0) return Error(wire.broken);
      if (wire.outgoing.empty()) return wire.closed ? 0 : Error(EAGAIN);
      std::size_t moved = 0;
      for (int i = 0; i < count; ++i) {
        const std::size_t step =
            std::min({pieces[i].iov_len, wire.outgoing.size() - moved,
                      wire.read_limit - moved});
        std::memcpy(pieces[i].iov_base, wire.outgoing.data() + moved, step);
        moved += step;
      }
      wire.outgoing.erase(0, moved);
      return static_cast<ssize_t>(moved);
    }

    ssize_t WriteV(const iovec* pieces, int count) override {
      if (wire.broken != 0) return Error(wire.broken);
      if (wire.write_room == 0) return Error(EAGAIN);
      std::size_t moved = 0;
      for (int i = 0; i < count; ++i) {
        const std::size_t step = std::min(pieces[i].iov_len, wire.write_room);
        wire.received.append(static_cast<const char*>(pieces[i].iov_base),
                             step);
        if (wire.write_room != Wire::kAll) wire.write_room -= step;
        moved += step;
      }
      ++wire.writes;
      if (wire.on_write) wire.on_write(wire);
      return static_cast<ssize_t>(moved);
    }

    void WantWrite(bool want) override { want_write = want; }

    static ssize_t Error(int error) {
      errno = error;
      return -1;
    }

    // One callback, if there is reason for one.
    bool Step() {
      if (!connected) {
        if (wire.silent) return false;
        connected = true;
        if (wire.refuse.empty()) {
          handler.OnConnected();
        } else {
          handler.OnFailed(wire.refuse);
        }
        return true;
      }
      if (!wire.outgoing.empty() || wire.closed || wire.broken != 0) {
        handler.OnReadable();
        return true;
      }
      if (want_write && wire.write_room > 0) {
        handler.OnWritable();
        return true;
      }
      return false;
    }

    FakeRuntime& runtime;
    Wire& wire;
    net::StreamHandler& handler;
    bool connected = false;
    bool want_write = false;
  };

  std::unique_ptr<net::Stream> NewStream(net::StreamHandler& handler) {
    wires.push_back(std::make_unique<Wire>());
    on_connect(*wires.back());
    return std::make_unique<FakeStream>(*this, *wires.back(), handler);
  }

  void RunDeferred() {
    while (!deferred_.empty()) deferred_.RunNext();
  }

  bool StepStreams() {
    bool moved = !posted_.empty();
    for (const auto& task : std::exchange(posted_, {})) task();
    for (FakeStream* stream : std::vector(streams_)) {
      const bool alive =
          std::find(streams_.begin(), streams_.end(), stream) != streams_.end();
      if (alive && stream->Step()) moved = true;
    }
    RunDeferred();
    return moved;
  }

  bool StepTimer(net::TimePoint until = net::TimePoint::max()) {
    FakeTimer* next = nullptr;
    for (FakeTimer* timer : timers_) {
      if (timer->at == net::TimePoint::max() || timer->at > until) continue;
      if (next == nullptr || timer->at < next->at) next = timer;
    }
    if (next == nullptr) return false;
    now_ = std::max(now_, next->at);
    next->at = net::TimePoint::max();
    next->fire();
    RunDeferred();
    return true;
  }

  net::TimePoint now_{std::chrono::hours(1)};
  std::vector<FakeTimer*> timers_;
  std::vector<FakeStream*> streams_;
  net::DeferredQueue deferred_;
  std::vector<std::function<void()>> posted_;
};

}  // namespace ers::test

#endif  // TESTS_UNIT_NET_FAKE_RUNTIME_H_
