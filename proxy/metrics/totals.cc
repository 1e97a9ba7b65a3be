#include "metrics/totals.h"

#include <algorithm>

namespace ers::proxy {

void Totals::Add(const Counters& more) {
  for (std::size_t i = 0; i < kCounters; ++i) {
    counters[i] += more.Get(static_cast<Counter>(i));
  }
}

void Totals::Add(const store::SessionCounters& more) {
  for (std::size_t i = 0; i < kStoreRows; ++i) {
    store[i] += kStoreTable[i].count(more.store).Get();
  }
  links.resize(std::max(links.size(), more.links.size()));
  latency.resize(links.size());
  for (std::size_t i = 0; i < more.links.size(); ++i) {
    for (std::size_t j = 0; j < kLinkRows; ++j) {
      links[i][j] += (more.links[i].*kLinkTable[j].count).Get();
    }
    latency[i].Add(more.links[i].latency.All());
  }
}

std::vector<std::pair<std::string_view, std::uint64_t>> StatValues(
    const Totals& totals) {
  std::vector<std::pair<std::string_view, std::uint64_t>> values;
  const auto add = [&values](std::string_view name, std::uint64_t value) {
    if (!values.empty() && values.back().first == name) {
      values.back().second += value;
    } else if (!name.empty()) {
      values.emplace_back(name, value);
    }
  };
  for (std::size_t i = 0; i < kCounters; ++i) {
    add(kCounterTable[i].stat, totals.counters[i]);
  }
  for (std::size_t i = 0; i < kStoreRows; ++i) {
    add(kStoreTable[i].stat, totals.store[i]);
  }
  return values;
}

}  // namespace ers::proxy
