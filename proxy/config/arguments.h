// Arguments: the command line of ersproxy.
#ifndef ERS_PROXY_CONFIG_ARGUMENTS_H_
#define ERS_PROXY_CONFIG_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "config/options.h"
#include "config/settings.h"

namespace ers::proxy {

// What the command line says; what it does not say is empty.
struct Arguments {
  std::string config;
  bool list_metrics = false;
  std::string check_config;
  std::string import;  // another proxy's file
  std::string pool;    // of that
  // What it says of settings. One text, or more where that takes several.
  std::vector<std::pair<const Setting*, std::vector<std::string>>> settings;
  std::string port_file;
  // How this process was started, its program first: as another one is.
  std::vector<std::string> command;
};

// `arguments` is filled in when `app` parses, and outlives it.
void AddArguments(CLI::App& app, Arguments& arguments);

// The file, where one is named, with what the command line says over it, not
// complete yet. kInvalidArgument names the place at fault.
Result<ServerOptions> OptionsOf(const Arguments& arguments);

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_ARGUMENTS_H_
