#include "config/import_nutcracker.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "config/yaml_value.h"
#include "net/endpoint.h"

namespace ers::proxy {
namespace {

constexpr std::uint64_t kMaxMs = 3'600'000;
constexpr std::uint64_t kMaxConnections = 1 << 20;
constexpr std::uint64_t kAnyNumber = std::uint64_t{1} << 31;

// What is there for other reasons, or in other ways, here.
constexpr std::pair<std::string_view, std::string_view> kLeftOut[] = {
    {"backlog", "the system's limit is taken (net.core.somaxconn)"},
    {"tcpkeepalive", "limits.idle_timeout_s closes clients that are silent"},
    {"reuseport", "the threads of one process share its listeners"},
    {"preconnect", "servers are connected to at the start"},
    {"server_connections", "each thread has one to each server"},
    {"server_retry_timeout",
     "servers that do not answer are tried again by themselves"},
    {"server_failure_limit",
     "a server that does not answer leaves the view at once, and no value is "
     "lost with it"},
    {"redis_auth", "memcached's protocol is spoken, without passwords"},
    {"redis_db", "memcached's protocol is spoken"},
};

// "host:port:weight name", "/path:weight name".
Result<std::string> ServerOf(const YamlValue& value) {
  const Result<std::string> text = value.Text();
  if (!text) return Fail(text.error());
  const std::size_t blank = text->find(' ');
  const std::string address = text->substr(0, blank);
  std::string label = blank == std::string::npos ? "" : text->substr(blank + 1);
  const std::size_t weight = address.rfind(':');
  const bool is_path = address.starts_with('/');
  const auto refuse = [&](std::string_view why) {
    return Fail(value.Refuse(fmt::format("\"{}\": {}", *text, why)));
  };
  if (weight == std::string::npos || weight == 0 ||
      (!is_path && address.rfind(':', weight - 1) == std::string::npos)) {
    return refuse("expected host:port:weight or /path:weight, and a name");
  }
  if (text->find(',') != std::string::npos) return refuse("a comma is in it");
  // There its place on the ring is its path; libmemcached has it otherwise.
  if (is_path && label.empty()) label = address.substr(0, weight);
  // An IPv6 address, which is written without brackets there.
  std::string server = address;
  const std::size_t port = is_path ? 0 : address.rfind(':', weight - 1);
  if (!is_path && !address.starts_with('[') &&
      address.substr(0, port).find(':') != std::string::npos) {
    server =
        fmt::format("[{}]{}", address.substr(0, port), address.substr(port));
    if (label.empty()) {
      label = address.substr(port, weight - port) == ":11211"
                  ? address.substr(0, port)
                  : address.substr(0, weight);
    }
  }
  if (!label.empty()) server += "=" + label;
  const Result<net::Endpoint> endpoint = net::ParseEndpoint(server);
  if (!endpoint) return Fail(value.Refuse(endpoint.error().message()));
  return server;
}

Status TakeServers(const YamlValue& value, ImportedPool& pool) {
  const Result<std::vector<YamlValue>> list = value.List();
  if (!list) return list.error();
  for (const YamlValue& item : *list) {
    Result<std::string> server = ServerOf(item);
    if (!server) return server.error();
    pool.servers.push_back(std::move(*server));
  }
  return {};
}

// "127.0.0.1:22121", or "/path mode".
Status TakeListen(const YamlValue& value, ImportedPool& pool) {
  const Result<std::string> text = value.Text();
  if (!text) return text.error();
  const std::size_t blank = text->find(' ');
  pool.listen = text->substr(0, blank);
  if (blank != std::string::npos) {
    pool.left_out.push_back(
        fmt::format("listen: a socket's mode {} is that of the umask",
                    text->substr(blank + 1)));
  }
  if (pool.listen.find(':') == std::string::npos &&
      !pool.listen.starts_with('/')) {
    pool.listen = "0.0.0.0:" + pool.listen;  // a port alone
  }
  return {};
}

// A negative one, or 0, is none.
Status TakeLimit(const YamlValue& value, std::string_view what,
                 std::uint64_t most, std::optional<std::uint64_t>& into,
                 ImportedPool& pool) {
  const Result<std::string> text = value.Text();
  if (!text) return text.error();
  if (text->starts_with('-') || *text == "0") {
    pool.left_out.push_back(
        fmt::format("{}: without a limit there; the default is kept", what));
    return {};
  }
  const Result<std::uint64_t> number = value.Number(1, kAnyNumber);
  if (!number) return number.error();
  into = std::min(*number, most);
  if (*number > most) {
    pool.left_out.push_back(
        fmt::format("{}: {} is more than {}", what, *number, most));
  }
  return {};
}

Status TakeFlags(std::string_view name, const YamlValue& value,
                 ImportedPool& pool) {
  const Result<std::string> text = value.Text();
  if (!text) return text.error();
  const bool set = *text == "true" || *text == "yes" || *text == "on";
  if (name == "redis" && set) {
    return value.Refuse("a pool of Redis servers: only memcached is spoken");
  }
  if (name == "auto_eject_hosts" && set) {
    pool.left_out.emplace_back(
        "auto_eject_hosts: not needed, as no value is lost with a server; what "
        "was stored elsewhere while a server was ejected is a miss");
  }
  return {};
}

Status TakeSetting(const std::string& name, const YamlValue& value,
                   ImportedPool& pool) {
  const auto text_into = [&value](std::string& into) {
    Result<std::string> text = value.Text();
    if (!text) return text.error();
    into = std::move(*text);
    return Status();
  };
  if (name == "listen") return TakeListen(value, pool);
  if (name == "servers") return TakeServers(value, pool);
  if (name == "hash") return text_into(pool.hash);
  if (name == "distribution") return text_into(pool.distribution);
  if (name == "hash_tag") return text_into(pool.hash_tag);
  if (name == "timeout") {
    return TakeLimit(value, name, kMaxMs, pool.timeout_ms, pool);
  }
  if (name == "client_connections") {
    return TakeLimit(value, name, kMaxConnections, pool.max_connections, pool);
  }
  if (name == "redis" || name == "auto_eject_hosts") {
    return TakeFlags(name, value, pool);
  }
  for (const auto& [known, why] : kLeftOut) {
    if (name != known) continue;
    pool.left_out.push_back(fmt::format("{}: {}", name, why));
    return {};
  }
  return value.Refuse("no setting of twemproxy's");
}

// The name by which twemproxy knows a server; the default port is left out.
std::string NameOf(const std::string& server) {
  constexpr int kDefaultPort = 11211;
  const Result<net::Endpoint> endpoint = net::ParseEndpoint(server);
  if (!endpoint) return server;
  if (!endpoint->label.empty()) return endpoint->label;
  return endpoint->port == kDefaultPort ? endpoint->host : endpoint->name();
}

// twemproxy counts its servers in the order of their names, shorter ones first,
// whatever the order of its file.
void SortAsTheyCount(std::vector<std::string>& servers) {
  std::sort(servers.begin(), servers.end(),
            [](const std::string& a, const std::string& b) {
              const std::string one = NameOf(a);
              const std::string other = NameOf(b);
              return std::pair(one.size(), one) <
                     std::pair(other.size(), other);
            });
}

Status TakePool(const YamlValue& value, ImportedPool& pool) {
  const Result<YamlValue::Entries> entries = value.AnyMapping();
  if (!entries) return entries.error();
  // twemproxy's own defaults.
  pool.distribution = "ketama";
  pool.hash = "fnv1a_64";
  for (const auto& [setting, at] : *entries) {
    Status status = TakeSetting(setting, at, pool);
    if (!status.ok()) return status;
  }
  if (pool.distribution == "modula") {
    SortAsTheyCount(pool.servers);
    pool.left_out.emplace_back(
        "servers: their order; by modula twemproxy counts them by name, "
        "shorter "
        "names first, and so they stand here");
  }
  return {};
}

}  // namespace

Result<std::vector<ImportedPool>> ImportNutcracker(const std::string& file) {
  const Result<YamlValue> root = YamlValue::Load(file);
  if (!root) return Fail(root.error());
  const Result<YamlValue::Entries> entries = root->AnyMapping();
  if (!entries) return Fail(entries.error());
  std::vector<ImportedPool> pools;
  for (const auto& [name, value] : *entries) {
    ImportedPool& pool = pools.emplace_back();
    pool.name = name;
    pool.taken = TakePool(value, pool);
  }
  return pools;
}

}  // namespace ers::proxy
