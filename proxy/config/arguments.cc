#include "config/arguments.h"

#include <string_view>

#include "config/load.h"
#include "config/yaml_value.h"

namespace ers::proxy {
namespace {

using Values = Option::Values;

// "a,b" as "a" and "b".
std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

void AddOption(CLI::App& app, const Setting& setting, Arguments& arguments) {
  const Option& option = setting.option;
  const std::string name(option.name);
  const std::string help(option.help);
  CLI::Option* added = nullptr;
  if (option.values == Values::kRepeated) {
    added = app.add_option_function<std::vector<std::string>>(
        name,
        [&](const std::vector<std::string>& texts) {
          arguments.settings.emplace_back(&setting, texts);
        },
        help);
  } else {
    added = app.add_option_function<std::string>(
        name,
        [&](const std::string& text) {
          arguments.settings.emplace_back(&setting, std::vector{text});
        },
        help);
  }
  added->type_name(std::string(option.type));
  if (!option.environment.empty()) {
    added->envname(std::string(option.environment));
  }
}

// "-u,--user" as "--user".
std::string LongName(std::string_view option) {
  return std::string(option.substr(option.find("--")));
}

YamlValue ValueOf(const Setting& setting,
                  const std::vector<std::string>& texts) {
  const std::string option = LongName(setting.option.name);
  const std::string path(setting.name);
  switch (setting.option.values) {
    case Values::kOne:
      return YamlValue::OfOption(option, path, texts.front());
    case Values::kRepeated:
      return YamlValue::OfOption(option, path, texts);
    case Values::kCommas:
      break;
  }
  return YamlValue::OfOption(option, path, Split(texts.front()));
}

// What the command line says goes before the file.
Status Override(const Arguments& arguments, ServerOptions& options) {
  for (const auto& [setting, texts] : arguments.settings) {
    const YamlValue value = ValueOf(*setting, texts);
    Status status = setting->read(value, options);
    if (!status.ok()) return status;
    options.places[value.path()] = value.place();
  }
  options.port_file = arguments.port_file;
  return {};
}

}  // namespace

void AddArguments(CLI::App& app, Arguments& arguments) {
  app.add_option("--config", arguments.config,
                 "Settings, in YAML; options of the command line override "
                 "them; SIGHUP reads it again")
      ->type_name("FILE");
  app.add_option("--check-config", arguments.check_config,
                 "Only check whether such a file is good: exit code 0 or 2")
      ->type_name("FILE");
  app.add_option("--import", arguments.import,
                 "Only print settings that are those of a pool of twemproxy's "
                 "nutcracker.yml or mcrouter's JSON, and what they leave out")
      ->type_name("FILE");
  app.add_option("--pool", arguments.pool,
                 "The pool to import, where the file has several")
      ->type_name("NAME");
  app.add_flag("--list-metrics", arguments.list_metrics)
      ->group("");  // makes docs/reference/metrics.md
  for (const Setting& setting : Settings()) {
    if (!setting.option.name.empty()) AddOption(app, setting, arguments);
  }
  app.add_option("--port-file", arguments.port_file,
                 "Gets the addresses listened on, one a line, the admin "
                 "port's last")
      ->type_name("FILE");
}

Result<ServerOptions> OptionsOf(const Arguments& arguments) {
  const bool checks = !arguments.check_config.empty();
  const std::string& file = checks ? arguments.check_config : arguments.config;
  ServerOptions options;
  if (!file.empty()) {
    Result<ServerOptions> loaded = LoadOptions(file);
    if (!loaded) return loaded;
    options = std::move(*loaded);
  }
  Status status = Override(arguments, options);
  if (!status.ok()) return Fail(std::move(status));
  return options;
}

}  // namespace ers::proxy
