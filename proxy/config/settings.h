// Settings: each one declared once, for the file, the command line and a
// reload.
#ifndef ERS_PROXY_CONFIG_SETTINGS_H_
#define ERS_PROXY_CONFIG_SETTINGS_H_

#include <span>
#include <string>
#include <string_view>

#include "config/options.h"
#include "config/yaml_value.h"

namespace ers::proxy {

// The option of the command line that sets the same.
struct Option {
  std::string_view name;  // "--max-value"; empty: there is none
  std::string_view type;  // what --help calls its value
  std::string_view help;  // names the default
  // How it takes several values; kOne: it does not.
  enum class Values { kOne, kRepeated, kCommas };
  Values values = Values::kOne;
  std::string_view environment = {};  // that has it where no option does
};

struct Setting {
  // As the file has it, a dot for each mapping: "limits.max_value_bytes".
  std::string_view name;
  Option option = {};
  // From the file, or from the option.
  Status (*read)(const YamlValue& value, ServerOptions& options) = nullptr;
  // What is set, as a text; null: a list of what has settings of its own.
  std::string (*shown)(const ServerOptions& options) = nullptr;
  // Whether a reload takes it. If not, it has `shown`.
  bool reloads = false;
  // What to do about a change of it, behind the words that say so.
  std::string_view advice = ", which needs a restart";
};

// In the order of the sample.
std::span<const Setting> Settings();

// What is wrong with a mapping of the file once it is read, or OK.
struct Section {
  std::string_view name;  // "policies.widen"
  Status (*check)(const YamlValue& mapping, const ServerOptions& options);
};
std::span<const Section> Sections();

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_SETTINGS_H_
