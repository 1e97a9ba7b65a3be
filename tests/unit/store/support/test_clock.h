// Clocks that a test turns, in place of a runtime's, and nothing else of one.
#ifndef ERS_TESTS_UNIT_STORE_SUPPORT_TEST_CLOCK_H_
#define ERS_TESTS_UNIT_STORE_SUPPORT_TEST_CLOCK_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "net/runtime.h"

namespace ers::store::test {

class TestClock final : public net::Runtime {
 public:
  std::int64_t wall_us = 0;
  net::TimePoint now{};
  std::uint64_t random = 4;
  net::TimePoint Now() override { return now; }
  std::int64_t WallMicros() override { return wall_us; }
  std::uint64_t Random() override { return random; }
  std::unique_ptr<net::Stream> Connect(const net::Endpoint&,
                                       net::StreamHandler&) override {
    return nullptr;
  }
  std::unique_ptr<net::Timer> NewTimer(std::function<void()>) override {
    return nullptr;
  }
  void Defer(net::Deferred&) override {}
  void Post(std::function<void()>) override {}
  void RunUntil(const std::function<bool()>&) override {}
};

}  // namespace ers::store::test

#endif  // ERS_TESTS_UNIT_STORE_SUPPORT_TEST_CLOCK_H_
