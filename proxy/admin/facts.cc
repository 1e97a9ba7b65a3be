#include "admin/facts.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "jobs/job_json.h"
#include "jobs/json_fields.h"
#include "metrics/server_latency.h"
#include "shared/garbage_json.h"

namespace ers::proxy {

namespace {

nlohmann::ordered_json PoliciesJson(const PolicyCounts& counts) {
  nlohmann::ordered_json all;
  for (std::size_t i = 0; i < std::size(kPolicyKinds); ++i) {
    nlohmann::ordered_json& one = all[std::string(kPolicyKinds[i])];
    for (std::size_t j = 0; j < std::size(kPolicyOutcomes); ++j) {
      one[std::string(kPolicyOutcomes[j])] = counts.objects[i][j];
    }
    one["waiting"] = counts.waiting[i];
    one["moved_bytes"] = counts.moved_bytes[i];
  }
  all["widen"]["last_look"] = counts.last_scan;
  return all;
}

nlohmann::ordered_json LatencyJson(const ServerLatency& latency) {
  const auto micros = [](net::Duration duration) {
    return std::chrono::duration_cast<std::chrono::microseconds>(duration)
        .count();
  };
  nlohmann::ordered_json json = {{"p50_us", micros(latency.p50)},
                                 {"p99_us", micros(latency.p99)}};
  if (latency.beside_others) json["beside_others"] = *latency.beside_others;
  return json;
}

nlohmann::ordered_json GarbageTotalsJson(const GarbageTotals& totals) {
  nlohmann::ordered_json json = {{"collections", totals.collections},
                                 {"dropped", totals.dropped},
                                 {"dropped_bytes", totals.dropped_bytes},
                                 {"last_ended", totals.ended}};
  if (totals.ended != 0) json["last"] = GarbageJson(totals.last, false);
  return json;
}

nlohmann::ordered_json BackfillJson(const BackfillState& backfill) {
  nlohmann::ordered_json json = {
      {"servers", backfill.servers},
      {"walk", backfill.walk},
      {"objects", backfill.objects},
      {"objects_total", backfill.total},
      {"seconds_left", nullptr},
      {"last_error", backfill.last_error},
      {"bytes_per_second", backfill.bytes_per_second},
      {"repaired", backfill.repaired},
      {"lost", backfill.lost},
      {"blocks", backfill.blocks},
      {"bytes_read", backfill.bytes_read},
      {"bytes_written", backfill.bytes_written}};
  if (backfill.seconds_left >= 0) json["seconds_left"] = backfill.seconds_left;
  return json;
}

std::string_view StateOf(const Facts& facts) {
  if (facts.stopping) return "stopping";
  if (facts.serving.serves()) return "serving";
  return facts.serving.known ? "not serving" : "starting";
}

}  // namespace

std::string TransitioningText(const Facts& facts) {
  nlohmann::ordered_json root;
  root["objects"] = nlohmann::ordered_json::array();
  for (const std::string& key : facts.transitioning) {
    SetBytes(root["objects"].emplace_back(), "key", key);
  }
  return root.dump() + "\n";
}

std::string StatusText(const Facts& facts) {
  nlohmann::ordered_json root;
  root["version"] = facts.version;
  root["uptime_s"] = facts.uptime_s;
  root["state"] = StateOf(facts);
  root["not_serving_because"] = facts.serving.status.message();
  root["threads"] = facts.threads;
  root["connections"] = facts.connections;
  root["max_connections"] = facts.max_connections;
  root["memory_in_flight_bytes"] = facts.memory_bytes;
  root["max_memory_in_flight_bytes"] = facts.memory_limit_bytes;
  root["listeners"] = facts.listeners;
  root["cluster"] = {{"servers", facts.server_list},
                     {"max_failures", facts.max_failures}};
  root["servers"] = nlohmann::ordered_json::array();
  const std::vector<std::optional<ServerLatency>> latency =
      LatencyOf(facts.totals.latency);
  for (std::size_t i = 0; i < facts.servers.size(); ++i) {
    const Facts::Server& server = facts.servers[i];
    root["servers"].push_back({{"name", server.name},
                               {"slot", server.slot},
                               {"state", server.state},
                               {"since_s", server.since_s}});
    if (i >= latency.size() || !latency[i]) continue;
    root["servers"].back()["latency"] = LatencyJson(*latency[i]);
  }
  for (const auto& [name, value] : StatValues(facts.totals)) {
    root["counters"][std::string(name)] = value;
  }
  root["jobs"] = nlohmann::ordered_json::array();
  for (const Job& job : facts.jobs) root["jobs"].push_back(JobJson(job));
  root["policies"] = PoliciesJson(facts.policies);
  root["garbage"] = GarbageTotalsJson(facts.garbage);
  root["backfill"] = BackfillJson(facts.backfill);
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace ers::proxy
