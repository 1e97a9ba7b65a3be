#include "store/support/eviction_watch.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace ers::store {
namespace {

constexpr net::Duration kWatchTurn = std::chrono::seconds(5);
constexpr net::Duration kLaterAtRest = std::chrono::seconds(25);
// So small a part of the age makes no difference to what goes first.
constexpr int kPartOfAge = 32;
constexpr net::Duration kMaxPeriod = std::chrono::seconds(60);

// Behind `field` in the text; empty: it is not there.
std::optional<std::int64_t> NumberBehind(std::string_view text,
                                         std::string_view field) {
  const std::size_t at = text.find(field);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view number = text.substr(at + field.size());
  std::int64_t value = 0;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::chrono::seconds> EvictionAge(std::string_view stats_items) {
  // For each slab class "items:5:evicted 7" and behind it, of the last of them
  // in whole seconds, "items:5:evicted_time 93".
  constexpr std::string_view kEvicted = ":evicted ";
  std::optional<std::int64_t> least;
  for (std::size_t at = stats_items.find(kEvicted);
       at != std::string_view::npos;) {
    const std::size_t next = stats_items.find(kEvicted, at + kEvicted.size());
    const std::string_view slab_class = stats_items.substr(at, next - at);
    at = next;
    if (NumberBehind(slab_class, kEvicted).value_or(0) == 0) continue;
    const auto age = NumberBehind(slab_class, ":evicted_time ");
    if (age && (!least || *age < *least)) least = age;
  }
  if (!least) return std::nullopt;
  return std::chrono::seconds(std::max<std::int64_t>(*least, 1));
}

bool EvictionWatch::TakeTurn(net::TimePoint now, bool rests) {
  const net::TimePoint::rep ticks = now.time_since_epoch().count();
  net::TimePoint::rep next = next_turn_.load(std::memory_order_relaxed);
  return ticks >= next + (rests ? kLaterAtRest.count() : 0) &&
         next_turn_.compare_exchange_strong(
             next, (now + kWatchTurn).time_since_epoch().count(),
             std::memory_order_relaxed);
}

void EvictionWatch::Set(std::optional<std::chrono::seconds> age) {
  age_s_.store(age ? age->count() : kForEver, std::memory_order_relaxed);
}

std::optional<net::Duration> EvictionWatch::touch_period() const {
  const std::int64_t age = age_s_.load(std::memory_order_relaxed);
  if (age == kForEver) return std::nullopt;
  return std::min<net::Duration>(
      net::Duration(std::chrono::seconds(age)) / kPartOfAge, kMaxPeriod);
}

}  // namespace ers::store
