#include "store/eviction_watch.h"

#include <algorithm>
#include <charconv>

namespace ers::store {
namespace {

constexpr net::Duration kTurn = std::chrono::seconds(5);
// So small a part of the age makes no difference to what goes first.
constexpr int kPartOfAge = 32;
constexpr net::Duration kMostPeriod = std::chrono::seconds(60);

}  // namespace

std::optional<std::chrono::seconds> EvictionAge(std::string_view stats_items) {
  // "items:5:evicted_time 93", a line for each slab class.
  constexpr std::string_view kField = ":evicted_time ";
  std::int64_t least = 0;  // a class that has evicted nothing tells 0
  for (std::size_t at = stats_items.find(kField); at != std::string_view::npos;
       at = stats_items.find(kField, at + kField.size())) {
    const std::string_view number = stats_items.substr(at + kField.size());
    std::int64_t age = 0;
    std::from_chars(number.data(), number.data() + number.size(), age);
    if (age > 0 && (least == 0 || age < least)) least = age;
  }
  if (least == 0) return std::nullopt;
  return std::chrono::seconds(least);
}

bool EvictionWatch::TakeTurn(net::TimePoint now) {
  const net::TimePoint::rep ticks = now.time_since_epoch().count();
  net::TimePoint::rep next = next_turn_.load(std::memory_order_relaxed);
  return ticks >= next && next_turn_.compare_exchange_strong(
                              next, (now + kTurn).time_since_epoch().count(),
                              std::memory_order_relaxed);
}

void EvictionWatch::Set(std::optional<std::chrono::seconds> age) {
  age_s_.store(age ? age->count() : kForEver, std::memory_order_relaxed);
}

std::optional<net::Duration> EvictionWatch::touch_period() const {
  const std::int64_t age = age_s_.load(std::memory_order_relaxed);
  if (age == kForEver) return std::nullopt;
  return std::min<net::Duration>(
      net::Duration(std::chrono::seconds(age)) / kPartOfAge, kMostPeriod);
}

}  // namespace ers::store
