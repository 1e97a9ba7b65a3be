#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ctl/admin_client.h"
#include "ctl/admin_text.h"
#include "ctl/commands.h"
#include "ctl/report.h"

namespace ers::ctl {
namespace {

std::string ServersJson(const ClusterInfo& info) {
  Json json = {{"epoch", info.epoch}, {"max_failures", info.max_failures}};
  json["servers"] = Json::array();
  for (const ServerInfo& server : info.servers) {
    json["servers"].push_back({{"name", server.name},
                               {"slot", server.slot},
                               {"weight", server.weight},
                               {"state", MemberStateName(server.state)},
                               {"incarnation", server.incarnation},
                               {"since", server.since},
                               {"reachable", server.reachable},
                               {"version", server.version},
                               {"item_size_max", server.item_size_max},
                               {"evictions", server.evictions},
                               {"last_error", server.last_error},
                               // A handful of requests says nothing of it.
                               {"latency", nullptr}});
  }
  return Line(json);
}

std::string ServersText(const ClusterInfo& info) {
  std::vector<std::vector<std::string>> rows = {
      {"server", "state", "since", "answers", "memcached", "item-max", "evicts",
       "weight", "incarnation", "p50", "p99", "beside others", "last error"}};
  for (const ServerInfo& server : info.servers) {
    rows.push_back(
        {ServerText(server.name, server.slot),
         std::string(MemberStateName(server.state)), TimeText(server.since),
         server.reachable ? "yes" : "NO", server.version,
         server.reachable ? fmt::format("{}", server.item_size_max) : "?",
         !server.reachable  ? "?"
         : server.evictions ? "yes"
                            : "no",
         fmt::format("{}", server.weight),
         fmt::format("{}", server.incarnation), "-", "-", "-",
         server.last_error});
  }
  if (info.epoch == 0) {
    return "no view yet: the first put makes one\n\n" + Columns(rows);
  }
  const auto out = std::count_if(
      info.servers.begin(), info.servers.end(), [](const ServerInfo& server) {
        return server.state != MemberState::kInSync || !server.reachable;
      });
  const std::string view =
      fmt::format("view {}: {} servers may be out at once, {} are", info.epoch,
                  info.max_failures, out);
  return view + "\n\n" + Columns(rows);
}

Status Servers(const GlobalOptions& global) {
  auto client = OpenReader(global);
  if (!client) return client.error();
  const Result<ClusterInfo> info = (*client)->Servers();
  if (!info) return info.error();
  return Print(global.json ? ServersJson(*info) : ServersText(*info));
}

// What a proxy's /status has of a server, under the names of ServersJson.
Json OfProxy(const Json& server) {
  const std::string name = server.value("name", std::string());
  return {{"name", name},
          {"slot", server.value("slot", name)},
          {"state", server.value("state", std::string())},
          {"since", server.value("since_s", std::int64_t{0})},
          {"latency", server.value("latency", Json())}};
}

std::string TextOfProxy(const Json& servers) {
  std::vector<std::vector<std::string>> rows = {
      {"server", "state", "since", "p50", "p99", "beside others"}};
  for (const Json& server : servers) {
    const Json latency =
        server["latency"].is_object() ? server["latency"] : Json::object();
    rows.push_back({ServerText(server["name"], server["slot"]), server["state"],
                    TimeText(server["since"]), TookText(latency, "p50_us"),
                    TookText(latency, "p99_us"), BesideText(latency)});
  }
  return Columns(rows);
}

Status ServersOfProxy(const GlobalOptions& global) {
  const Result<Json> answer = AskAdmin(global, Method::kGet, "/status");
  if (!answer) return answer.error();
  const Json known = answer->value("servers", Json());
  if (!known.is_array()) {
    return {StatusCode::kIncompatible,
            fmt::format("{}: its /status has no servers: is it an ersproxy's "
                        "admin address?",
                        global.proxy)};
  }
  Json servers = Json::array();
  for (const Json& server : known) {
    if (server.is_object()) servers.push_back(OfProxy(server));
  }
  return Print(global.json ? Line({{"servers", servers}})
                           : TextOfProxy(servers));
}

}  // namespace

void AddServers(CLI::App& app, Command& chosen) {
  CLI::App* servers =
      app.add_subcommand("servers", "Shows the servers and which answer");
  servers->footer(
      "Examples: ersctl servers --json\n"
      "          ersctl --proxy localhost:11280 servers\n"
      "With --proxy and its admin address: what that proxy knows of them, and "
      "how long\neach has taken to answer lately, which no other process "
      "knows.");
  servers->callback([&chosen] {
    chosen.run = [&chosen]() -> Ending {
      return chosen.global.proxy.empty() ? Servers(chosen.global)
                                         : ServersOfProxy(chosen.global);
    };
  });
}

}  // namespace ers::ctl
