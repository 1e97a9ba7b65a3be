// How many requests came lately, and how long they took.
#include "metrics/recent_requests.h"

#include <catch2/catch.hpp>
#include <chrono>

#include "metrics/commands.h"

using namespace ers;
using namespace ers::proxy;
using namespace std::chrono_literals;

namespace {

struct Fixture {
  RequestMeter meter;
  RecentRequests recent;
  net::TimePoint now{};

  void Second(net::Duration length = 1s) {
    now += length;
    RequestSums sums;
    meter.AddTo(sums);
    recent.Take(sums, now);
  }
  static const RequestRates::Rate& Of(const RequestRates& rates,
                                      RequestKind kind) {
    return rates.of[static_cast<std::size_t>(kind)];
  }
};

}  // namespace

TEST_CASE("a quantile lies in the bucket that has it") {
  HistogramSum sum;
  CHECK_FALSE(Quantile(sum, 0.5));
  sum.buckets[3] = 90;  // 50 to 100 us
  sum.buckets[6] = 10;  // 500 us to 1 ms
  CHECK(*Quantile(sum, 0.45) == 75us);
  CHECK(*Quantile(sum, 0.9) == 100us);
  CHECK(*Quantile(sum, 0.95) == 750us);
  CHECK(*Quantile(sum, 1) == 1ms);
  sum = {};
  sum.buckets.back() = 1;  // beyond the last bound
  CHECK(*Quantile(sum, 0.5) == 10s);
}

TEST_CASE_METHOD(Fixture, "rates are of the last seconds alone") {
  CHECK(recent.Lately().seconds == 0);
  Second();
  CHECK(recent.Lately().seconds == 0);
  meter.Add(Command::kGet, RequestResult::kHit, 150us);
  meter.Add(Command::kMg, RequestResult::kMiss, 150us);
  meter.Add(Command::kGat, RequestResult::kServerError, 150us);
  meter.Add(Command::kMs, RequestResult::kOutOfMemory, 150us);
  meter.Add(Command::kDelete, RequestResult::kHit, 150us);
  Second(2s);
  RequestRates rates = recent.Lately();
  CHECK(rates.seconds == 2);
  CHECK(Of(rates, RequestKind::kGet).per_second == 1.5);
  CHECK(Of(rates, RequestKind::kSet).per_second == 0.5);
  CHECK(rates.errors_per_second == 1);
  CHECK(Of(rates, RequestKind::kGet).p99 > 100us);
  CHECK(Of(rates, RequestKind::kGet).p99 <= 200us);
  for (std::size_t i = 0; i < RecentRequests::kLately; ++i) Second();
  rates = recent.Lately();
  CHECK(Of(rates, RequestKind::kGet).per_second == 0);
  CHECK_FALSE(Of(rates, RequestKind::kGet).p99);
  CHECK(rates.errors_per_second == 0);
}

TEST_CASE_METHOD(Fixture, "the history has the newest last, and an end") {
  for (std::size_t i = 0; i < 2 * RecentRequests::kSamples; ++i) {
    Second();
    meter.Add(Command::kSet, RequestResult::kStored, 1ms);
  }
  meter.Add(Command::kSet, RequestResult::kStored, 1ms);
  Second();
  const std::vector<RequestRates> history = recent.History();
  REQUIRE(history.size() == RecentRequests::kSamples - 1);
  CHECK(Of(history.front(), RequestKind::kSet).per_second == 1);
  CHECK(Of(history.back(), RequestKind::kSet).per_second == 2);
}
