#include "config/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "config/collector_url.h"
#include "config/read_rules.h"
#include "config/read_tiers.h"
#include "config/read_value.h"
#include "net/endpoint.h"
#include "net/placement.h"
#include "shared/address.h"

namespace ers::proxy {
namespace {

constexpr std::uint64_t kMaxTimeoutMs = 3'600'000;
constexpr std::uint64_t kMaxCountObjectsS = 30 * 86400;
constexpr std::uint64_t kMaxIdleTimeoutS = 30 * 86400;
constexpr std::uint64_t kMinGraceS = 3600;
constexpr std::uint64_t kMaxGarbageS = 365 * 86400;
constexpr std::uint64_t kMaxObjectsPerSecond = 1'000'000'000;
constexpr std::uint64_t kMaxPolicyParallel = 64;
constexpr std::uint64_t kMinSliceKeys = 1000;
constexpr std::uint64_t kMaxSliceKeys = 100'000'000;
constexpr std::uint64_t kMaxBytesPerSecond = std::uint64_t{1} << 50;

// --- Addresses ---------------------------------------------------------------

Status ReadListen(const YamlValue& value, ServerOptions& options) {
  const Result<std::vector<YamlValue>> list = value.List();
  if (!list) return list.error();
  options.listen.clear();
  for (const YamlValue& item : *list) {
    const Result<std::string> text = item.Text();
    if (!text) return text.error();
    const Result<Address> address = ParseAddress(*text);
    if (!address) {
      return item.Refuse(
          fmt::format("\"{}\": {}", *text, address.error().message()));
    }
    if (std::find(options.listen.begin(), options.listen.end(), *text) !=
        options.listen.end()) {
      return item.Refuse(fmt::format("\"{}\" is listed twice", *text));
    }
    options.listen.push_back(*text);
  }
  if (options.listen.empty()) return value.Refuse("name at least one address");
  return {};
}

Status ReadServerList(const YamlValue& value, std::string& into) {
  const Result<std::vector<YamlValue>> list = value.List();
  if (!list) return list.error();
  if (list->empty()) return value.Refuse("name at least one server");
  std::vector<std::string> names;
  std::vector<std::string> texts;
  for (const YamlValue& item : *list) {
    Result<std::string> text = item.Text();
    if (!text) return text.error();
    // The library takes one line with commas between.
    if (text->find(',') != std::string::npos) {
      return item.Refuse(
          fmt::format("\"{}\": a comma is in it: give one server each", *text));
    }
    const Result<net::Endpoint> endpoint = net::ParseEndpoint(*text);
    if (!endpoint) return item.Refuse(endpoint.error().message());
    const std::string name = endpoint->name();
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      return item.Refuse(fmt::format("\"{}\" is listed twice", name));
    }
    names.push_back(name);
    texts.push_back(std::move(*text));
  }
  into = fmt::format("{}", fmt::join(texts, ","));
  return {};
}

Status ReadServers(const YamlValue& value, ServerOptions& options) {
  return ReadServerList(value, options.cluster.servers);
}

// "b:1,a:1" and "a:1,b:1" are the same servers.
std::string Sorted(std::string_view servers) {
  Result<std::vector<net::Endpoint>> parsed = net::ParseEndpoints(servers);
  if (!parsed) return std::string(servers);
  std::vector<std::string> names;
  for (const net::Endpoint& endpoint : *parsed) {
    names.push_back(fmt::format("{}:{}{}{}", endpoint.name(), endpoint.weight,
                                endpoint.label.empty() ? "" : "=",
                                endpoint.label));
  }
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, ","));
}

Status CheckPlacement(const YamlValue& mapping, const ServerOptions& options) {
  const ClusterOptions& cluster = options.cluster;
  const Result<net::Placement> placement =
      net::ParsePlacement(cluster.distribution, cluster.hash, cluster.hash_tag);
  if (placement) return {};
  return mapping.Refuse(placement.error().message());
}

// An address of both would have its values deleted with those of the old pool.
Status CheckWarmFrom(const YamlValue& mapping, const ServerOptions& options) {
  const WarmFrom& warm = options.warm_from;
  if (warm.servers.empty()) {
    return mapping.Refuse(
        "servers is missing: the addresses of the old pool, or of its proxy");
  }
  const Result<net::Placement> placement =
      net::ParsePlacement(warm.distribution, warm.hash, warm.hash_tag);
  if (!placement) return mapping.Refuse(placement.error().message());
  return {};
}

// --- Traces ------------------------------------------------------------------

Status ReadTraceExport(const YamlValue& value, ServerOptions& options) {
  Result<std::string> text = value.Text();
  if (!text) return text.error();
  const Result<CollectorUrl> url = ParseCollectorUrl(*text);
  if (!url) return value.Refuse(url.error().message());
  options.trace_export = std::move(*text);
  return {};
}

Status ReadTraceSample(const YamlValue& value, ServerOptions& options) {
  const Result<double> share = value.Share();
  if (!share) return share.error();
  options.trace_sample = *share;
  return {};
}

// --- The log -----------------------------------------------------------------

Status ReadLogLevel(const YamlValue& value, ServerOptions& options) {
  Result<std::string> level = value.OneOf(kLogLevels);
  if (!level) return level.error();
  options.log_level = std::move(*level);
  return {};
}

Status ReadLogFormat(const YamlValue& value, ServerOptions& options) {
  const Result<std::string> format = value.OneOf(kLogFormats);
  if (!format) return format.error();
  options.log_format = LogFormatOf(*format);
  return {};
}

// --- Policies ----------------------------------------------------------------

// The setting `first` is a form of the list `tiers` beside it.
Status CheckOneForm(const YamlValue& mapping, const ServerOptions& options,
                    std::string_view first) {
  const auto given = [&](std::string_view key) {
    return options.places.contains(fmt::format("{}.{}", mapping.path(), key));
  };
  if (!given(first) || !given("tiers")) return {};
  return mapping.Refuse(
      fmt::format("{} and tiers are both given: {} alone is one tier, so give "
                  "one of them",
                  first, first));
}

Status CheckWiden(const YamlValue& mapping, const ServerOptions& options) {
  if (options.policies.widen.tiers.empty()) {
    return mapping.Refuse(
        "idle_s or tiers is missing: after so many seconds without a read or "
        "change an object is made wide");
  }
  return CheckOneForm(mapping, options, "idle_s");
}

Status CheckNarrow(const YamlValue& mapping, const ServerOptions& options) {
  const NarrowPolicy& narrow = options.policies.narrow;
  if (narrow.tiers.empty() || narrow.within_seconds == 0) {
    return mapping.Refuse(
        "hits (or tiers) and within_s are both needed: so many reads within "
        "so many seconds make an object narrow");
  }
  return CheckOneForm(mapping, options, "hits");
}

Status CheckPackPolicy(const YamlValue& mapping, const ServerOptions& options) {
  if (options.policies.pack.idle_seconds > 0) return {};
  return mapping.Refuse(
      "idle_s is missing: after so many seconds without a read or change a "
      "small value is packed");
}

constexpr Section kSections[] = {{"placement", CheckPlacement},
                                 {"warm_from", CheckWarmFrom},
                                 {"policies.widen", CheckWiden},
                                 {"policies.narrow", CheckNarrow},
                                 {"policies.pack", CheckPackPolicy}};

// --- The table ---------------------------------------------------------------

std::string Shown(const std::string& text) { return text; }
std::string Shown(std::uint64_t number) { return std::to_string(number); }
template <typename Rep, typename Period>
std::string Shown(std::chrono::duration<Rep, Period> time) {
  return std::to_string(time.count());
}

// Where a setting goes: for the readers below.
#define ERS_PROXY_AT(place) [](auto& options) -> auto& { return options.place; }

template <auto place, std::uint64_t least, std::uint64_t most>
constexpr Setting Number(Setting setting) {
  setting.read = [](const YamlValue& value, ServerOptions& options) {
    return ReadNumber(value, least, most, place(options));
  };
  setting.shown = [](const ServerOptions& options) {
    return Shown(place(options));
  };
  return setting;
}

template <auto place>
constexpr Setting Text(Setting setting) {
  setting.read = [](const YamlValue& value, ServerOptions& options) {
    return ReadText(value, place(options));
  };
  setting.shown = [](const ServerOptions& options) {
    return Shown(place(options));
  };
  return setting;
}

// A reload takes it.
constexpr Setting Reloaded(Setting setting) {
  setting.reloads = true;
  return setting;
}

constexpr std::string_view kKeepsPlacement =
    ": a cluster keeps the placement that it was set up with; put the old one "
    "back";

constexpr Setting kSettings[] = {
    {.name = "listen",
     .option = {"--listen", "ADDRESS",
                "host:port, [IPv6]:port or /unix/path; port 0: any free one; "
                "may be repeated (default: 127.0.0.1:11211)",
                Option::Values::kRepeated},
     .read = ReadListen,
     .shown =
         [](const ServerOptions& options) {
           return fmt::format("{}", fmt::join(options.listen, ","));
         }},
    {.name = "servers",
     .option = {"--servers", "LIST",
                "Every memcached server of the cluster: host:port[:weight],"
                "[IPv6]:port,/unix/socket,...",
                Option::Values::kCommas, "ERS_SERVERS"},
     .read = ReadServers,
     .shown =
         [](const ServerOptions& options) {
           return Sorted(options.cluster.servers);
         },
     .advice =
         ": a cluster keeps its servers and their weights, over a restart, "
         "too; put the old list back (one at another address comes in by "
         "`ersctl replace OLD NEW`)"},
    Text<ERS_PROXY_AT(cluster.distribution)>(
        {.name = "placement.distribution", .advice = kKeepsPlacement}),
    Text<ERS_PROXY_AT(cluster.hash)>(
        {.name = "placement.hash", .advice = kKeepsPlacement}),
    Text<ERS_PROXY_AT(cluster.hash_tag)>(
        {.name = "placement.hash_tag", .advice = kKeepsPlacement}),
    Number<ERS_PROXY_AT(cluster.max_failures), 1, kMaxFailures>(
        {.name = "max_failures",
         .option = {"--max-failures", "F",
                    "Servers that may die: fixed when a cluster is first used "
                    "(default: the largest m of the schemes)"},
         .advice =
             ": a cluster keeps the f that it was set up with, over a restart, "
             "too; put the old one back"}),
    Number<ERS_PROXY_AT(cluster.min_redundancy), 0, kMaxFailures>(
        {.name = "min_redundancy"}),
    Text<ERS_PROXY_AT(cluster.state_file)>(
        {.name = "state_file",
         .option = {"--state", "FILE",
                    "Where to keep the newest view of the cluster (default: "
                    "nowhere)"}}),
    {.name = "scheme",
     .option = {"--scheme", "SCHEME",
                "Of new objects, where no rule says otherwise (default: "
                "ers2:4,1,5)"},
     .read =
         [](const YamlValue& value, ServerOptions& options) {
           return ReadScheme(value, options.client.scheme);
         },
     .shown =
         [](const ServerOptions& options) {
           return FormatScheme(options.client.scheme);
         }},
    {.name = "inline_below",
     .option = {"--inline-below", "BYTES",
                "Keep shorter values whole on f+1 servers; auto: those that "
                "coding would save little memory for (default: auto)"},
     .read =
         [](const YamlValue& value, ServerOptions& options) {
           return ReadInlineBelow(value, options.client.inline_below);
         },
     .shown =
         [](const ServerOptions& options) {
           const std::size_t below = options.client.inline_below;
           return below == kInlineAuto ? "auto" : std::to_string(below);
         }},
    Number<ERS_PROXY_AT(client.column_below), 0, kMaxColumnBelow>(
        {.name = "column_below",
         .option = {"--column-below", "BYTES",
                    "Store shorter elastic values as columns (default: "
                    "98304)"}}),
    {.name = "rules", .read = ReadRules, .reloads = true},

    {.name = "policies.widen.idle_s", .read = ReadWidenIdle, .reloads = true},
    {.name = "policies.widen.tiers", .read = ReadWidenTiers, .reloads = true},
    Reloaded(Number<ERS_PROXY_AT(policies.widen.every_seconds), 1, kMaxPolicyS>(
        {.name = "policies.widen.every_s"})),
    Reloaded(Number<ERS_PROXY_AT(policies.widen.min_bytes), 0, kMaxValueBytes>(
        {.name = "policies.widen.min_bytes"})),
    Reloaded(Text<ERS_PROXY_AT(policies.widen.prefix)>(
        {.name = "policies.widen.prefix"})),
    Reloaded(
        Number<ERS_PROXY_AT(policies.widen.parallel), 1, kMaxPolicyParallel>(
            {.name = "policies.widen.parallel"})),
    Reloaded(Number<ERS_PROXY_AT(policies.widen.bytes_per_second), 0,
                    kMaxBytesPerSecond>(
        {.name = "policies.widen.bytes_per_second"})),
    {.name = "policies.narrow.hits", .read = ReadNarrowHits, .reloads = true},
    {.name = "policies.narrow.tiers", .read = ReadNarrowTiers, .reloads = true},
    Reloaded(
        Number<ERS_PROXY_AT(policies.narrow.within_seconds), 1, kMaxPolicyS>(
            {.name = "policies.narrow.within_s"})),
    Reloaded(Text<ERS_PROXY_AT(policies.narrow.prefix)>(
        {.name = "policies.narrow.prefix"})),
    Reloaded(
        Number<ERS_PROXY_AT(policies.narrow.parallel), 1, kMaxPolicyParallel>(
            {.name = "policies.narrow.parallel"})),
    Reloaded(Number<ERS_PROXY_AT(policies.narrow.bytes_per_second), 0,
                    kMaxBytesPerSecond>(
        {.name = "policies.narrow.bytes_per_second"})),
    Reloaded(Number<ERS_PROXY_AT(policies.pack.idle_seconds), 1, kMaxPolicyS>(
        {.name = "policies.pack.idle_s"})),
    Reloaded(Number<ERS_PROXY_AT(policies.pack.every_seconds), 1, kMaxPolicyS>(
        {.name = "policies.pack.every_s"})),
    Reloaded(Text<ERS_PROXY_AT(policies.pack.prefix)>(
        {.name = "policies.pack.prefix"})),
    Reloaded(
        Number<ERS_PROXY_AT(policies.pack.parallel), 1, kMaxPolicyParallel>(
            {.name = "policies.pack.parallel"})),
    Reloaded(
        Number<ERS_PROXY_AT(policies.pack.bytes_per_second), 0,
               kMaxBytesPerSecond>({.name = "policies.pack.bytes_per_second"})),
    Reloaded(Number<ERS_PROXY_AT(policies.leave_alone_seconds), 0, kMaxPolicyS>(
        {.name = "policies.leave_alone_s"})),

    Reloaded(Number<ERS_PROXY_AT(backfill.parallel), 1, kMaxPolicyParallel>(
        {.name = "backfill.parallel"})),
    Reloaded(
        Number<ERS_PROXY_AT(backfill.slice_keys), kMinSliceKeys, kMaxSliceKeys>(
            {.name = "backfill.slice_keys"})),
    Reloaded(
        Number<ERS_PROXY_AT(backfill.bytes_per_second), 0, kMaxBytesPerSecond>(
            {.name = "backfill.bytes_per_second"})),

    {.name = "warm_from.servers",
     .read =
         [](const YamlValue& value, ServerOptions& options) {
           return ReadServerList(value, options.warm_from.servers);
         },
     .shown =
         [](const ServerOptions& options) {
           return options.warm_from.servers;
         }},
    Text<ERS_PROXY_AT(warm_from.distribution)>(
        {.name = "warm_from.distribution"}),
    Text<ERS_PROXY_AT(warm_from.hash)>({.name = "warm_from.hash"}),
    Text<ERS_PROXY_AT(warm_from.hash_tag)>({.name = "warm_from.hash_tag"}),
    Number<ERS_PROXY_AT(warm_from.timeout), 1, kMaxTimeoutMs>(
        {.name = "warm_from.timeout_ms"}),

    Text<ERS_PROXY_AT(admin)>(
        {.name = "admin",
         .option = {"--admin", "ADDRESS",
                    "host:port of HTTP for /healthz, /readyz, /status, "
                    "/metrics and jobs; :port is loopback (default: "
                    "nowhere)"}}),
    Reloaded(Text<ERS_PROXY_AT(admin_token_file)>(
        {.name = "admin_token_file",
         .option = {"--admin-token-file", "FILE",
                    "Holds what requests to --admin must carry; without it "
                    "that must be loopback"}})),
    Text<ERS_PROXY_AT(state_dir)>(
        {.name = "state_dir",
         .option = {"--state-dir", "DIR",
                    "Folder that keeps jobs over a restart, for this process "
                    "alone (default: they end with it)"}}),
    Text<ERS_PROXY_AT(user)>(
        {.name = "user",
         .option = {"-u,--user", "NAME",
                    "Become this user once the ports are taken; for root "
                    "only"}}),
    Number<ERS_PROXY_AT(count_objects_every), 0, kMaxCountObjectsS>(
        {.name = "count_objects_s"}),
    Number<ERS_PROXY_AT(garbage.grace), kMinGraceS, kMaxGarbageS>(
        {.name = "garbage.grace_s"}),
    Number<ERS_PROXY_AT(garbage.every), 0, kMaxGarbageS>(
        {.name = "garbage.every_s"}),
    Number<ERS_PROXY_AT(garbage.objects_per_second), 0, kMaxObjectsPerSecond>(
        {.name = "garbage.objects_per_second"}),
    Number<ERS_PROXY_AT(threads), 1, kMaxThreads>(
        {.name = "threads",
         .option = {"--threads", "N",
                    "Threads that serve clients (default: 2)"}}),
    Number<ERS_PROXY_AT(cluster.hedge_percent), 0, kMaxHedgePercent>(
        {.name = "hedge_percent",
         .option = {"--hedge-percent", "N",
                    "Percent of the bytes read that may be spent on further "
                    "reads where a server is late; 0: none (default: 3)"}}),
    Number<ERS_PROXY_AT(cluster.connect_timeout), 1, kMaxTimeoutMs>(
        {.name = "timeouts.connect_ms"}),
    Number<ERS_PROXY_AT(cluster.request_timeout), 1, kMaxTimeoutMs>(
        {.name = "timeouts.request_ms"}),
    Number<ERS_PROXY_AT(cluster.operation_timeout), 1, kMaxTimeoutMs>(
        {.name = "timeouts.operation_ms"}),
    Reloaded(Number<ERS_PROXY_AT(max_connections), 1, kMaxConnections>(
        {.name = "limits.max_connections",
         .option = {"--max-connections", "N",
                    "Connections of clients at a time (default: 16384)"}})),
    Reloaded(Number<ERS_PROXY_AT(idle_timeout), 0, kMaxIdleTimeoutS>(
        {.name = "limits.idle_timeout_s"})),
    Reloaded(Number<ERS_PROXY_AT(max_value_bytes), 1, kMaxValueBytes>(
        {.name = "limits.max_value_bytes",
         .option = {"--max-value", "BYTES",
                    "Longer ones are refused (default: 268435456)"}})),
    Reloaded(
        Number<ERS_PROXY_AT(memory_in_flight_bytes), 1, kMaxMemoryInFlight>(
            {.name = "limits.memory_in_flight_bytes",
             .option = {"--memory-in-flight", "BYTES",
                        "What requests under way may hold of values, together "
                        "(default: 1073741824)"}})),
    {.name = "trace_export",
     .option = {"--trace-export", "URL",
                "http://host:port of an OpenTelemetry collector that gets "
                "traces of requests (default: nowhere)"},
     .read = ReadTraceExport,
     .shown =
         [](const ServerOptions& options) { return options.trace_export; }},
    {.name = "trace_sample",
     .option = {"--trace-sample", "SHARE",
                "Share of the requests that is traced, 0 to 1 (default: "
                "0.001)"},
     .read = ReadTraceSample,
     .shown =
         [](const ServerOptions& options) {
           return fmt::format("{}", options.trace_sample);
         },
     .reloads = true},
    {.name = "log.level",
     .option = {"--log-level", "LEVEL",
                "debug, info (default), warning or error"},
     .read = ReadLogLevel,
     .shown = [](const ServerOptions& options) { return options.log_level; },
     .reloads = true},
    {.name = "log.format",
     .option = {"--log-format", "FORMAT",
                "text (default) or json: one object a line"},
     .read = ReadLogFormat,
     .shown =
         [](const ServerOptions& options) {
           return std::string(FormatName(options.log_format));
         }},
};
#undef ERS_PROXY_AT

}  // namespace

std::span<const Setting> Settings() { return kSettings; }

std::span<const Section> Sections() { return kSections; }

}  // namespace ers::proxy
