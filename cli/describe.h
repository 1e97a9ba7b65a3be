// What a program says of itself to the build, which installs it: a manual page
// and a shell's completion. Both are made of the options and commands that the
// program parses, so that they fall behind none of them.
#ifndef ERS_CLI_DESCRIBE_H_
#define ERS_CLI_DESCRIBE_H_

#include <CLI/CLI.hpp>
#include <string>

namespace ers::cli {

// A page of section 1, in troff's macros: the text of all --help.
std::string Manual(const CLI::App& app);

// A script for the shell; `shell` is one of kShells.
inline constexpr const char* kShells[] = {"bash", "fish", "zsh"};
std::string Completion(const CLI::App& app, const std::string& shell);

// Adds --print-manual and --print-completion SHELL, which print and end the
// program; --help does not list them. `app` is used when it parses.
void AddManual(CLI::App& app);
void AddCompletion(CLI::App& app);

}  // namespace ers::cli

#endif  // ERS_CLI_DESCRIBE_H_
