#include "ctl/global_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/units.h"
#include "ctl/support/arguments.h"
#include "ctl/support/environment.h"

namespace ers::ctl {
namespace {

// The two of which one names the cluster.
constexpr std::pair<const char*, const char*> kNaming[] = {
    {"--servers", "ERS_SERVERS"}, {"--proxy", "ERS_PROXY"}};

// The file's line of an option has its name without the dashes.
constexpr std::string_view kInFile[] = {
    "servers",      "proxy",           "state",
    "max-failures", "min-redundancy",  "token-file",
    "timeout",      "request-timeout", "json"};

Status Bad(std::string message) {
  return {StatusCode::kInvalidArgument, std::move(message)};
}

Status Both(const std::string& one, const std::string& other) {
  return Bad(fmt::format("give {} or {}, not both", one, other));
}

bool Given(const CLI::App& app, const char* option) {
  return app.get_option(option)->count() > 0;
}
bool NamesCluster(const CLI::App& app) {
  return Given(app, "--servers") || Given(app, "--proxy");
}

// As if it stood on the command line.
void Set(CLI::App& app, const std::string& option,
         const std::vector<std::string>& values) {
  CLI::Option* const taken = app.get_option(option);
  taken->add_result(values);
  taken->run_callback();
}

Status TakeEnvironment(CLI::App& app) {
  if (NamesCluster(app)) return {};
  const auto is_set = [](const auto& naming) {
    return !Environment(naming.second).empty();
  };
  if (std::all_of(std::begin(kNaming), std::end(kNaming), is_set)) {
    return Bad(
        "the environment has ERS_SERVERS and ERS_PROXY: unset one, or give "
        "--servers or --proxy");
  }
  for (const auto& [option, variable] : kNaming) {
    const std::string value = Environment(variable);
    if (!value.empty()) Set(app, option, {value});
  }
  return {};
}

// Throws what the parser throws.
Status TakeItems(CLI::App& app, const std::string& path) {
  const bool named = NamesCluster(app);
  for (const CLI::ConfigItem& item : CLI::ConfigBase().from_file(path)) {
    const std::string name = item.fullname();
    if (std::find(std::begin(kInFile), std::end(kInFile), name) ==
        std::end(kInFile)) {
      return Bad(
          fmt::format("{}: there is no \"{}\": a line is NAME = VALUE, "
                      "and NAME one of {}",
                      path, name, fmt::join(kInFile, ", ")));
    }
    const std::string option = "--" + name;
    const bool names = name == "servers" || name == "proxy";
    if (names ? named : Given(app, option.c_str())) continue;
    try {
      Set(app, option, item.inputs);
    } catch (const CLI::Error& error) {
      return Bad(fmt::format("{}: {}", path, error.what()));
    }
  }
  if (!named && Given(app, "--servers") && Given(app, "--proxy")) {
    return Bad(fmt::format("{}: it has servers and proxy: keep one", path));
  }
  return {};
}

Status TakeFile(CLI::App& app, const GlobalOptions& global) {
  const bool by_default = global.config_file.empty();
  const std::string path =
      by_default ? DefaultConfigFile() : global.config_file;
  std::error_code error;
  if (by_default && (path.empty() || !std::filesystem::exists(path, error))) {
    return {};
  }
  try {
    return TakeItems(app, path);
  } catch (const CLI::FileError&) {
    return Bad(fmt::format("--config {}: it cannot be read", path));
  } catch (const CLI::Error& error_in_file) {
    return Bad(fmt::format("{}: {}", path, error_in_file.what()));
  }
}

}  // namespace

std::string DefaultConfigFile() {
  const std::string folder = FolderOf("XDG_CONFIG_HOME", "/.config");
  return folder.empty() ? "" : folder + "/ersctl.toml";
}

void AddGlobalOptions(CLI::App& app, GlobalOptions& global) {
  app.add_option("--servers", global.servers,
                 "Every server of the cluster: host:port[:weight],"
                 "[IPv6]:port,/unix/socket,... (environment: ERS_SERVERS)")
      ->type_name("LIST");
  app.add_option("--proxy", global.proxy,
                 "The admin address of an ersproxy, which knows the servers: "
                 "nothing else need be reachable from here (environment: "
                 "ERS_PROXY)")
      ->type_name("ADDRESS");
  app.add_option("--config", global.config_file,
                 "Lines NAME = VALUE for these options (default: "
                 "${XDG_CONFIG_HOME:-~/.config}/libers/ersctl.toml)")
      ->type_name("FILE");
  app.add_option("--state", global.state_file,
                 "Where to keep the newest view of the cluster; - for nowhere "
                 "(default: one file per cluster in "
                 "${XDG_STATE_HOME:-~/.local/state}/libers)")
      ->envname("ERS_STATE")
      ->type_name("FILE");
  app.add_option("--max-failures", global.max_failures,
                 "Servers that may die: fixed when a cluster is first used "
                 "(default: as the cluster has it)")
      ->check(CLI::Range(1, 254))
      ->type_name("F");
  app.add_option("--min-redundancy", global.min_redundancy,
                 "Refuse to store a value while so many servers are out that "
                 "fewer further ones than this may die (default: 0)")
      ->check(CLI::Range(0, 254))
      ->type_name("N");
  app.add_option("--token-file", global.token_file,
                 "Holds the token of the admin port, where it has one")
      ->envname("ERS_ADMIN_TOKEN_FILE")
      ->type_name("FILE");
  app.add_option("--timeout", global.timeout_seconds,
                 "Give up after this long (default: 30)")
      ->transform(cli::AsSeconds())
      ->check(CLI::Range(0.1, 86400.0))
      ->type_name("SECONDS");
  app.add_option("--request-timeout", global.request_timeout_seconds,
                 "A server that is silent for this long counts as dead "
                 "(default: 1)")
      ->transform(cli::AsSeconds())
      ->check(CLI::Range(0.1, 86400.0))
      ->type_name("SECONDS");
  app.add_flag("--json", global.json, "Results and errors as JSON");
}

Status TakeDefaults(CLI::App& app, GlobalOptions& global) {
  if (Given(app, "--servers") && Given(app, "--proxy")) {
    return Both("--servers", "--proxy");
  }
  std::vector<std::string> of_servers;
  for (const char* option : {"--max-failures", "--min-redundancy"}) {
    if (Given(app, option)) of_servers.emplace_back(option);
  }
  Status taken = TakeEnvironment(app);
  if (taken.ok()) taken = TakeFile(app, global);
  // A proxy has its own.
  if (taken.ok() && Given(app, "--proxy") && !of_servers.empty()) {
    return Both("--proxy", of_servers.front());
  }
  return taken;
}

}  // namespace ers::ctl
