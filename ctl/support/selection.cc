#include "ctl/support/selection.h"

#include <fmt/format.h>

#include "ctl/support/arguments.h"
#include "ctl/support/progress.h"

namespace ers::ctl {

void AddSelection(CLI::App& command, Selection& selection) {
  command.add_option("KEY", selection.keys)->transform(IsKey());
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
  command.add_flag("--all", selection.all, "Every object");
}

Result<proxy::KeyPattern> CheckSelection(const Selection& selection) {
  if (selection.keys.empty() == !selection.Walks()) {
    return Fail(StatusCode::kInvalidArgument,
                "name either keys, or which of all objects: --prefix, "
                "--pattern, or --all");
  }
  if (selection.all &&
      (!selection.prefix.empty() || !selection.pattern.empty())) {
    return Fail(StatusCode::kInvalidArgument,
                "--all takes every object: leave out --all, or what chooses "
                "some");
  }
  if (selection.pattern.empty()) return proxy::KeyPattern();
  Result<proxy::KeyPattern> pattern =
      proxy::KeyPattern::Regex(selection.pattern);
  if (pattern) return pattern;
  return Fail(StatusCode::kInvalidArgument,
              fmt::format("--pattern: {}", pattern.error().message()));
}

Result<std::vector<std::string>> SelectKeys(Client& client,
                                            const Selection& selection,
                                            const proxy::KeyPattern& pattern) {
  if (!selection.Walks()) return selection.keys;
  std::vector<std::string> keys;
  const Progress progress("list");
  const Status listed =
      client.List([&](std::string_view key, const ObjectInfo&) {
        if (key.starts_with(selection.prefix) && pattern.Matches(key)) {
          keys.emplace_back(key);
        }
        return true;
      });
  if (!listed.ok()) return Fail(listed);
  return keys;
}

}  // namespace ers::ctl
