#include "config/import_mcrouter.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace ers::proxy {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 64;
constexpr std::string_view kPoolRoute = "PoolRoute";

// Where in the file, and what is wrong.
class Importer {
 public:
  Importer(const std::string& file, const json& root)
      : file_(file), root_(root) {}

  Result<std::vector<ImportedPool>> Run() {
    Status status;
    if (!root_.is_object()) status = Refuse("", "expected an object");
    if (status.ok() && root_.contains("route")) {
      status = WalkRoute(root_["route"], "route", 0);
    }
    if (status.ok() && root_.contains("routes")) {
      status = WalkAliases(root_["routes"]);
    }
    if (!status.ok()) return Fail(std::move(status));
    std::vector<ImportedPool> pools;
    for (auto& [name, pool] : pools_) pools.push_back(std::move(pool));
    return pools;
  }

 private:
  [[nodiscard]] Status Refuse(std::string_view place,
                              std::string_view why) const {
    return {StatusCode::kInvalidArgument,
            place.empty() ? fmt::format("{}: {}", file_, why)
                          : fmt::format("{}: {}: {}", file_, place, why)};
  }

  Status WalkAliases(const json& routes) {
    if (!routes.is_array() && !routes.is_object()) {
      return Refuse("routes", "expected a list");
    }
    for (const json& each : routes) {
      const json& route =
          each.is_object() && each.contains("route") ? each["route"] : each;
      prefixed_ = true;
      Status status = WalkRoute(route, "routes", 0);
      if (!status.ok()) return status;
    }
    return {};
  }

  // "PoolRoute|A", or an object with a type.
  Status WalkRoute(const json& route, const std::string& place, int depth) {
    if (depth > kMaxDepth) return Refuse(place, "it is too deep");
    if (route.is_string()) return WalkShort(route.get<std::string>(), place);
    if (route.is_array()) {
      for (const json& each : route) {
        Status status = WalkRoute(each, place, depth + 1);
        if (!status.ok()) return status;
      }
      return {};
    }
    if (!route.is_object()) return {};
    const std::string type = TextOf(route, "type");
    if (type == kPoolRoute) return TakePoolRoute(route, place);
    if (!type.empty() &&
        std::find(others_.begin(), others_.end(), type) == others_.end()) {
      others_.push_back(type);
    }
    for (const auto& [name, value] : route.items()) {
      if (!value.is_structured() && !IsRoute(value)) continue;
      Status status =
          WalkRoute(value, fmt::format("{}.{}", place, name), depth + 1);
      if (!status.ok()) return status;
    }
    return {};
  }

  static bool IsRoute(const json& value) {
    return value.is_string() &&
           value.get<std::string>().starts_with(kPoolRoute);
  }

  Status WalkShort(const std::string& text, const std::string& place) {
    const std::size_t bar = text.find('|');
    if (text.substr(0, bar) != kPoolRoute || bar == std::string::npos) {
      return {};
    }
    return TakePoolRoute({{"pool", text.substr(bar + 1)}}, place);
  }

  Status TakePoolRoute(const json& route, const std::string& place) {
    const json* where = route.contains("pool") ? &route["pool"] : nullptr;
    std::string name =
        where != nullptr && where->is_string() ? where->get<std::string>() : "";
    if (where != nullptr && where->is_object()) name = TextOf(*where, "name");
    const json* pool = where != nullptr && where->is_object() ? where : nullptr;
    if (pool == nullptr && root_.contains("pools") &&
        root_["pools"].is_object() && root_["pools"].contains(name)) {
      pool = &root_["pools"][name];
    }
    if (name.empty() || pool == nullptr || !pool->is_object()) {
      return Refuse(place, fmt::format("no pool \"{}\" is in this file", name));
    }
    const auto [known, fresh] = pools_.try_emplace(name);
    ImportedPool taken;
    taken.name = name;
    taken.distribution = "ch3";
    Status status = TakePool(*pool, "pools." + name, taken);
    if (status.ok() && route.contains("hash")) {
      status = TakeHash(route["hash"], place, taken);
    }
    if (status.ok() && !fresh && known->second.taken.ok() &&
        (known->second.distribution != taken.distribution ||
         known->second.hash != taken.hash)) {
      status = Refuse(
          place, fmt::format("pool {} has routes by several hashes", name));
    }
    Note(taken);
    if (fresh || known->second.taken.ok()) {
      taken.taken = std::move(status);
      known->second = std::move(taken);
    }
    return {};
  }

  void Note(ImportedPool& pool) const {
    pool.left_out.emplace_back(
        "listen: mcrouter has its port on its command line (-p)");
    if (prefixed_) {
      pool.left_out.emplace_back(
          "aliases: routing prefixes are not known here; clients leave them "
          "out of their keys");
    }
    for (const std::string& type : others_) {
      pool.left_out.push_back(fmt::format(
          "{}: the pool alone is taken; docs/guides/move-in.md says what is "
          "there in place of it",
          type));
    }
  }

  Status TakePool(const json& pool, const std::string& place,
                  ImportedPool& into) const {
    if (!pool.contains("servers") || !pool["servers"].is_array()) {
      return Refuse(place, "expected a list of servers");
    }
    for (const json& server : pool["servers"]) {
      const std::string text = server.is_string() ? server.get<std::string>()
                                                  : TextOf(server, "hostname");
      const Result<std::string> address = AddressOf(text);
      if (!address) return Refuse(place, address.error().message());
      into.servers.push_back(*address);
    }
    for (const auto& [name, value] : pool.items()) {
      if (name == "servers" || name == "name") continue;
      if (name == "server_timeout" && value.is_number_unsigned()) {
        into.timeout_ms =
            std::clamp<std::uint64_t>(value.get<std::uint64_t>(), 1, 3'600'000);
        continue;
      }
      if (name == "protocol" && value != "ascii") {
        return Refuse(place, "its servers speak another protocol than ascii");
      }
      if (name == "inherit") {
        return Refuse(place, "it inherits: write out what it has");
      }
      if (name == "keep_routing_prefix" && value == true) {
        return Refuse(place, "its keys have routing prefixes on the servers");
      }
      if (name == "protocol") continue;
      into.left_out.push_back(fmt::format(
          "{}: no setting of this proxy is like it", Printable(name)));
    }
    return {};
  }

  Status TakeHash(const json& hash, const std::string& place,
                  ImportedPool& into) const {
    const std::string name =
        hash.is_string() ? hash.get<std::string>() : TextOf(hash, "hash_func");
    if (hash.is_object() && hash.contains("salt")) {
      return Refuse(place, "a hash with a salt: no setting finds its values");
    }
    if (name == "Ch3" || (name.empty() && hash.is_object())) return {};
    if (name == "Crc32") {
      into.distribution = "modula";
      into.hash = "crc32a_31";
      return {};
    }
    if (name == "WeightedCh3") {
      if (AllWeightsAreOne(hash, into.servers.size())) return {};
      return Refuse(place,
                    "WeightedCh3 with weights other than 1: no setting finds "
                    "its values; fill a new cluster by warm_from");
    }
    return Refuse(place,
                  fmt::format("hash \"{}\": no setting finds its values; fill "
                              "a new cluster by warm_from",
                              Printable(name)));
  }

  // One that is left out is 0.5.
  static bool AllWeightsAreOne(const json& hash, std::size_t servers) {
    if (!hash.is_object() || !hash.contains("weights")) return false;
    const json& weights = hash["weights"];
    if (!weights.is_array() || weights.size() < servers) return false;
    return std::all_of(
        weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(servers),
        [](const json& weight) { return weight.is_number() && weight == 1; });
  }

  // "host:port", "[IPv6]:port", with ":protocol:..." behind.
  static Result<std::string> AddressOf(const std::string& text) {
    const std::size_t host_end =
        text.starts_with('[') ? text.find(']') : text.find(':');
    const std::size_t port =
        host_end == std::string::npos ? host_end : text.find(':', host_end);
    if (port == std::string::npos) {
      return Fail(
          StatusCode::kInvalidArgument,
          fmt::format("server \"{}\" is no host:port", Printable(text)));
    }
    const std::size_t end = text.find(':', port + 1);
    const std::string behind =
        end == std::string::npos ? "" : text.substr(end + 1);
    if (!behind.empty() && behind != "ascii" &&
        !behind.starts_with("ascii:plain")) {
      return Fail(StatusCode::kInvalidArgument,
                  fmt::format("server \"{}\" is not spoken to in plain ascii",
                              Printable(text)));
    }
    return text.substr(0, end);
  }

  static std::string TextOf(const json& object, const char* name) {
    if (!object.is_object() || !object.contains(name)) return {};
    const json& value = object[name];
    return value.is_string() ? value.get<std::string>() : std::string();
  }

  static std::string Printable(std::string_view text) {
    std::string shown(text);
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; },
        '?');
    return shown;
  }

  const std::string& file_;
  const json& root_;
  std::map<std::string, ImportedPool> pools_;
  std::vector<std::string> others_;  // types of routes above
  bool prefixed_ = false;
};

}  // namespace

Result<std::vector<ImportedPool>> ImportMcrouter(const std::string& file,
                                                 std::string_view text) {
  const auto shallow = [](int depth, json::parse_event_t, const json&) {
    return depth <= kMaxDepth;
  };
  try {
    const json root = json::parse(text, shallow, /*allow_exceptions=*/true,
                                  /*ignore_comments=*/true);
    return Importer(file, root).Run();
  } catch (const json::exception& error) {
    return Fail(
        StatusCode::kInvalidArgument,
        fmt::format("{}: not JSON as mcrouter's: {}", file, error.what()));
  }
}

}  // namespace ers::proxy
