#include "admin/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

namespace ers::proxy {
namespace {

// A label's value, as the format wants it.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '\\' || c == '"') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

class Metrics {
 public:
  void Begin(std::string_view name, std::string_view type,
             std::string_view help) {
    name_ = name;
    fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n",
                   name, help, name, type);
  }
  void Add(std::string_view labels, std::uint64_t value) {
    const std::string_view open = labels.empty() ? "" : "{";
    const std::string_view close = labels.empty() ? "" : "}";
    fmt::format_to(std::back_inserter(text_), "{}{}{}{} {}\n", name_, open,
                   labels, close, value);
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  std::string_view name_;
};

// The rows of one metric stand together, also where the table parts them.
void AddCounters(const Facts& facts, Metrics& metrics) {
  for (std::size_t i = 0; i < kCounters; ++i) {
    const CounterInfo& first = kCounterTable[i];
    const auto same = [&first](const CounterInfo& row) {
      return row.metric == first.metric;
    };
    if (first.metric.empty() ||
        std::any_of(kCounterTable.begin(), kCounterTable.begin() + i, same)) {
      continue;
    }
    metrics.Begin(first.metric, "counter", first.help);
    for (std::size_t j = i; j < kCounters; ++j) {
      if (!same(kCounterTable[j])) continue;
      metrics.Add(kCounterTable[j].labels, facts.counters[j]);
    }
  }
}

}  // namespace

std::string StatusText(const Facts& facts) {
  nlohmann::ordered_json root;
  root["version"] = facts.version;
  root["uptime_s"] = facts.uptime_s;
  root["state"] = facts.stopping ? "stopping" : "serving";
  root["threads"] = facts.threads;
  root["connections"] = facts.connections;
  root["max_connections"] = facts.max_connections;
  root["listeners"] = facts.listeners;
  root["servers"] = nlohmann::ordered_json::array();
  for (const Facts::Server& server : facts.servers) {
    root["servers"].push_back({{"name", server.name}, {"state", server.state}});
  }
  for (std::size_t i = 0; i < kCounters; ++i) {
    const std::string_view name = kCounterTable[i].stat;
    if (!name.empty()) {
      root["counters"][std::string(name)] = facts.counters[i];
    }
  }
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

std::string MetricsText(const Facts& facts) {
  Metrics metrics;
  AddCounters(facts, metrics);
  metrics.Begin("ersproxy_connections_open", "gauge", "Connections of clients");
  metrics.Add("", static_cast<std::uint64_t>(facts.connections));
  metrics.Begin("ersproxy_connections_limit", "gauge",
                "Connections of clients that are allowed");
  metrics.Add("", static_cast<std::uint64_t>(facts.max_connections));
  metrics.Begin("ersproxy_uptime_seconds", "gauge", "Seconds since the start");
  metrics.Add("", facts.uptime_s);
  metrics.Begin("ersproxy_server_state", "gauge",
                "1 for the state that each memcached server is in");
  for (const Facts::Server& server : facts.servers) {
    metrics.Add(fmt::format("server={},state={}", Quoted(server.name),
                            Quoted(server.state)),
                1);
  }
  metrics.Begin("ersproxy_build_info", "gauge", "1, with the version");
  metrics.Add(fmt::format("version={}", Quoted(facts.version)), 1);
  return metrics.Take();
}

}  // namespace ers::proxy
