// What passes a client's sockets, counted there: not what a plan says, nor what
// the store believes.
#ifndef ERS_EVAL_BENCH_WIRE_TAP_H_
#define ERS_EVAL_BENCH_WIRE_TAP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/runtime.h"

namespace ers::bench {

// Items that hold a block, and their values: header and payload.
struct BlockTraffic {
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;
  std::uint64_t largest = 0;  // value
};

struct Traffic {
  // Everything: lines, manifests, blocks.
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  BlockTraffic blocks_in;
  BlockTraffic blocks_out;
  // A server refused something or answered what was not asked; blocks_in may
  // be wrong from here on.
  bool unclear = false;
};

// A runtime whose streams count what they move in `traffic`. Both arguments
// outlive it; one thread, as any runtime.
class TappedRuntime final : public net::Runtime {
 public:
  TappedRuntime(net::Runtime& inner, Traffic& traffic)
      : inner_(inner), traffic_(traffic) {}

  net::TimePoint Now() override { return inner_.Now(); }
  std::int64_t WallMicros() override { return inner_.WallMicros(); }
  std::uint64_t Random() override { return inner_.Random(); }
  std::unique_ptr<net::Stream> Connect(const net::Endpoint& endpoint,
                                       net::StreamHandler& handler) override;
  std::unique_ptr<net::Timer> NewTimer(std::function<void()> fire) override {
    return inner_.NewTimer(std::move(fire));
  }
  void Defer(net::Deferred& deferred) override { inner_.Defer(deferred); }
  void Post(std::function<void()> task) override {
    inner_.Post(std::move(task));
  }
  void RunUntil(const std::function<bool()>& done) override {
    inner_.RunUntil(done);
  }

 private:
  net::Runtime& inner_;
  Traffic& traffic_;
};

// `inner`, counted.
std::unique_ptr<net::Stream> TapStream(std::unique_ptr<net::Stream> inner,
                                       Traffic& traffic);

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_WIRE_TAP_H_
