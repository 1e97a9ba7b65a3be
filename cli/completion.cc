#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_tree.h"
#include "cli/describe.h"

namespace ers::cli {
namespace {

using Texts = std::vector<std::string>;

// What may follow an option or be a positional.
struct Values {
  bool files = false;
  Texts words;  // "table", "csv": all there are; empty: anything
};

bool TakesValue(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

// The parser's own words for them: "FILE", "TEXT:{table,csv,json}".
Values ValuesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::string& name =
      option.get_positional() ? option.get_name(true) : type;
  Values values;
  for (const std::string_view word : {"FILE", "DIR"}) {
    values.files = values.files || name == word;
  }
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}');
  if (begin != std::string::npos && end != std::string::npos) {
    values.words =
        CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
  }
  return values;
}

Texts AllNames(const CLI::App& app) {
  Texts names;
  for (const CLI::Option* option : OptionsOf(app)) {
    for (std::string& name : NamesOf(*option)) names.push_back(std::move(name));
  }
  return names;
}

// Also those of the commands above that are taken behind this one.
Texts NamesWithThoseAbove(const CLI::App& app) {
  Texts names = AllNames(app);
  if (app.get_fallthrough() && app.get_parent() != nullptr) {
    for (const std::string& name : NamesWithThoseAbove(*app.get_parent())) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  return names;
}

Texts CommandNames(const CLI::App& app) {
  Texts names;
  for (const CLI::App* command : CommandsOf(app)) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<const CLI::App*> WholeTree(const CLI::App& app) {
  std::vector<const CLI::App*> all = {&app};
  for (const CLI::App* command : CommandsOf(app)) {
    const auto below = WholeTree(*command);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

// A name that a shell takes for one of its functions.
std::string FunctionName(const CLI::App& app) {
  std::string name = "_" + app.get_name();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string Quote(std::string_view text, std::string_view instead) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += instead;
    } else {
      quoted += c;
    }
  }
  return quoted;
}

constexpr std::string_view kBash =
    R"(# bash completion of {program}, printed by: {program} --print-completion bash

# What may follow the option $2 of the command $1, in `values`: words, "file" or
# "any". Fails where nothing does. Options of a command above count as well.
{function}_values() {{
  local at=$1
  while :; do
    case "$at $2" in
{values}      *)
        [[ $at == *' '* ]] || return 1
        at=${{at% *}}
        continue ;;
    esac
    [[ $values ]]
    return
  done
}}

{function}() {{
  local command={program} option='' options='' values='' commands='' files=''
  local word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    if [[ $option ]]; then
      [[ $word == = ]] || option='' # --name=value is three words
    elif [[ $word == -* ]]; then
      {function}_values "$command" "$word" && option=$word
{takes_commands}    fi
  done
  case $command in
{commands}  esac
  word=${{COMP_WORDS[COMP_CWORD]}}
  if [[ $option ]]; then
    [[ $word == = ]] && word=''
    case $values in
      file) return ;; # as the shell does by itself
      any) values='' ;;
    esac
  elif [[ $word == -* ]]; then
    values=$options
  else
    [[ $files ]] && return
    values=$commands
  fi
  compopt +o default 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
}}

complete -o default -F {function} {program}
)";

std::string BashValues(const CLI::App& app) {
  std::string lines;
  for (const CLI::App* command : WholeTree(app)) {
    for (const CLI::Option* option : OptionsOf(*command)) {
      Texts patterns;
      for (const std::string& name : NamesOf(*option)) {
        patterns.push_back(fmt::format("'{} {}'", PathOf(*command), name));
      }
      std::string values;
      if (TakesValue(*option)) {
        const Values may = ValuesOf(*option);
        values =
            may.files ? "file" : fmt::format("{}", fmt::join(may.words, " "));
        if (values.empty()) values = "any";
      }
      lines += fmt::format("      {}) values='{}' ;;\n",
                           fmt::join(patterns, " | "), values);
    }
  }
  return lines;
}

std::string Bash(const CLI::App& app) {
  Texts paths;
  std::string commands;
  for (const CLI::App* command : WholeTree(app)) {
    const auto positionals = PositionalsOf(*command);
    const bool files = std::any_of(
        positionals.begin(), positionals.end(),
        [](const CLI::Option* each) { return ValuesOf(*each).files; });
    if (command != &app) paths.push_back(fmt::format("'{}'", PathOf(*command)));
    commands += fmt::format(
        "    '{}')\n      options='{}'\n      commands='{}'\n      files={} "
        ";;\n",
        PathOf(*command), fmt::join(NamesWithThoseAbove(*command), " "),
        fmt::join(CommandNames(*command), " "), files ? "yes" : "");
  }
  std::string takes_commands;
  if (!paths.empty()) {
    takes_commands = fmt::format(
        "    else\n      case \"$command $word\" in\n        {}) command+=\" "
        "$word\" ;;\n      esac\n",
        fmt::join(paths, " | "));
  }
  return fmt::format(kBash, fmt::arg("program", app.get_name()),
                     fmt::arg("function", FunctionName(app)),
                     fmt::arg("values", BashValues(app)),
                     fmt::arg("takes_commands", takes_commands),
                     fmt::arg("commands", commands));
}

// Where the command is the one that is typed: behind it, and before any of its
// own commands.
std::string FishCondition(const CLI::App& app) {
  Texts conditions;
  for (const CLI::App* each = &app; each->get_parent() != nullptr;
       each = each->get_parent()) {
    conditions.insert(
        conditions.begin(),
        fmt::format("__fish_seen_subcommand_from {}", each->get_name()));
  }
  const Texts below = CommandNames(app);
  if (!below.empty()) {
    conditions.push_back(fmt::format("not __fish_seen_subcommand_from {}",
                                     fmt::join(below, " ")));
  }
  return fmt::format("{}", fmt::join(conditions, "; and "));
}

std::string FishText(const std::string& text) {
  std::string escaped = CLI::detail::find_and_replace(text, "\\", "\\\\");
  return "'" + Quote(escaped, "\\'") + "'";
}

std::string FishOption(const CLI::App& app, const std::string& where,
                       const CLI::Option& option) {
  std::string line = fmt::format("complete -c {}{}", app.get_name(), where);
  for (const std::string& name : option.get_snames()) line += " -s " + name;
  for (const std::string& name : option.get_lnames()) line += " -l " + name;
  if (TakesValue(option)) {
    const Values values = ValuesOf(option);
    line += values.files ? " -r -F" : " -x";
    if (!values.words.empty()) {
      line += fmt::format(" -a '{}'", fmt::join(values.words, " "));
    }
  }
  const std::string text = option.get_description();
  return line + (text.empty() ? "" : " -d " + FishText(text)) + "\n";
}

std::string Fish(const CLI::App& app) {
  const std::string program = app.get_name();
  std::string script = fmt::format(
      "# fish completion of {0}, printed by: {0} --print-completion fish\n",
      program);
  for (const CLI::App* command : WholeTree(app)) {
    const std::string condition = FishCondition(*command);
    const std::string here =
        condition.empty() ? "" : fmt::format(" -n '{}'", condition);
    for (const CLI::App* below : CommandsOf(*command)) {
      script +=
          fmt::format("complete -c {}{} -f -a {} -d {}\n", program, here,
                      below->get_name(), FishText(below->get_description()));
    }
    // Options of the program are taken behind its commands, too.
    const bool anywhere = command == &app && app.get_fallthrough();
    for (const CLI::Option* option : OptionsOf(*command)) {
      script += FishOption(app, anywhere ? "" : here, *option);
    }
  }
  return script;
}

// A text within a specification of zsh's _arguments.
std::string ZshText(std::string text) {
  for (const std::string mark : {"\\", "[", "]", ":"}) {
    text = CLI::detail::find_and_replace(text, mark, "\\" + mark);
  }
  return Quote(text, "'\\''");
}

// What zsh completes a value or a positional by.
std::string ZshAction(const Values& values) {
  if (values.files) return "_files";
  if (values.words.empty()) return " ";
  return fmt::format("({})", fmt::join(values.words, " "));
}

std::string ZshOptions(const CLI::App& app) {
  std::string specifications;
  for (const CLI::Option* option : OptionsOf(app)) {
    for (const std::string& name : NamesOf(*option)) {
      std::string value;
      if (TakesValue(*option)) {
        value = ":value:" + ZshAction(ValuesOf(*option));
      }
      specifications += fmt::format(" \\\n    '*{}[{}]{}'", name,
                                    ZshText(option->get_description()), value);
    }
  }
  if (app.get_fallthrough() && app.get_parent() != nullptr) {
    specifications += ZshOptions(*app.get_parent());
  }
  return specifications;
}

std::string ZshFunction(const CLI::App& app) {
  std::string name = PathOf(app);
  std::replace(name.begin(), name.end(), ' ', '_');
  std::replace(name.begin(), name.end(), '-', '_');
  return "_" + name;
}

// One function for each command, which goes on with those of its own commands.
std::string ZshCommand(const CLI::App& app) {
  std::string text = fmt::format(
      "{}() {{\n  local state line\n  typeset -A opt_args\n  _arguments -C{}",
      ZshFunction(app), ZshOptions(app));
  Texts choices;
  Texts branches;
  for (const CLI::App* below : CommandsOf(app)) {
    choices.push_back(
        fmt::format("{}\\:\"{}\"", below->get_name(),
                    CLI::detail::find_and_replace(
                        ZshText(below->get_description()), "\"", "")));
    branches.push_back(
        fmt::format("    {}) {} ;;\n", below->get_name(), ZshFunction(*below)));
  }
  if (choices.empty()) {
    for (const CLI::Option* each : PositionalsOf(app)) {
      text += fmt::format(" \\\n    ':{}:{}'", each->get_name(true),
                          ZshAction(ValuesOf(*each)));
    }
    return text + "\n}\n\n";
  }
  return text +
         fmt::format(
             " \\\n    '1:command:(({}))' \\\n    '*::argument:->below'\n"
             "  [[ $state == below ]] && case $line[1] in\n{}  esac\n}}\n\n",
             fmt::join(choices, " "), fmt::join(branches, ""));
}

std::string Zsh(const CLI::App& app) {
  std::string script = fmt::format(
      "#compdef {0}\n# zsh completion of {0}, printed by: {0} "
      "--print-completion zsh\n\n",
      app.get_name());
  for (const CLI::App* command : WholeTree(app)) script += ZshCommand(*command);
  // The first call loads this file, as the function itself.
  return script + ZshFunction(app) + " \"$@\"\n";
}

}  // namespace

std::string Completion(const CLI::App& app, const std::string& shell) {
  if (shell == "fish") return Fish(app);
  return shell == "zsh" ? Zsh(app) : Bash(app);
}

void AddCompletion(CLI::App& app) {
  app.add_option_function<std::string>("--print-completion",
                                       [&app](const std::string& shell) {
                                         throw Printed(Completion(app, shell));
                                       })
      ->check(CLI::IsMember(Texts(std::begin(kShells), std::end(kShells))))
      ->group("");
}

}  // namespace ers::cli
