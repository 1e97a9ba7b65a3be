#include "cli/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <regex>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command_tree.h"

namespace ers::cli {
namespace {

using Words = std::span<const std::string>;

// The old name of an option, and its new one.
constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
    {"--max-parity", "--max-failures"},
    {"--least-redundancy", "--min-redundancy"}};

bool IsLikeOption(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && word != "--";
}

// What a flag may be set to.
bool IsFlagValue(std::string_view value) {
  constexpr std::string_view kValues[] = {"true", "false", "on",     "off",
                                          "yes",  "no",    "enable", "disable"};
  return std::find(std::begin(kValues), std::end(kValues), value) !=
             std::end(kValues) ||
         (!value.empty() &&
          value.find_first_not_of("0123456789") == std::string_view::npos);
}

// "--name" of "--name=value", "-n" of "-nvalue".
std::string NameOf(std::string_view word) {
  return std::string(word.starts_with("--") ? word.substr(0, word.find('='))
                                            : word.substr(0, 2));
}

const CLI::Option* FindOption(const CLI::App& command,
                              const std::string& name) {
  for (const CLI::App* app = &command; app != nullptr;
       app = app->get_fallthrough() ? app->get_parent() : nullptr) {
    const CLI::Option* found = app->get_option_no_throw(name);
    if (found != nullptr) return found;
  }
  return nullptr;
}

// How many letters are to be put in, taken out, changed or swapped with their
// neighbour to make one word of the other (optimal string alignment).
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t same = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + same});
      const bool swapped =
          i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, row);
  }
  return last[b.size()];
}

// ": did you mean X?", where one is like `word`.
std::string Suggest(std::string_view word,
                    const std::vector<std::string>& names) {
  // More than a third of the letters is another word.
  std::size_t nearest = word.size() / 3 + 1;
  std::string_view found;
  for (const std::string& name : names) {
    const bool begins = word.size() > 3 && name.starts_with(word);
    const std::size_t distance = begins ? 1 : Distance(word, name);
    if (distance >= nearest) continue;
    nearest = distance;
    found = name;
  }
  return found.empty() ? "" : fmt::format(": did you mean {}?", found);
}

// Of a command and those above it.
std::vector<std::string> OptionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* app = &command; app != nullptr;
       app = app->get_fallthrough() ? app->get_parent() : nullptr) {
    for (const CLI::Option* option : OptionsOf(*app)) {
      for (std::string& name : NamesOf(*option)) {
        names.push_back(std::move(name));
      }
    }
  }
  return names;
}

// The arguments as the parser takes them, up to the first that it does not
// know: all that it says of others may follow from that one.
class Walk {
 public:
  Walk(const CLI::App& app, Words words) : command_(&app) {
    while (!words.empty() && words[0] != "--" && fault_.empty()) {
      words = IsLikeOption(words[0]) ? TakeOption(words) : TakeWord(words);
    }
  }
  [[nodiscard]] const std::string& fault() const { return fault_; }
  // It is one that the parser overlooks.
  [[nodiscard]] bool overlooked() const { return overlooked_; }
  // "ersctl get".
  [[nodiscard]] std::string command() const { return PathOf(*command_); }

 private:
  Words TakeOption(Words words) {
    const std::string name = NameOf(words[0]);
    const bool has_value = name != words[0];
    const CLI::Option* option = FindOption(*command_, name);
    if (option == nullptr) {
      fault_ = fmt::format("there is no option {}", name);
      for (const auto& [old_name, new_name] : kRenamed) {
        if (name != old_name) continue;
        fault_ += fmt::format(": it is {} now", new_name);
        return words;
      }
      if (name.starts_with("--")) {
        fault_ += Suggest(name, OptionNames(*command_));
      }
      return words;
    }
    const bool long_name = name.starts_with("--");
    const std::string value =
        has_value ? words[0].substr(name.size() + (long_name ? 1 : 0)) : "";
    words = words.subspan(1);
    if (option->get_items_expected_max() == 0) {
      if (has_value && long_name && !IsFlagValue(value)) {
        fault_ = fmt::format("{} takes no value", name);
      }
      return words;
    }
    if (has_value) {
      CheckValue(name, value);
      return words;
    }
    if (option->get_items_expected_min() == 0) return words;
    if (words.empty()) {
      fault_ = fmt::format("{} needs a value behind it", name);
      return words;
    }
    CheckNextWord(name, words[0]);
    return words.subspan(1);
  }

  // An empty one is a script's unset variable more often than a wish for the
  // default.
  void CheckValue(const std::string& name, const std::string& value) {
    if (!value.empty()) return;
    overlooked_ = true;
    fault_ = fmt::format(
        "{}: it is empty: give a value, or leave the option out", name);
  }

  // A word in the form of an option is one: to take it for a file's name would
  // be to lose both.
  void CheckNextWord(const std::string& name, const std::string& word) {
    CheckValue(name, word);
    if (!IsLikeOption(word)) return;
    if (!word.starts_with("--") &&
        FindOption(*command_, NameOf(word)) == nullptr) {
      return;  // "-1"
    }
    overlooked_ = true;
    fault_ = fmt::format("{} needs a value behind it, and {} follows", name,
                         NameOf(word));
    if (name.starts_with("--")) {
      fault_ += fmt::format(" (if that is the value: {}={})", name, word);
    }
  }

  Words TakeWord(Words words) {
    const std::vector<const CLI::App*> commands = CommandsOf(*command_);
    if (commands.empty()) return words.subspan(1);
    for (const CLI::App* command : commands) {
      if (!command->check_name(words[0])) continue;
      command_ = command;
      return words.subspan(1);
    }
    std::vector<std::string> names;
    for (const CLI::App* command : commands) {
      names.push_back(command->get_name());
    }
    fault_ = fmt::format("there is no command '{}'{}", words[0],
                         Suggest(words[0], names));
    return words;
  }

  const CLI::App* command_;
  std::string fault_;
  bool overlooked_ = false;
};

struct Wording {
  const char* parser;
  const char* ours;
};
// Of versions 2.1 to 2.5 of the parser. What none fits stays as it is.
constexpr Wording kWordings[] = {
    {R"(A subcommand is required)", "a command is missing"},
    {R"(([^ ]+) is required)", "$1 is missing"},
    {R"(([^ ]+): [0-9]+ required .* missing)", "$1 needs a value behind it"},
    {R"(([^ ]+): At [Mm]ost 1 required but received .*)",
     "$1 may be given only once"},
    {R"(Could not convert: ([^ ]+) = (.*))", "$1: '$2' is not a number"},
    {R"(([^ ]+): .*\b[Vv]alue (.*) not in range \[?([-0-9.]+) (?:to|-) ([-0-9.]+)\]?.*)",
     "$1: '$2' is not a number from $3 to $4"},
    {R"(([^ ]+): (.*) not in \{(.*)\})", "$1: '$2' is none of $3"},
    {R"(The following argument was not expected: (.*))",
     "'$1' is more than this command takes"},
    {R"(The following arguments were not expected: (.*))",
     "this is more than the command takes: $1"},
    {R"(([^ ]+) excludes ([^ ]+))", "give $1 or $2, not both"},
    {R"(([^ ]+) requires ([^ ]+))", "$1 needs $2 beside it"},
};

// 1.5 is a number from 1 to 254: where the parser wants another, it wants a
// whole one.
std::string NameWholeNumbers(const std::string& text) {
  static const std::regex kRange(
      "(.*: '(.*)' is not a )number from ([-0-9.]+) to ([-0-9.]+)");
  std::smatch found;
  if (!std::regex_match(text, found, kRange)) return text;
  const std::string value = found[2];
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  const bool fits = !value.empty() && *end == '\0' &&
                    number >= std::stod(found[3]) &&
                    number <= std::stod(found[4]);
  if (!fits) return text;
  return fmt::format("{}whole number from {} to {}", found[1].str(),
                     found[3].str(), found[4].str());
}

std::string Reword(const std::string& text) {
  for (const Wording& wording : kWordings) {
    const std::regex pattern(wording.parser);
    if (!std::regex_match(text, pattern)) continue;
    std::string ours = std::regex_replace(text, pattern, wording.ours);
    if (ours.find(" is none of ") != std::string::npos) {
      ours = std::regex_replace(ours, std::regex(",(?! )"), ", ");
    }
    // "0.100000" of bounds that are no whole numbers.
    return NameWholeNumbers(std::regex_replace(
        ours, std::regex(R"((\.[0-9]*[1-9])0+\b|\.0+\b)"), "$1"));
  }
  return text;
}

}  // namespace

std::string UsageError(const CLI::App& app, const CLI::Error& error, int argc,
                       const char* const* argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const Walk walk(app, words);
  const std::string why =
      walk.fault().empty() ? Reword(error.what()) : walk.fault();
  return fmt::format("{} ({} --help says more)", why, walk.command());
}

void Take(CLI::App& app, int argc, const char* const* argv) {
  app.parse(argc, argv);
  const std::vector<std::string> words(argv + 1, argv + argc);
  const Walk walk(app, words);
  if (walk.overlooked()) throw CLI::ValidationError(walk.fault());
}

bool Print(const CLI::App& app, std::string_view text) {
  const bool whole =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
      std::fflush(stdout) == 0;
  if (!whole) {
    fmt::print(stderr, "{}: standard output: cannot write: {}\n",
               app.get_name(), std::strerror(errno));
  }
  return whole;
}

std::optional<int> Parse(CLI::App& app, int argc, char** argv) {
  try {
    Take(app, argc, argv);
  } catch (const CLI::Success& success) {
    std::ostringstream out;
    const int code = app.exit(success, out, out);
    return Print(app, out.str()) ? code : kNotWritten;
  } catch (const CLI::Error& error) {
    fmt::print(stderr, "{}: {}\n", app.get_name(),
               UsageError(app, error, argc, argv));
    return kBadUsage;
  }
  return std::nullopt;
}

}  // namespace ers::cli
