// Any text as a configuration file: it is refused with a place and a reason, or
// gives settings that are the same when they are read from a file again.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/load.h"
#include "config/options.h"
#include "fuzz/require.h"

namespace ers::proxy {
namespace {

using fuzz::Require;

// A file without a name, of which one process has its own.
class File {
 public:
  File()
      : number_(memfd_create("config", 0)),
        name_(fmt::format("/proc/self/fd/{}", number_)) {}
  void Write(std::string_view text) const {
    Require(ftruncate(number_, 0) == 0 &&
                pwrite(number_, text.data(), text.size(), 0) ==
                    static_cast<ssize_t>(text.size()),
            "the file can be written");
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  int number_;
  std::string name_;
};

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
  std::string_view servers = options.cluster.servers;
  while (!servers.empty()) {
    const std::string_view one = servers.substr(0, servers.find(','));
    yaml += fmt::format("  - {}\n", Quoted(one));
    servers.remove_prefix(std::min(one.size() + 1, servers.size()));
  }
  const auto text = [&yaml](std::string_view name, const std::string& value) {
    if (!value.empty()) yaml += fmt::format("{}: {}\n", name, Quoted(value));
    return IsPlain(value);
  };
  if (!text("admin", options.admin) || !text("state_dir", options.state_dir) ||
      !text("admin_token_file", options.admin_token_file) ||
      !text("user", options.user) ||
      !text("state_file", options.cluster.state_file)) {
    return {};
  }
  const ClusterOptions& cluster = options.cluster;
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
  yaml += fmt::format("log: {{level: {}, format: {}}}\n", options.log_level,
                      FormatName(options.log_format));
  return yaml;
}

void CheckLoaded(const File& file, ServerOptions options) {
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
              again->log_level == options.log_level,
          "settings are read as they were written");
}

}  // namespace
}  // namespace ers::proxy

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static const ers::proxy::File file;
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
