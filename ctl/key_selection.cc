#include "ctl/key_selection.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "ctl/arguments.h"
#include "ctl/progress.h"
#include "shared/key_pattern.h"

namespace ers::ctl {
namespace {

Result<proxy::KeyPattern> PatternOf(const KeySelection& selection) {
  if (selection.pattern.empty()) return proxy::KeyPattern();
  Result<proxy::KeyPattern> pattern =
      proxy::KeyPattern::Regex(selection.pattern);
  if (pattern) return pattern;
  return Fail(StatusCode::kInvalidArgument,
              fmt::format("--pattern: {}", pattern.error().message()));
}

}  // namespace

void AddKeySelection(CLI::App& command, KeySelection& selection) {
  command
      .add_option("--prefix", selection.prefix,
                  "Objects whose key begins with this")
      ->transform(IsKey())
      ->type_name("TEXT");
  command
      .add_option("--pattern", selection.pattern,
                  "Objects whose whole key this regular expression (RE2) "
                  "matches")
      ->type_name("REGEX");
}

Status CheckKeySelection(const KeySelection& selection) {
  const Result<proxy::KeyPattern> pattern = PatternOf(selection);
  return pattern ? Status() : pattern.error();
}

Result<std::vector<std::string>> ListKeys(Client& client,
                                          const KeySelection& selection) {
  const Result<proxy::KeyPattern> pattern = PatternOf(selection);
  if (!pattern) return Fail(pattern.error());
  std::vector<std::string> keys;
  const Progress progress("list");
  const Status listed =
      client.List([&](std::string_view key, const ObjectInfo&) {
        if (key.starts_with(selection.prefix) &&
            (selection.pattern.empty() || pattern->Matches(key))) {
          keys.emplace_back(key);
        }
        return true;
      });
  if (!listed.ok()) return Fail(listed);
  return keys;
}

}  // namespace ers::ctl
