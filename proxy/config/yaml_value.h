// YamlValue: a value of a YAML file that knows where it stands, so that every
// complaint about it names the file, the line and the setting.
#ifndef ERS_PROXY_CONFIG_YAML_VALUE_H_
#define ERS_PROXY_CONFIG_YAML_VALUE_H_

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ers/status.h"

namespace ers::proxy {

// Refusals are kInvalidArgument. Thread-compatible.
class YamlValue {
 public:
  // The one document of `file`. kInvalidArgument: it cannot be read, is no
  // YAML, or holds more documents. An empty file is a mapping without keys.
  static Result<YamlValue> Load(const std::string& file);

  // What an option of the command line says of the setting at `path`: one text,
  // or a list.
  static YamlValue OfOption(std::string option, std::string path,
                            const std::string& text);
  static YamlValue OfOption(std::string option, std::string path,
                            const std::vector<std::string>& texts);

  // "FILE:7: limits.max_connections", or "--max-connections".
  [[nodiscard]] std::string place() const;
  // "limits.max_connections".
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Status Refuse(std::string_view why) const;

  // A whole number. Quoted digits are text, and refused.
  [[nodiscard]] Result<std::uint64_t> Number(std::uint64_t least,
                                             std::uint64_t most) const;
  // A number from 0 to 1, as 0.01; the same of quoted ones.
  [[nodiscard]] Result<double> Share() const;
  // Not empty.
  [[nodiscard]] Result<std::string> Text() const;
  // One of these words.
  [[nodiscard]] Result<std::string> OneOf(
      std::span<const std::string_view> words) const;
  [[nodiscard]] Result<std::vector<YamlValue>> List() const;
  using Entries = std::vector<std::pair<std::string, YamlValue>>;
  // Refuses keys that are not `allowed`, and those given twice.
  [[nodiscard]] Result<Entries> Mapping(
      std::span<const std::string_view> allowed) const;
  // The same with any keys.
  [[nodiscard]] Result<Entries> AnyMapping() const;

 private:
  using Check =
      std::function<Status(const YamlValue& key, const std::string& name)>;
  [[nodiscard]] Result<Entries> MappingOf(std::string_view expected,
                                          const Check& check) const;
  YamlValue(std::string file, std::string path, const YAML::Mark& mark,
            YAML::Node node);
  // Nothing: the value is none, or it is quoted.
  template <typename Kind>
  [[nodiscard]] std::optional<Kind> Parsed() const;
  // What stands there in place of what was expected.
  [[nodiscard]] Status RefuseKind(std::string_view expected) const;

  std::string file_;
  std::string path_;
  // Of its key, where it has one: an empty value stands nowhere. 0: file_ is an
  // option.
  int line_;
  YAML::Node node_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_YAML_VALUE_H_
