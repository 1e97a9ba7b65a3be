#include "net/latency.h"

#include <catch2/catch.hpp>
#include <chrono>

namespace ers::net {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds(100)};

TEST_CASE("a quantile is at most an eighth over what was seen") {
  for (const Duration took :
       {Duration(microseconds(1)), Duration(microseconds(7)),
        Duration(microseconds(8)), Duration(microseconds(333)),
        Duration(milliseconds(1)), Duration(milliseconds(50)),
        Duration(seconds(3)), Duration(seconds(59))}) {
    LatencyHistogram histogram;
    histogram.Record(took, kStart);
    const std::optional<Duration> median = histogram.Quantile(0.5, 1);
    REQUIRE(median);
    CHECK(*median > took);
    CHECK(*median <= took + std::max<Duration>(took / 8, microseconds(1)));
  }
}

TEST_CASE("quantiles are those of what was recorded") {
  LatencyHistogram histogram;
  for (int i = 0; i < 95; ++i) histogram.Record(microseconds(200), kStart);
  for (int i = 0; i < 5; ++i) histogram.Record(milliseconds(50), kStart);
  CHECK(histogram.Count() == 100);
  CHECK(*histogram.Quantile(0.5) < microseconds(226));
  CHECK(*histogram.Quantile(0.95) < microseconds(226));
  CHECK(*histogram.Quantile(0.96) >= milliseconds(50));
  CHECK(*histogram.Quantile(0.99) < milliseconds(57));
}

TEST_CASE("few replies say nothing") {
  LatencyHistogram histogram;
  CHECK_FALSE(histogram.Quantile(0.5, 0));
  for (int i = 0; i < 19; ++i) histogram.Record(milliseconds(1), kStart);
  CHECK_FALSE(histogram.Quantile(0.99));
  histogram.Record(milliseconds(1), kStart);
  CHECK(histogram.Quantile(0.99));
}

TEST_CASE("what was seen long ago is forgotten") {
  LatencyHistogram histogram;
  for (int i = 0; i < 1000; ++i) histogram.Record(milliseconds(50), kStart);
  TimePoint now = kStart;
  for (int i = 0; i < 12; ++i) {
    now += LatencyHistogram::kHalveEvery;
    for (int j = 0; j < 100; ++j) histogram.Record(microseconds(100), now);
  }
  CHECK(*histogram.Quantile(0.99) < milliseconds(1));
  // A pause counts as the time it took.
  now += seconds(600);
  histogram.Record(milliseconds(7), now);
  CHECK(histogram.Count() == 1);
}

TEST_CASE("beyond two minutes all is as long") {
  LatencyHistogram histogram;
  histogram.Record(std::chrono::hours(1), kStart);
  histogram.Record(Duration(-5), kStart);
  CHECK(histogram.Count() == 2);
  CHECK(*histogram.Quantile(1, 1) > seconds(100));
}

TEST_CASE("long replies do not make short ones seem slow") {
  Latency latency;
  for (int i = 0; i < 50; ++i) {
    latency.Record(microseconds(100), 0, kStart);
    latency.Record(milliseconds(9), 1 << 20, kStart);
  }
  CHECK(*latency.OfReplies(1024).Quantile(0.99) < microseconds(114));
  CHECK(*latency.OfReplies(256 << 10 | 1).Quantile(0.5) > milliseconds(9));
  CHECK_FALSE(latency.OfReplies(4096).Quantile(0.5));
  CHECK(latency.All().Count() == 100);
}

}  // namespace
}  // namespace ers::net
