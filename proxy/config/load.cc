#include "config/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "config/address.h"
#include "config/yaml_value.h"
#include "net/endpoint.h"

namespace ers::proxy {
namespace {

constexpr std::uint64_t kMaxTimeoutMs = 3'600'000;
constexpr std::uint64_t kMaxCountObjectsS = 30 * 86400;
constexpr std::uint64_t kMaxPolicyS = 365 * 86400;
constexpr std::uint64_t kMaxPolicyHits = 1'000'000'000;
constexpr std::uint64_t kMaxPolicyParallel = 64;
constexpr std::uint64_t kMaxBytesPerSecond = std::uint64_t{1} << 50;
constexpr std::uint64_t kMaxExpiryS = std::uint64_t{100} * 365 * 86400;

// A key of a mapping and what it sets.
template <typename Into>
struct Key {
  std::string_view name;
  Status (*read)(const YamlValue& value, Into& into);
};

template <typename Into, std::size_t kCount>
Status ReadKeys(const YamlValue& mapping, const Key<Into> (&keys)[kCount],
                Into& into) {
  std::vector<std::string_view> names;
  for (const Key<Into>& key : keys) names.push_back(key.name);
  const Result<YamlValue::Entries> entries = mapping.Mapping(names);
  if (!entries) return entries.error();
  for (const auto& [name, value] : *entries) {
    const auto at = std::find(names.begin(), names.end(), name);
    Status status = keys[at - names.begin()].read(value, into);
    if (!status.ok()) return status;
    if constexpr (requires { into.places; }) {
      into.places[value.path()] = value.place();
    }
  }
  return {};
}

template <typename Number>
Status ReadNumber(const YamlValue& value, std::uint64_t least,
                  std::uint64_t most, Number& into) {
  const Result<std::uint64_t> number = value.Number(least, most);
  if (!number) return number.error();
  into = static_cast<Number>(*number);
  return {};
}

Status ReadTimeout(const YamlValue& value, std::chrono::milliseconds& into) {
  std::int64_t ms = 0;
  Status status = ReadNumber(value, 1, kMaxTimeoutMs, ms);
  into = std::chrono::milliseconds(ms);
  return status;
}

Status ReadText(const YamlValue& value, std::string& into) {
  Result<std::string> text = value.Text();
  if (!text) return text.error();
  into = std::move(*text);
  return {};
}

Status ReadScheme(const YamlValue& value, Scheme& into) {
  const Result<std::string> text = value.Text();
  if (!text) return text.error();
  const Result<Scheme> scheme = ParseScheme(*text);
  Status status = scheme ? ValidateStoredScheme(*scheme) : scheme.error();
  if (!status.ok()) return value.Refuse(status.message());
  into = *scheme;
  return {};
}

template <typename Into>
Status ReadInlineBelow(const YamlValue& value, Into& into) {
  std::size_t bytes = 0;
  Status status = ReadNumber(value, 0, kMaxInlineBelow, bytes);
  into = bytes;
  return status;
}

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

Status ReadServers(const YamlValue& value, ServerOptions& options) {
  const Result<std::vector<YamlValue>> list = value.List();
  if (!list) return list.error();
  if (list->empty()) return value.Refuse("name at least one server");
  std::vector<std::string> names;
  std::vector<std::string> texts;
  for (const YamlValue& item : *list) {
    Result<std::string> text = item.Text();
    if (!text) return text.error();
    const Result<net::Endpoint> endpoint = net::ParseEndpoint(*text);
    if (!endpoint) return item.Refuse(endpoint.error().message());
    // The library takes one line with commas between.
    if (text->find(',') != std::string::npos) {
      return item.Refuse(fmt::format("\"{}\": one server each", *text));
    }
    const std::string name = endpoint->name();
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      return item.Refuse(fmt::format("\"{}\" is listed twice", name));
    }
    names.push_back(name);
    texts.push_back(std::move(*text));
  }
  options.cluster.servers = fmt::format("{}", fmt::join(texts, ","));
  return {};
}

// --- Rules -------------------------------------------------------------------

Status TakePattern(const YamlValue& value, Result<KeyPattern> pattern,
                   KeyPattern& into) {
  if (!pattern) return value.Refuse(pattern.error().message());
  if (!(into == KeyPattern())) {
    return value.Refuse("give one of prefix, glob and regex");
  }
  into = std::move(*pattern);
  return {};
}

template <typename Make>
Status ReadPattern(const YamlValue& value, Make make, Rule& rule) {
  const Result<std::string> text = value.Text();
  if (!text) return text.error();
  return TakePattern(value, make(*text), rule.condition.key);
}

constexpr Key<Rule> kRuleKeys[] = {
    {"prefix",
     [](const YamlValue& value, Rule& rule) {
       return ReadPattern(value, KeyPattern::Prefix, rule);
     }},
    {"glob",
     [](const YamlValue& value, Rule& rule) {
       return ReadPattern(value, KeyPattern::Glob, rule);
     }},
    {"regex",
     [](const YamlValue& value, Rule& rule) {
       return ReadPattern(value, KeyPattern::Regex, rule);
     }},
    {"min_value_bytes",
     [](const YamlValue& value, Rule& rule) {
       return ReadNumber(value, 0, kMaxValueBytes,
                         rule.condition.min_value_bytes);
     }},
    {"max_value_bytes",
     [](const YamlValue& value, Rule& rule) {
       return ReadNumber(value, 0, kMaxValueBytes,
                         rule.condition.max_value_bytes);
     }},
    {"client_flags",
     [](const YamlValue& value, Rule& rule) {
       std::uint32_t flags = 0;
       Status status = ReadNumber(
           value, 0, std::numeric_limits<std::uint32_t>::max(), flags);
       rule.condition.client_flags = flags;
       return status;
     }},
    {"scheme",
     [](const YamlValue& value, Rule& rule) {
       return ReadScheme(value, rule.scheme.emplace());
     }},
    {"inline_below",
     [](const YamlValue& value, Rule& rule) {
       return ReadInlineBelow(value, rule.inline_below);
     }},
    {"max_expiry_s",
     [](const YamlValue& value, Rule& rule) {
       return ReadNumber(value, 1, kMaxExpiryS, rule.max_expiry_s.emplace());
     }},
};

Status ReadRule(const YamlValue& value, Rules& rules) {
  Rule rule;
  rule.place = value.place();
  Status status = ReadKeys(value, kRuleKeys, rule);
  if (!status.ok()) return status;
  const RuleCondition& condition = rule.condition;
  if (condition.min_value_bytes > condition.max_value_bytes) {
    return value.Refuse(
        fmt::format("never matches: min_value_bytes {} is over "
                    "max_value_bytes {}",
                    condition.min_value_bytes, condition.max_value_bytes));
  }
  for (const Rule& earlier : rules.list) {
    if (earlier.condition == condition) {
      return value.Refuse(fmt::format(
          "never matches: {} has the same conditions", earlier.place));
    }
  }
  rules.list.push_back(std::move(rule));
  return {};
}

Status ReadRules(const YamlValue& value, ServerOptions& options) {
  const Result<std::vector<YamlValue>> list = value.List();
  if (!list) return list.error();
  auto rules = std::make_shared<Rules>();
  for (const YamlValue& item : *list) {
    Status status = ReadRule(item, *rules);
    if (!status.ok()) return status;
  }
  options.rules = std::move(rules);
  return {};
}

// --- The rest ----------------------------------------------------------------

constexpr Key<ServerOptions> kTimeoutKeys[] = {
    {"connect_ms",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadTimeout(value, options.cluster.connect_timeout);
     }},
    {"request_ms",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadTimeout(value, options.cluster.request_timeout);
     }},
    {"operation_ms",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadTimeout(value, options.cluster.operation_timeout);
     }},
};

constexpr Key<ServerOptions> kLimitKeys[] = {
    {"max_connections",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 1, kMaxConnections, options.max_connections);
     }},
    {"max_value_bytes",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 1, kMaxValueBytes, options.max_value_bytes);
     }},
    {"memory_in_flight_bytes",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 1, kMaxMemoryInFlight,
                         options.memory_in_flight_bytes);
     }},
};

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

constexpr Key<ServerOptions> kLogKeys[] = {{"level", ReadLogLevel},
                                           {"format", ReadLogFormat}};

// --- Policies ----------------------------------------------------------------

// What both have, of the one that `policy` picks.
template <auto policy>
constexpr Key<ServerOptions> kPrefixKey = {
    "prefix", [](const YamlValue& value, ServerOptions& options) {
      return ReadText(value, (options.policies.*policy).prefix);
    }};
template <auto policy>
constexpr Key<ServerOptions> kParallelKey = {
    "parallel", [](const YamlValue& value, ServerOptions& options) {
      return ReadNumber(value, 1, kMaxPolicyParallel,
                        (options.policies.*policy).parallel);
    }};
template <auto policy>
constexpr Key<ServerOptions> kRateKey = {
    "bytes_per_second", [](const YamlValue& value, ServerOptions& options) {
      return ReadNumber(value, 0, kMaxBytesPerSecond,
                        (options.policies.*policy).bytes_per_second);
    }};

constexpr Key<ServerOptions> kWidenKeys[] = {
    {"idle_s",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 1, kMaxPolicyS,
                         options.policies.widen.idle_seconds);
     }},
    {"every_s",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 1, kMaxPolicyS,
                         options.policies.widen.every_seconds);
     }},
    {"min_bytes",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 0, kMaxValueBytes,
                         options.policies.widen.min_bytes);
     }},
    kPrefixKey<&Policies::widen>,
    kParallelKey<&Policies::widen>,
    kRateKey<&Policies::widen>,
};

constexpr Key<ServerOptions> kNarrowKeys[] = {
    {"hits",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 1, kMaxPolicyHits,
                         options.policies.narrow.hits);
     }},
    {"within_s",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 1, kMaxPolicyS,
                         options.policies.narrow.within_seconds);
     }},
    kPrefixKey<&Policies::narrow>,
    kParallelKey<&Policies::narrow>,
    kRateKey<&Policies::narrow>,
};

Status ReadWiden(const YamlValue& value, ServerOptions& options) {
  Status status = ReadKeys(value, kWidenKeys, options);
  if (!status.ok() || options.policies.widen.idle_seconds > 0) return status;
  return value.Refuse(
      "idle_s is missing: after so many seconds without a "
      "read or change an object is made wide");
}

Status ReadNarrow(const YamlValue& value, ServerOptions& options) {
  Status status = ReadKeys(value, kNarrowKeys, options);
  const NarrowPolicy& narrow = options.policies.narrow;
  if (!status.ok() || (narrow.hits > 0 && narrow.within_seconds > 0)) {
    return status;
  }
  return value.Refuse(
      "hits and within_s are both needed: so many reads within "
      "so many seconds make an object narrow");
}

constexpr Key<ServerOptions> kPolicyKeys[] = {
    {"widen", ReadWiden},
    {"narrow", ReadNarrow},
    {"leave_alone_s",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 0, kMaxPolicyS,
                         options.policies.leave_alone_seconds);
     }},
};

constexpr Key<ServerOptions> kKeys[] = {
    {"listen", ReadListen},
    {"servers", ReadServers},
    {"max_parity",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 1, kMaxParity, options.cluster.max_parity);
     }},
    {"state_file",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadText(value, options.cluster.state_file);
     }},
    {"scheme",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadScheme(value, options.client.scheme);
     }},
    {"inline_below",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadInlineBelow(value, options.client.inline_below);
     }},
    {"rules", ReadRules},
    {"policies",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadKeys(value, kPolicyKeys, options);
     }},
    {"admin",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadText(value, options.admin);
     }},
    {"state_dir",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadText(value, options.state_dir);
     }},
    {"count_objects_s",
     [](const YamlValue& value, ServerOptions& options) {
       std::int64_t seconds = 0;
       Status status = ReadNumber(value, 0, kMaxCountObjectsS, seconds);
       options.count_objects_every = std::chrono::seconds(seconds);
       return status;
     }},
    {"threads",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 1, kMaxThreads, options.threads);
     }},
    {"timeouts",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadKeys(value, kTimeoutKeys, options);
     }},
    {"limits",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadKeys(value, kLimitKeys, options);
     }},
    {"log",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadKeys(value, kLogKeys, options);
     }},
};

}  // namespace

Result<ServerOptions> LoadOptions(const std::string& file) {
  const Result<YamlValue> root = YamlValue::Load(file);
  if (!root) return Fail(root.error());
  ServerOptions options;
  options.config_file = file;
  Status status = ReadKeys(*root, kKeys, options);
  if (!status.ok()) return Fail(std::move(status));
  return options;
}

}  // namespace ers::proxy
