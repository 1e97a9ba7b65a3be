#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command_tree.h"
#include "cli/describe.h"

namespace ers::cli {
namespace {

// Text as troff prints it unchanged. No line of it is a request.
std::string Escape(const std::string& text) {
  std::string escaped;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
    line_begins = c == '\n';
  }
  return escaped;
}

// A footer: its lines are what they are, examples above all.
std::string AsItIs(const std::string& text) {
  const std::size_t begin = text.find_first_not_of('\n');
  if (begin == std::string::npos) return "";
  return fmt::format(".PP\n.nf\n{}\n.fi\n", Escape(text.substr(begin)));
}

// "ersctl put [OPTIONS] KEY FILE"
std::string UsageOf(const CLI::App& app) {
  const CLI::Formatter formatter;
  std::string usage = formatter.make_usage(&app, PathOf(app));
  usage.erase(0, usage.find(' ') + 1);
  return usage.substr(0, usage.find('\n'));
}

std::string ListOf(const std::vector<const CLI::Option*>& options) {
  const CLI::Formatter formatter;
  std::string list;
  for (const CLI::Option* option : options) {
    const bool positional = option->get_positional();
    const std::string names =
        positional ? option->get_name(true)
                   : fmt::format("{}", fmt::join(NamesOf(*option), ", "));
    list += fmt::format(".TP\n\\fB{}\\fR{}\n", Escape(names),
                        Escape(formatter.make_option_opts(option)));
    const std::string text = option->get_description();
    list += text.empty() ? "\\&\n" : Escape(text) + "\n";
  }
  return list;
}

// A command and those below it.
std::string CommandsBelow(const CLI::App& app) {
  std::string text;
  for (const CLI::App* command : CommandsOf(app)) {
    text += fmt::format(".SS {}\n{}\n", Escape(UsageOf(*command)),
                        Escape(command->get_description()));
    text += ListOf(PositionalsOf(*command));
    text += ListOf(OptionsOf(*command));
    text += AsItIs(command->get_footer());
    text += CommandsBelow(*command);
  }
  return text;
}

// "keeps large values on servers": what a page is found by.
std::string Summary(const CLI::App& app) {
  std::string text = app.get_description();
  if (!text.empty() && text.back() == '.') text.pop_back();
  if (!text.empty()) {
    text[0] =
        static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return text;
}

}  // namespace

std::string Manual(const CLI::App& app) {
  const std::string name = app.get_name();
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  std::string version = app.version();
  version.erase(0, version.find(' ') + 1);
  std::string page =
      fmt::format(".TH {} 1 \"\" \"libers {}\" \"libers\"\n", title, version);
  page +=
      fmt::format(".SH NAME\n{} \\- {}\n", Escape(name), Escape(Summary(app)));
  page += fmt::format(".SH SYNOPSIS\n{}\n", Escape(UsageOf(app)));
  page += fmt::format(".SH DESCRIPTION\n{}\n", Escape(app.get_description()));
  page += ListOf(PositionalsOf(app));
  page += ".SH OPTIONS\n" + ListOf(OptionsOf(app));
  const std::string commands = CommandsBelow(app);
  if (!commands.empty()) page += ".SH COMMANDS\n" + commands;
  const std::string notes = AsItIs(app.get_footer());
  if (!notes.empty()) page += ".SH NOTES\n" + notes;
  page += ".SH SEE ALSO\n.BR ersproxy (8),\n.BR memcached (1)\n";
  return page;
}

void AddManual(CLI::App& app) {
  app.add_flag_callback("--print-manual",
                        [&app] { throw Printed(Manual(app)); })
      ->group("");
}

}  // namespace ers::cli
