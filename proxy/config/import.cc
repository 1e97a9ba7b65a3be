#include "config/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/import_mcrouter.h"
#include "config/import_nutcracker.h"
#include "net/endpoint.h"
#include "net/placement.h"
#include "shared/address.h"
#include "shared/read_file.h"

namespace ers::proxy {
namespace {

constexpr std::size_t kMaxImportBytes = std::size_t{16} << 20;

// As a scalar in quotes: what JSON writes, YAML reads.
std::string Quoted(std::string_view text) {
  using nlohmann::json;
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

// For a comment.
std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

// One that so few servers have room for; empty: the default's.
std::string_view SchemeFor(std::size_t servers) {
  constexpr std::size_t kDefault = 6;
  if (servers >= kDefault) return "";
  if (servers >= 4) return "ers2:2,1,3";
  return servers == 3 ? "rs:2,1" : "rep:2";
}

// mcrouter's is an object; no line of a nutcracker.yml begins so.
bool LooksLikeJson(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos &&
         (text[first] == '{' || text[first] == '/');
}

Status CheckPool(const std::string& file, const ImportedPool& pool) {
  const auto refuse = [&](std::string_view why) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{}: pool {}: {}", file, pool.name, why));
  };
  std::string list;
  for (const std::string& server : pool.servers) {
    list += (list.empty() ? "" : ",") + server;
  }
  if (pool.servers.size() < 2) {
    return refuse("it has one server: a cluster needs two at least");
  }
  if (Quoted(list).find("\ufffd") != std::string::npos) {
    return refuse("a server's path is not UTF-8: rename it");
  }
  if (!pool.listen.empty()) {
    const Result<Address> address = ParseAddress(pool.listen);
    if (!address) {
      return refuse(fmt::format("listen: \"{}\": {}", pool.listen,
                                address.error().message()));
    }
  }
  const auto endpoints = net::ParseEndpoints(list);
  if (!endpoints) return refuse(endpoints.error().message());
  const auto placement =
      net::ParsePlacement(pool.distribution, pool.hash, pool.hash_tag);
  if (!placement) return refuse(placement.error().message());
  return {};
}

}  // namespace

std::string SettingsOf(const ImportedPool& pool, std::string_view source) {
  std::string text =
      fmt::format("# Pool {} of {}.\n", Quoted(pool.name), Quoted(source));
  if (!pool.left_out.empty()) {
    text += "#\n# Not carried over:\n";
    for (const std::string& line : pool.left_out) {
      text += fmt::format("#   {}\n", OneLine(line));
    }
  }
  text += "\nlisten:\n";
  text += fmt::format("  - {}\n", Quoted(pool.listen.empty() ? "127.0.0.1:11211"
                                                             : pool.listen));
  text += "\n# Their order counts when the cluster is first used.\n";
  text += "servers:\n";
  for (const std::string& server : pool.servers) {
    text += fmt::format("  - {}\n", Quoted(server));
  }
  text += fmt::format(
      "\n# Where the old values are.\nplacement:\n  distribution: {}\n",
      pool.distribution);
  if (!pool.hash.empty()) text += fmt::format("  hash: {}\n", pool.hash);
  if (!pool.hash_tag.empty()) {
    text += fmt::format("  hash_tag: {}\n", Quoted(pool.hash_tag));
  }
  if (const auto scheme = SchemeFor(pool.servers.size()); !scheme.empty()) {
    text += fmt::format("\n# What {} servers have room for.\nscheme: {}\n",
                        pool.servers.size(), scheme);
  }
  if (pool.timeout_ms) {
    text += fmt::format("\ntimeouts:\n  connect_ms: {0}\n  request_ms: {0}\n",
                        *pool.timeout_ms);
  }
  if (pool.max_connections) {
    text += fmt::format("\nlimits:\n  max_connections: {}\n",
                        *pool.max_connections);
  }
  return text;
}

Result<std::string> ImportSettings(const std::string& file,
                                   const std::string& pool) {
  const Result<std::string> text = ReadRegularFile(file, kMaxImportBytes);
  if (!text) {
    return Fail(
        StatusCode::kInvalidArgument,
        fmt::format("{}: cannot be read: {}", file, text.error().message()));
  }
  const Result<std::vector<ImportedPool>> pools =
      LooksLikeJson(*text) ? ImportMcrouter(file, *text)
                           : ImportNutcracker(file);
  if (!pools) return Fail(pools.error());
  std::string names;
  for (const ImportedPool& each : *pools) {
    names += (names.empty() ? "" : ", ") + each.name;
  }
  const auto chosen = std::find_if(
      pools->begin(), pools->end(),
      [&pool](const ImportedPool& each) { return each.name == pool; });
  if (pool.empty() && pools->size() > 1) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("{}: it has several pools, and an ersproxy serves "
                            "one: import each with --pool, one of {}",
                            file, names));
  }
  if (pools->empty() || (!pool.empty() && chosen == pools->end())) {
    return Fail(StatusCode::kInvalidArgument,
                pool.empty() ? fmt::format("{}: it has no pool", file)
                             : fmt::format("{}: it has no pool {}, but {}",
                                           file, pool, names));
  }
  const ImportedPool& imported = pool.empty() ? pools->front() : *chosen;
  Status status = imported.taken;
  if (status.ok()) status = CheckPool(file, imported);
  if (!status.ok()) return Fail(std::move(status));
  return SettingsOf(imported, file);
}

}  // namespace ers::proxy
