// What the options of all commands may say, and where they may stand: on the
// command line, then in the environment, then in a file.
#ifndef ERS_CTL_GLOBAL_OPTIONS_H_
#define ERS_CTL_GLOBAL_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>

#include "ctl/support/session.h"
#include "ers/status.h"

namespace ers::ctl {

// Adds them to the parser, which fills in `global`.
void AddGlobalOptions(CLI::App& app, GlobalOptions& global);

// After the parser is done: takes from the environment and the file what the
// command line leaves open. The servers are named by one of --servers and
// --proxy: by that which was given closest to the command. kInvalidArgument
// names what contradicts or cannot be read, and where it stands.
Status TakeDefaults(CLI::App& app, GlobalOptions& global);

// ${XDG_CONFIG_HOME:-~/.config}/libers/ersctl.toml; "" where there is no home.
std::string DefaultConfigFile();

}  // namespace ers::ctl

#endif  // ERS_CTL_GLOBAL_OPTIONS_H_
