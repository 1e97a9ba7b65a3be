// What is wrong with a command line, in words for its user.
#ifndef ERS_CLI_USAGE_H_
#define ERS_CLI_USAGE_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace ers::cli {

constexpr int kBadUsage = 2;
constexpr int kNotWritten = 3;

// Parses, and throws what the parser throws: also for a value that is empty or
// has the form of an option, which the parser takes as it is.
void Take(CLI::App& app, int argc, const char* const* argv);

// Why `app` threw `error` for the arguments: names the one at fault, which is
// an option that there is not before all others, and the help that says more.
std::string UsageError(const CLI::App& app, const CLI::Error& error, int argc,
                       const char* const* argv);

// Writes to standard output. False: it could not, and standard error says why.
bool Print(const CLI::App& app, std::string_view text);

// Parses. The exit code where the program ends here: it was asked for help,
// which standard output has, or misused, and standard error says how.
std::optional<int> Parse(CLI::App& app, int argc, char** argv);

}  // namespace ers::cli

#endif  // ERS_CLI_USAGE_H_
