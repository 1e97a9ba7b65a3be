#include "config/load.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "config/yaml_value.h"

namespace ers::proxy {
namespace {

// Names of the keys of the mapping at `path`, in the order of the settings.
std::vector<std::string_view> KeysAt(std::string_view path) {
  std::vector<std::string_view> keys;
  for (const Setting& setting : Settings()) {
    std::string_view name = setting.name;
    if (!path.empty()) {
      if (!name.starts_with(path) || name[path.size()] != '.') continue;
      name.remove_prefix(path.size() + 1);
    }
    name = name.substr(0, name.find('.'));
    if (keys.empty() || keys.back() != name) keys.push_back(name);
  }
  return keys;
}

Status ReadMapping(const YamlValue& mapping, ServerOptions& options) {
  const Result<YamlValue::Entries> entries =
      mapping.Mapping(KeysAt(mapping.path()));
  if (!entries) return entries.error();
  for (const auto& [name, value] : *entries) {
    const auto settings = Settings();
    const auto setting = std::find_if(
        settings.begin(), settings.end(),
        [&value](const Setting& each) { return each.name == value.path(); });
    Status status = setting != settings.end() ? setting->read(value, options)
                                              : ReadMapping(value, options);
    if (!status.ok()) return status;
    options.places[value.path()] = value.place();
  }
  for (const Section& section : Sections()) {
    if (section.name != mapping.path()) continue;
    return section.check(mapping, options);
  }
  return {};
}

}  // namespace

Result<ServerOptions> LoadOptions(const std::string& file) {
  const Result<YamlValue> root = YamlValue::Load(file);
  if (!root) return Fail(root.error());
  ServerOptions options;
  options.config_file = file;
  Status status = ReadMapping(*root, options);
  if (!status.ok()) return Fail(std::move(status));
  return options;
}

}  // namespace ers::proxy
