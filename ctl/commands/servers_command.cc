#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/units.h"
#include "ctl/commands/commands.h"
#include "ctl/support/admin_client.h"
#include "ctl/support/admin_text.h"
#include "ctl/support/report.h"
#include "shared/plain_text.h"
#include "shared/servers_json.h"

namespace ers::ctl {
namespace {

// --in-sync without a name.
constexpr const char* kAllServers = "all";

std::string ServersText(const ClusterInfo& info) {
  std::vector<std::vector<std::string>> rows = {
      {"server", "state", "since", "answers", "memcached", "item-max", "evicts",
       "weight", "incarnation", "p50", "p99", "beside others", "last error"}};
  for (const ServerInfo& server : info.servers) {
    const bool known = !server.version.empty();
    rows.push_back({ServerText(server.name, server.slot),
                    std::string(MemberStateName(server.state)),
                    TimeText(server.since), server.answers ? "yes" : "NO",
                    server.version,
                    known ? cli::BytesText(server.item_size_max) : "?",
                    !known             ? "?"
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
  const std::string view = fmt::format(
      "view {}: {} may be out at once, {} {}", info.epoch,
      proxy::CountText(static_cast<std::uint64_t>(info.max_failures), "server"),
      out, out == 1 ? "is" : "are");
  return view + "\n\n" + Columns(rows);
}

// Of one server, or of all: what must hold before the next one may go. Where
// there is no view, nothing was ever stored.
Status CheckInSync(const std::string& wanted, const Json& info) {
  const bool has_view = info.value("epoch", std::uint64_t{0}) != 0;
  std::string lacking;
  bool found = wanted == kAllServers;
  for (const Json& server : info.value("servers", Json::array())) {
    const std::string name = server.value("name", std::string());
    if (wanted != kAllServers && name != wanted) continue;
    found = true;
    const std::string state = server.value("state", std::string());
    std::string why;
    if (has_view && state != MemberStateName(MemberState::kInSync)) {
      why = "it is " + state;
    } else if (!server.value("reachable", false)) {
      why = server.value("last_error", std::string());
      if (why.empty()) why = "it does not answer";
    }
    if (why.empty()) continue;
    lacking += fmt::format("{}{}: {}", lacking.empty() ? "" : "; ", name, why);
  }
  if (!found) {
    return {StatusCode::kInvalidArgument,
            fmt::format("--in-sync {}: the cluster has no such server: give "
                        "it as the list of servers has it",
                        wanted)};
  }
  if (lacking.empty()) return {};
  return {StatusCode::kUnavailable, "not in sync: " + lacking};
}

Status InSync(const GlobalOptions& global, const std::string& wanted) {
  if (!global.proxy.empty()) {
    const Result<Json> answer = AskAdmin(global, Method::kGet, "/v1/servers");
    return answer ? CheckInSync(wanted, *answer) : answer.error();
  }
  auto client = OpenReader(global);
  if (!client) return client.error();
  const Result<ClusterInfo> info = (*client)->Servers();
  return info ? CheckInSync(wanted, proxy::ServersJson(*info)) : info.error();
}

Ending Servers(const GlobalOptions& global) {
  auto client = OpenReader(global);
  if (!client) return client.error();
  const Result<ClusterInfo> info = (*client)->Servers();
  if (!info) return info.error();
  return PrintRead(global.json ? Line(proxy::ServersJson(*info))
                               : ServersText(*info));
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

Ending ServersOfProxy(const GlobalOptions& global) {
  const Result<Json> answer = AskAdmin(global, Method::kGet, "/status");
  if (!answer) return answer.error();
  const Json known = answer->value("servers", Json());
  if (!known.is_array()) {
    return Status(
        StatusCode::kIncompatible,
        fmt::format("{}: its /status has no servers: is it an ersproxy's "
                    "admin address?",
                    global.proxy));
  }
  Json servers = Json::array();
  for (const Json& server : known) {
    if (server.is_object()) servers.push_back(OfProxy(server));
  }
  return PrintRead(global.json ? Line({{"servers", servers}})
                               : TextOfProxy(servers));
}

}  // namespace

void AddServers(CLI::App& app, Command& chosen) {
  CLI::App* servers =
      app.add_subcommand("servers", "Shows the servers and which answer");
  servers->footer(
      "Examples: ersctl servers --json\n"
      "          ersctl --proxy localhost:11280 servers\n"
      "          ersctl --proxy localhost:11280 servers --in-sync\n"
      "With --proxy and its admin address: what that proxy knows of them, and "
      "how long\neach has taken to answer lately, which no other process "
      "knows. With --in-sync\nit asks them anew.");
  const auto in_sync = std::make_shared<std::string>();
  servers
      ->add_option("--in-sync", *in_sync,
                   "Asks each server whether it has all that it should, shows "
                   "nothing, and fails unless all do, or the one that is named")
      ->expected(0, 1)
      ->default_str(kAllServers)
      ->envname("ERS_IN_SYNC")
      ->type_name("[SERVER]");
  servers->callback([&chosen, in_sync] {
    chosen.run = [&chosen, in_sync]() -> Ending {
      if (!in_sync->empty()) return InSync(chosen.global, *in_sync);
      return chosen.global.proxy.empty() ? Servers(chosen.global)
                                         : ServersOfProxy(chosen.global);
    };
  });
}

}  // namespace ers::ctl
