// Arguments: the command line of ersproxy.
#ifndef ERS_PROXY_CONFIG_ARGUMENTS_H_
#define ERS_PROXY_CONFIG_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/options.h"

namespace ers::proxy {

// What the command line says; what it does not say is empty.
struct Arguments {
  std::string config;
  bool list_metrics = false;
  std::string check_config;
  std::vector<std::string> listen;
  std::optional<std::string> servers;
  std::optional<std::string> scheme;
  std::optional<int> max_failures;
  std::optional<std::string> state_file;
  std::optional<std::size_t> inline_below;
  std::optional<int> threads;
  std::optional<int> max_connections;
  std::optional<std::uint64_t> max_value_bytes;
  std::optional<std::uint64_t> memory_in_flight_bytes;
  std::optional<std::string> log_level;
  std::optional<std::string> log_format;
  std::optional<std::string> admin;
  std::optional<std::string> admin_token_file;
  std::optional<std::string> state_dir;
  std::optional<std::string> user;
  std::string port_file;
};

// `arguments` is filled in when `app` parses, and outlives it.
void AddArguments(CLI::App& app, Arguments& arguments);

// The file, where one is named, with what the command line says over it, not
// complete yet. kInvalidArgument names the place at fault.
Result<ServerOptions> OptionsOf(const Arguments& arguments);

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_ARGUMENTS_H_
