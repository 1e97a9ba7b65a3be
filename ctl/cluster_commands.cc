#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ctl/commands.h"
#include "ctl/key_text.h"
#include "ctl/proxy_commands.h"
#include "ctl/report.h"

namespace ers::ctl {
namespace {

struct ListArguments {
  std::optional<Width> width;
  bool transitioning = false;
};

Status ListByProxy(const GlobalOptions& global,
                   const ListArguments& arguments) {
  std::vector<std::string> lists;
  if (arguments.transitioning) {
    lists = {"transitioning"};
  } else if (arguments.width) {
    lists = {std::string(WidthName(*arguments.width))};
  } else {
    lists = {"narrow", "wide"};
  }
  return ListAtProxy(global, lists);
}

// One object a line, printed as it is found; JSON is one array.
Status List(const GlobalOptions& global, const ListArguments& arguments) {
  const std::optional<Width> width = arguments.width;
  if (!global.proxy.empty()) return ListByProxy(global, arguments);
  if (arguments.transitioning) {
    return {StatusCode::kInvalidArgument,
            "--transitioning: only an ersproxy knows what it is changing: give "
            "--proxy"};
  }
  auto client = OpenReader(global);
  if (!client) return client.error();
  Status printed;
  bool first = true;
  const auto visit = [&](std::string_view key, const ObjectInfo& info) {
    if (width && info.width != *width) return true;
    if (global.json) {
      std::string line = Line(ObjectJson(key, info));
      line.pop_back();  // the comma comes before the line's end
      printed = Print((first ? "[" : ",\n") + line);
    } else {
      printed = Print(fmt::format("{}\t{}\t{}\t{}\n", KeyText(key),
                                  FormatScheme(info.scheme),
                                  WidthName(info.width), info.length));
    }
    first = false;
    return printed.ok();
  };
  const Status listed = (*client)->List(visit);
  if (!listed.ok()) return listed;
  if (!printed.ok() || !global.json) return printed;
  return Print(first ? "[]\n" : "]\n");
}

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
                               {"last_error", server.last_error}});
  }
  return Line(json);
}

std::string TimeText(std::int64_t unix_seconds) {
  if (unix_seconds == 0) return "-";
  return fmt::format("{:%FT%TZ}",
                     fmt::gmtime(static_cast<std::time_t>(unix_seconds)));
}

std::string NameText(const ServerInfo& server) {
  if (server.slot == server.name) return server.name;
  return fmt::format("{} (for {})", server.name, server.slot);
}

std::string ServersText(const ClusterInfo& info) {
  std::vector<std::vector<std::string>> rows = {
      {"server", "state", "since", "answers", "memcached", "item-max", "evicts",
       "weight", "incarnation", "last error"}};
  for (const ServerInfo& server : info.servers) {
    rows.push_back(
        {NameText(server), std::string(MemberStateName(server.state)),
         TimeText(server.since), server.reachable ? "yes" : "NO",
         server.version,
         server.reachable ? fmt::format("{}", server.item_size_max) : "?",
         !server.reachable  ? "?"
         : server.evictions ? "yes"
                            : "no",
         fmt::format("{}", server.weight),
         fmt::format("{}", server.incarnation), server.last_error});
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

}  // namespace

void AddCluster(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<ListArguments>();
  CLI::App* list = app.add_subcommand("ls", "Lists the objects");
  CLI::Option* width = list->add_option_function<std::string>(
                               "--width",
                               [arguments](const std::string& name) {
                                 arguments->width = name == "wide"
                                                        ? Width::kWide
                                                        : Width::kNarrow;
                               },
                               "Those of this width only")
                           ->check(CLI::IsMember({"narrow", "wide"}))
                           ->type_name("WIDTH");
  list->add_flag("--transitioning", arguments->transitioning,
                 "Those that are being changed now (with --proxy)")
      ->excludes(width);
  list->footer("Example: ersctl ls --width wide");
  list->callback([&chosen, arguments] {
    chosen.run = [&chosen, arguments] {
      return List(chosen.global, *arguments);
    };
  });

  CLI::App* servers =
      app.add_subcommand("servers", "Shows the servers and which answer");
  servers->footer("Example: ersctl servers --json");
  servers->callback(
      [&chosen] { chosen.run = [&chosen] { return Servers(chosen.global); }; });
}

}  // namespace ers::ctl
