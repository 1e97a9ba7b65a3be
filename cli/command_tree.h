// What a parser knows of its commands and options, for messages and for what
// describes a program.
#ifndef ERS_CLI_COMMAND_TREE_H_
#define ERS_CLI_COMMAND_TREE_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ers::cli {

inline std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands(std::function<bool(const CLI::App*)>());
}

// "ersctl job start".
inline std::string PathOf(const CLI::App& app) {
  const CLI::App* above = app.get_parent();
  return above == nullptr ? app.get_name()
                          : PathOf(*above) + " " + app.get_name();
}

// Those that --help lists.
inline std::vector<const CLI::Option*> OptionsOf(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) {
    return option->nonpositional() && !option->get_group().empty();
  });
}

inline std::vector<const CLI::Option*> PositionalsOf(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) {
    return option->get_positional() && !option->get_group().empty();
  });
}

// "-o", "--output".
inline std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) {
    names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    names.push_back("--" + name);
  }
  return names;
}

// Ends the parsing as --version does. The parser ends the text with a newline.
inline CLI::CallForVersion Printed(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return {std::move(text), 0};
}

}  // namespace ers::cli

#endif  // ERS_CLI_COMMAND_TREE_H_
