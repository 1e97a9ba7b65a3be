#include "config/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/settings.h"
#include "config/state_dir.h"
#include "config/user.h"
#include "net/endpoint.h"
#include "shared/address.h"
#include "shared/token.h"

namespace ers::proxy {
namespace {

constexpr std::uint64_t kDefaultMemoryInFlight = std::uint64_t{1} << 30;

Status RefuseAt(std::string_view place, std::string_view why) {
  return {StatusCode::kInvalidArgument, fmt::format("{}: {}", place, why)};
}

Status CheckScheme(const std::string& place, const Scheme& scheme, int servers,
                   int max_failures) {
  const int needed = NodeCount(scheme);
  if (needed > servers) {
    return RefuseAt(
        place, fmt::format("scheme {} needs {} servers and {} are listed: "
                           "choose a narrower scheme, or, for a new cluster, "
                           "list more servers",
                           FormatScheme(scheme), needed, servers));
  }
  if (scheme.m > max_failures) {
    return RefuseAt(place,
                    fmt::format("scheme {} has m = {}: max_failures is {}; "
                                "choose a scheme of a smaller m, or, for a new "
                                "cluster, a larger max_failures",
                                FormatScheme(scheme), scheme.m, max_failures));
  }
  return {};
}

Status CheckListen(const ServerOptions& options) {
  const std::vector<std::string>& listen = options.listen;
  for (auto address = listen.begin(); address != listen.end(); ++address) {
    const Result<Address> parsed = ParseAddress(*address);
    std::string why = parsed ? "" : parsed.error().message();
    // Port 0 is another one each time.
    if (parsed && parsed->port != "0" &&
        std::find(listen.begin(), address, *address) != address) {
      why = "it is given twice";
    }
    if (!why.empty()) {
      return RefuseAt(options.PlaceOf("listen"),
                      fmt::format("\"{}\": {}", *address, why));
    }
  }
  return {};
}

// A third of a thread's share is kept for requests that must end, a third is
// the most that clients may hold up.
Status CheckMemory(ServerOptions& options) {
  const std::uint64_t least =
      3 * MemoryReserve(options) * static_cast<std::uint64_t>(options.threads);
  if (options.memory_in_flight_bytes == 0) {
    options.memory_in_flight_bytes = std::max(kDefaultMemoryInFlight, least);
  }
  if (options.memory_in_flight_bytes >= least) return {};
  return RefuseAt(
      options.PlaceOf("limits.memory_in_flight_bytes"),
      fmt::format("{}: with {} threads and these schemes it must be at least "
                  "{}; or lower threads",
                  options.memory_in_flight_bytes, options.threads, least));
}

// Values of the old pool are deleted there; a server of both would lose ours.
Status CheckWarmFrom(const ServerOptions& options) {
  if (options.warm_from.servers.empty()) return {};
  const auto old_ones = net::ParseEndpoints(options.warm_from.servers);
  const auto ours = net::ParseEndpoints(options.cluster.servers);
  if (!old_ones || !ours) return {};
  for (const net::Endpoint& old_one : *old_ones) {
    for (const net::Endpoint& our_own : *ours) {
      if (old_one.name() != our_own.name()) continue;
      return RefuseAt(options.PlaceOf("warm_from.servers"),
                      fmt::format("{} is a server of the cluster, too: values "
                                  "that lie on it are found by placement",
                                  old_one.name()));
    }
  }
  return {};
}

// Else an object could be made wide and narrow by turns.
Status CheckPolicies(const ServerOptions& options) {
  const WidenPolicy& widen = options.policies.widen;
  const NarrowPolicy& narrow = options.policies.narrow;
  if (widen.tiers.empty() || narrow.tiers.empty()) return {};
  const std::uint64_t idle = widen.tiers.front().from;
  const auto within = static_cast<std::uint64_t>(narrow.within_seconds);
  if (idle > within) return {};
  if (options.places.contains("policies.widen.tiers")) {
    return RefuseAt(options.PlaceOf("policies.widen.tiers"),
                    fmt::format("the first idle_s is {}: it must be more than "
                                "narrow.within_s, {}",
                                idle, within));
  }
  return RefuseAt(options.PlaceOf("policies.widen.idle_s"),
                  fmt::format("{}: it must be more than narrow.within_s, {}",
                              idle, within));
}

// No object may have more parity blocks than the servers that may be out.
Status CheckTiers(const ServerOptions& options) {
  const Policies& policies = options.policies;
  for (const auto& [name, tiers] :
       {std::pair("policies.widen.tiers", &policies.widen.tiers),
        std::pair("policies.narrow.tiers", &policies.narrow.tiers)}) {
    for (const Tier& tier : *tiers) {
      if (tier.m <= options.cluster.max_failures) continue;
      return RefuseAt(
          options.PlaceOf(name),
          fmt::format("width {} has m = {}: max_failures is {}; "
                      "choose a smaller m",
                      tier.width, tier.m, options.cluster.max_failures));
    }
  }
  return {};
}

Status CheckAdmin(ServerOptions& options) {
  options.admin_token.clear();
  if (!options.admin_token_file.empty()) {
    Result<std::string> token = ReadToken(options.admin_token_file);
    if (!token) {
      return RefuseAt(options.PlaceOf("admin_token_file"),
                      token.error().message());
    }
    options.admin_token = std::move(*token);
  }
  if (options.admin.empty()) return {};
  const Result<std::string> admin = AdminAddress(options.admin);
  if (!admin) {
    return RefuseAt(
        options.PlaceOf("admin"),
        fmt::format("\"{}\": {}", options.admin, admin.error().message()));
  }
  if (options.admin_token.empty() && !IsLoopback(*ParseAddress(*admin))) {
    return RefuseAt(
        options.PlaceOf("admin"),
        fmt::format(
            "\"{}\": whatever reaches it could read, change and delete every "
            "value: choose a loopback address, or give admin_token_file",
            options.admin));
  }
  return {};
}

}  // namespace

std::string ServerOptions::PlaceOf(std::string_view setting) const {
  const auto found = places.find(setting);
  if (found != places.end()) return found->second;
  if (config_file.empty()) return std::string(setting);
  return fmt::format("{}: {}", config_file, setting);
}

std::uint64_t MemoryReserve(const ServerOptions& options) {
  const auto need = [](const Scheme& scheme) {
    const auto k = static_cast<std::uint64_t>(scheme.k);
    const auto m = static_cast<std::uint64_t>(scheme.m);
    return kMaxGroupBytes + (kMaxGroupBytes * m + k - 1) / k;
  };
  std::uint64_t most =
      std::max(2 * kMaxGroupBytes, need(options.client.scheme));
  for (const Rule& rule : options.rules->list) {
    if (rule.scheme) most = std::max(most, need(*rule.scheme));
  }
  return most;
}

Status CompleteOptions(ServerOptions& options) {
  Status status = CheckListen(options);
  if (status.ok()) status = CheckMemory(options);
  if (status.ok()) status = CheckPolicies(options);
  if (status.ok()) status = CheckWarmFrom(options);
  if (status.ok()) status = CheckAdmin(options);
  if (status.ok() && !options.user.empty()) {
    const Status user = CheckUser(options.user);
    if (!user.ok()) return RefuseAt(options.PlaceOf("user"), user.message());
  }
  if (!status.ok()) return status;
  if (!options.state_dir.empty()) {
    const Status usable = CheckStateDir(options.state_dir);
    if (!usable.ok()) {
      return RefuseAt(options.PlaceOf("state_dir"), usable.message());
    }
  }
  if (options.cluster.servers.empty()) {
    return RefuseAt(options.PlaceOf("servers"),
                    "missing: list every memcached server of the cluster, "
                    "there or by --servers");
  }
  const auto servers = net::ParseEndpoints(options.cluster.servers);
  if (!servers) {
    return RefuseAt(options.PlaceOf("servers"), servers.error().message());
  }
  const auto count = static_cast<int>(servers->size());
  const std::vector<Rule>& rules = options.rules->list;
  int& max_failures = options.cluster.max_failures;
  if (max_failures == 0) {
    max_failures = options.client.scheme.m;
    for (const Rule& rule : rules) {
      if (rule.scheme) max_failures = std::max(max_failures, rule.scheme->m);
    }
  }
  status = CheckScheme(options.PlaceOf("scheme"), options.client.scheme, count,
                       max_failures);
  for (const Rule& rule : rules) {
    if (!status.ok()) break;
    if (rule.scheme) {
      status = CheckScheme(rule.place, *rule.scheme, count, max_failures);
    }
  }
  if (status.ok()) status = CheckTiers(options);
  if (status.ok() && max_failures >= count) {
    return RefuseAt(options.PlaceOf("max_failures"),
                    fmt::format("{} with {} servers: it must be from 1 to {}",
                                max_failures, count, count - 1));
  }
  return status;
}

std::vector<std::string> WarningsOf(const ServerOptions& options) {
  if (options.policies.pack.idle_seconds == 0) return {};
  const int most = options.cluster.max_failures;
  std::vector<std::string> warnings;
  const auto check = [&](const std::string& place, const Scheme& scheme) {
    if (scheme.m >= most) return;
    warnings.push_back(
        fmt::format("{}: packs of {} outlive the loss of m = {} of the "
                    "servers, and small values that are kept whole that of "
                    "max_failures = {}: choose a scheme with m = {}, or leave "
                    "policies.pack out",
                    place, FormatScheme(scheme), scheme.m, most, most));
  };
  check(options.PlaceOf("scheme"), options.client.scheme);
  for (const Rule& rule : options.rules->list) {
    if (rule.scheme) check(rule.place, *rule.scheme);
  }
  return warnings;
}

Status CheckReload(const ServerOptions& running, const ServerOptions& fresh) {
  for (const Setting& setting : Settings()) {
    if (setting.reloads) continue;
    const std::string before = setting.shown(running);
    const std::string after = setting.shown(fresh);
    if (after == before) continue;
    return RefuseAt(
        fresh.PlaceOf(setting.name),
        fmt::format("changed from {} to {}{}",
                    before.empty() ? "nothing" : before,
                    after.empty() ? "nothing" : after, setting.advice));
  }
  return {};
}

}  // namespace ers::proxy
