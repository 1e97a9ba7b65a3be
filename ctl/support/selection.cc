#include "ctl/support/selection.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

#include "ctl/support/arguments.h"
#include "ctl/support/progress.h"
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

void AddSelection(CLI::App& command, Selection& selection) {
  command.add_option("KEY", selection.keys)->transform(IsKey());
  AddKeySelection(command, selection);
  command.add_flag("--all", selection.all, "Every object");
}

Status CheckKeySelection(const KeySelection& selection) {
  const Result<proxy::KeyPattern> pattern = PatternOf(selection);
  return pattern ? Status() : pattern.error();
}

Status CheckSelection(const Selection& selection) {
  if (selection.keys.empty() == !selection.Walks()) {
    return {StatusCode::kInvalidArgument,
            "name either keys, or which of all objects: --prefix, --pattern, "
            "or --all"};
  }
  if (selection.all && selection.Chooses()) {
    return {StatusCode::kInvalidArgument,
            "--all takes every object: leave out --all, or what chooses some"};
  }
  return CheckKeySelection(selection);
}

Result<std::vector<std::string>> ListKeys(Client& client,
                                          const KeySelection& selection,
                                          Packs packs) {
  const Result<proxy::KeyPattern> pattern = PatternOf(selection);
  if (!pattern) return Fail(pattern.error());
  const auto fits = [&](std::string_view key) {
    return key.starts_with(selection.prefix) &&
           (selection.pattern.empty() || pattern->Matches(key));
  };
  std::vector<std::string> keys;
  std::set<std::string> found;
  const Progress progress("list");
  ListOptions options;
  if (packs == Packs::kLeftOut) options.wanted = fits;
  // What is done with it says why it cannot be read.
  options.unreadable = [&](std::string_view key, const Status&) {
    if (fits(key)) keys.emplace_back(key);
  };
  const Status listed = client.List(
      [&](std::string_view key, const ObjectInfo& info) {
        if (fits(key)) keys.emplace_back(key);
        if (packs == Packs::kTaken && !info.pack.empty() && fits(info.pack)) {
          found.insert(info.pack);
        }
        return true;
      },
      options);
  if (!listed.ok()) return Fail(listed);
  keys.insert(keys.end(), found.begin(), found.end());
  return keys;
}

Result<std::vector<std::string>> SelectKeys(Client& client,
                                            const Selection& selection,
                                            Packs packs) {
  if (!selection.Walks()) return selection.keys;
  return ListKeys(client, selection, packs);
}

}  // namespace ers::ctl
