#include "admin/facts.h"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "admin/health.h"
#include "jobs/job_json.h"
#include "jobs/json_fields.h"
#include "metrics/server_latency.h"
#include "shared/garbage_json.h"

namespace ers::proxy {

namespace {

// "from" is in the unit of the policy: idle seconds, or reads.
nlohmann::ordered_json TiersJson(const std::vector<Tier>& tiers) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Tier& tier : tiers) {
    all.push_back({{"from", tier.from}, {"width", tier.width}});
  }
  return all;
}

nlohmann::ordered_json PoliciesJson(const Policies& policies,
                                    const PolicyCounts& counts) {
  nlohmann::ordered_json all;
  all["widen"]["tiers"] = TiersJson(policies.widen.tiers);
  SetBytes(all["widen"], "prefix", policies.widen.prefix);
  all["widen"]["every_s"] = policies.widen.every_seconds;
  all["narrow"]["tiers"] = TiersJson(policies.narrow.tiers);
  SetBytes(all["narrow"], "prefix", policies.narrow.prefix);
  all["narrow"]["within_s"] = policies.narrow.within_seconds;
  all["pack"]["idle_s"] = policies.pack.idle_seconds;
  SetBytes(all["pack"], "prefix", policies.pack.prefix);
  all["pack"]["every_s"] = policies.pack.every_seconds;
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

std::int64_t Micros(net::Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration)
      .count();
}

// Null where there is none.
nlohmann::ordered_json MicrosJson(const std::optional<net::Duration>& time) {
  return time ? nlohmann::ordered_json(Micros(*time))
              : nlohmann::ordered_json();
}

// To thousandths: more digits mean nothing.
double Rounded(double number) { return std::round(number * 1000) / 1000; }

nlohmann::ordered_json LatencyJson(const ServerLatency& latency) {
  nlohmann::ordered_json json = {{"p50_us", Micros(latency.p50)},
                                 {"p99_us", Micros(latency.p99)}};
  if (latency.beside_others) json["beside_others"] = *latency.beside_others;
  return json;
}

nlohmann::ordered_json MemoryJson(
    const std::optional<store::MemoryUse>& memory) {
  if (!memory) return {};
  return {{"used_bytes", memory->used_bytes},
          {"limit_bytes", memory->limit_bytes},
          {"items", memory->items},
          {"evictions", memory->evictions}};
}

nlohmann::ordered_json RequestsJson(const Facts& facts) {
  nlohmann::ordered_json json = {
      {"seconds", Rounded(facts.lately.seconds)},
      {"errors_per_second", Rounded(facts.lately.errors_per_second)}};
  nlohmann::ordered_json history;
  history["errors_per_second"] = nlohmann::ordered_json::array();
  for (const RequestRates& second : facts.history) {
    history["errors_per_second"].push_back(Rounded(second.errors_per_second));
  }
  for (std::size_t i = 0; i < std::size(kRequestKinds); ++i) {
    const std::string kind(kRequestKinds[i]);
    const RequestRates::Rate& rate = facts.lately.of[i];
    json[kind] = {{"per_second", Rounded(rate.per_second)},
                  {"p50_us", MicrosJson(rate.p50)},
                  {"p99_us", MicrosJson(rate.p99)}};
    nlohmann::ordered_json rates = nlohmann::ordered_json::array();
    nlohmann::ordered_json times = nlohmann::ordered_json::array();
    for (const RequestRates& second : facts.history) {
      rates.push_back(Rounded(second.of[i].per_second));
      times.push_back(MicrosJson(second.of[i].p99));
    }
    history[kind] = {{"per_second", rates}, {"p99_us", times}};
  }
  json["history"] = history;
  return json;
}

nlohmann::ordered_json CensusJson(const Census& census) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& [form, sum] : census.sums) {
    all.push_back({{"scheme", form.first},
                   {"width", form.second},
                   {"objects", sum.objects},
                   {"bytes", sum.bytes}});
  }
  return all;
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

void AddServers(const Facts& facts,
                const std::vector<std::optional<ServerLatency>>& latency,
                nlohmann::ordered_json& root) {
  root["servers"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < facts.servers.size(); ++i) {
    const Facts::Server& server = facts.servers[i];
    root["servers"].push_back({{"name", server.name},
                               {"slot", server.slot},
                               {"state", server.state},
                               {"since_s", server.since_s}});
    root["servers"].back()["memory"] = MemoryJson(server.memory);
    if (i >= latency.size() || !latency[i]) continue;
    root["servers"].back()["latency"] = LatencyJson(*latency[i]);
  }
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
  root["time_s"] = facts.time_s;
  root["started_s"] = facts.started_s;
  root["uptime_s"] = facts.uptime_s;
  root["state"] = StateOf(facts);
  root["not_serving_because"] = facts.serving.status.message();
  root["threads"] = facts.threads;
  root["connections"] = facts.connections;
  root["max_connections"] = facts.max_connections;
  root["tunnels"] = {{"open", facts.tunnels.open},
                     {"opened", facts.tunnels.opened},
                     {"refused", facts.tunnels.refused},
                     {"sent_bytes", facts.tunnels.sent_bytes},
                     {"received_bytes", facts.tunnels.received_bytes}};
  root["memory_in_flight_bytes"] = facts.memory_bytes;
  root["max_memory_in_flight_bytes"] = facts.memory_limit_bytes;
  root["listeners"] = facts.listeners;
  root["server_list"] = facts.server_list;
  root["placement"] = {{"distribution", facts.distribution},
                       {"hash", facts.hash},
                       {"hash_tag", facts.hash_tag}};
  root["epoch"] = facts.epoch;
  root["max_failures"] = facts.max_failures;
  root["last_event"] = facts.last_event;
  const std::vector<std::optional<ServerLatency>> latency =
      LatencyOf(facts.totals.latency);
  const Health health = HealthOf(facts, latency);
  root["health"] = kHealthStates[static_cast<std::size_t>(health.state)];
  root["health_because"] = health.because;
  AddServers(facts, latency, root);
  root["requests"] = RequestsJson(facts);
  root["objects"] = CensusJson(facts.census);
  root["objects_counted_s"] = facts.census.counted_at_s;
  for (const auto& [name, value] : StatValues(facts.totals)) {
    root["counters"][std::string(name)] = value;
  }
  root["jobs"] = nlohmann::ordered_json::array();
  for (const Job& job : facts.jobs) root["jobs"].push_back(JobJson(job));
  root["policies"] = PoliciesJson(facts.policies, facts.policy_counts);
  root["garbage"] = GarbageTotalsJson(facts.garbage);
  root["backfill"] = BackfillJson(facts.backfill);
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace ers::proxy
