// Any text as a configuration file: it is refused with a place and a reason, or
// gives settings that are the same when they are read from a file again.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/load.h"
#include "config/options.h"
#include "fuzz/memory_file.h"
#include "fuzz/require.h"

namespace ers::proxy {
namespace {

using fuzz::Require;

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return quoted + "\"";
}

bool IsPlain(std::string_view text) {
  for (const char c : text) {
    if (c < ' ' || c > '~') return false;
  }
  return true;
}

std::vector<std::string> Split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    parts.emplace_back(list.substr(0, list.find(',')));
    list.remove_prefix(std::min(parts.back().size() + 1, list.size()));
  }
  return parts;
}

// What is set of these, behind `begin`; empty where nothing is.
std::string Placed(std::string_view begin, std::string_view distribution,
                   std::string_view hash, std::string_view hash_tag) {
  std::string text;
  for (const auto& [name, value] :
       {std::pair{"distribution", distribution}, std::pair{"hash", hash},
        std::pair{"hash_tag", hash_tag}}) {
    if (!value.empty()) text += fmt::format("{}: {}, ", name, Quoted(value));
  }
  return text.empty() ? "" : fmt::format("{}{}}}\n", begin, text);
}

// Most of what a file can say. Empty where it holds what YAML has no escapes
// for: bytes that are no text.
std::string AsYaml(const ServerOptions& options) {
  std::string yaml = "listen:\n";
  for (const std::string& address : options.listen) {
    if (!IsPlain(address)) return {};
    yaml += fmt::format("  - {}\n", Quoted(address));
  }
  yaml += "servers:\n";
  if (!IsPlain(options.cluster.servers)) return {};
  for (const std::string& one : Split(options.cluster.servers)) {
    yaml += fmt::format("  - {}\n", Quoted(one));
  }
  const auto text = [&yaml](std::string_view name, const std::string& value) {
    if (!value.empty()) yaml += fmt::format("{}: {}\n", name, Quoted(value));
    return IsPlain(value);
  };
  if (!text("admin", options.admin) || !text("state_dir", options.state_dir) ||
      !text("admin_token_file", options.admin_token_file) ||
      !text("user", options.user) ||
      !text("trace_export", options.trace_export) ||
      !text("state_file", options.cluster.state_file)) {
    return {};
  }
  const ClusterOptions& cluster = options.cluster;
  const WarmFrom& warm = options.warm_from;
  yaml += Placed("placement: {", cluster.distribution, cluster.hash,
                 cluster.hash_tag);
  if (!warm.servers.empty()) {
    if (!IsPlain(warm.servers)) return {};
    yaml += fmt::format("warm_from: {{timeout_ms: {}, servers: [",
                        warm.timeout.count());
    for (const std::string& one : Split(warm.servers)) {
      yaml += Quoted(one) + ",";
    }
    yaml += Placed("], ", warm.distribution, warm.hash, warm.hash_tag);
    if (yaml.back() != '\n') yaml += "]}\n";
  }
  yaml += fmt::format(
      "max_failures: {}\nmin_redundancy: {}\nscheme: {}\ninline_below: {}\n"
      "column_below: {}\n"
      "threads: {}\nhedge_percent: {}\ncount_objects_s: {}\n",
      cluster.max_failures, cluster.min_redundancy,
      FormatScheme(options.client.scheme),
      options.client.inline_below == kInlineAuto
          ? "auto"
          : fmt::format("{}", options.client.inline_below),
      options.client.column_below, options.threads, cluster.hedge_percent,
      options.count_objects_every.count());
  yaml += fmt::format(
      "garbage: {{grace_s: {}, every_s: {}, objects_per_second: {}}}\n",
      options.garbage.grace.count(), options.garbage.every.count(),
      options.garbage.objects_per_second);
  yaml += fmt::format(
      "timeouts: {{connect_ms: {}, request_ms: {}, operation_ms: {}}}\n",
      cluster.connect_timeout.count(), cluster.request_timeout.count(),
      cluster.operation_timeout.count());
  yaml += fmt::format(
      "limits: {{max_connections: {}, idle_timeout_s: {}, max_value_bytes: {}, "
      "memory_in_flight_bytes: {}}}\n",
      options.max_connections, options.idle_timeout.count(),
      options.max_value_bytes, options.memory_in_flight_bytes);
  yaml += fmt::format("trace_sample: {}\n", options.trace_sample);
  yaml += fmt::format("log: {{level: {}, format: {}}}\n", options.log_level,
                      FormatName(options.log_format));
  return yaml;
}

void CheckLoaded(const fuzz::MemoryFile& file, ServerOptions options) {
  const Status complete = CompleteOptions(options);
  if (!complete.ok()) {
    Require(complete.message().starts_with(file.name()) ||
                complete.message().starts_with("rules"),
            "a refusal names the place");
    return;
  }
  ServerOptions twice = options;
  Require(CompleteOptions(twice).ok() && CheckReload(options, twice).ok(),
          "what is complete stays as it is");
  for (const Rule& rule : options.rules->list) {
    (void)rule.condition.key.Matches("some key");
    Require(rule.place.starts_with(file.name()), "a rule knows its place");
  }
  const std::string yaml = AsYaml(options);
  if (yaml.empty()) return;
  file.Write(yaml);
  Result<ServerOptions> again = LoadOptions(file.name());
  Require(again.has_value(), "settings can be written and read");
  // Less memory is refused where a rule's scheme is not there to need it.
  again->rules = options.rules;
  Require(CompleteOptions(*again).ok(), "settings that are read are complete");
  Require(CheckReload(options, *again).ok() &&
              again->max_connections == options.max_connections &&
              again->max_value_bytes == options.max_value_bytes &&
              again->idle_timeout == options.idle_timeout &&
              again->admin_token == options.admin_token &&
              again->memory_in_flight_bytes == options.memory_in_flight_bytes &&
              again->warm_from.timeout == options.warm_from.timeout &&
              again->trace_sample == options.trace_sample &&
              again->log_level == options.log_level,
          "settings are read as they were written");
}

}  // namespace
}  // namespace ers::proxy

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static const ers::fuzz::MemoryFile file;
  file.Write({reinterpret_cast<const char*>(data), size});
  ers::Result<ers::proxy::ServerOptions> options =
      ers::proxy::LoadOptions(file.name());
  if (!options) {
    ers::fuzz::Require(options.error().message().starts_with(file.name()),
                       "a refusal names the file");
    return 0;
  }
  ers::proxy::CheckLoaded(file, std::move(*options));
  return 0;
}
