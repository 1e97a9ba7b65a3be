#include "config/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "config/load_policies.h"
#include "config/yaml_keys.h"
#include "config/yaml_value.h"
#include "net/endpoint.h"
#include "shared/address.h"

namespace ers::proxy {
namespace {

constexpr std::uint64_t kMaxTimeoutMs = 3'600'000;
constexpr std::uint64_t kMaxCountObjectsS = 30 * 86400;
constexpr std::uint64_t kMaxIdleTimeoutS = 30 * 86400;
constexpr std::uint64_t kMinGraceS = 3600;
constexpr std::uint64_t kMaxGarbageS = 365 * 86400;
constexpr std::uint64_t kMaxObjectsPerSecond = 1'000'000'000;
constexpr std::uint64_t kMaxExpiryS = std::uint64_t{100} * 365 * 86400;

Status ReadTimeout(const YamlValue& value, std::chrono::milliseconds& into) {
  std::int64_t ms = 0;
  Status status = ReadNumber(value, 1, kMaxTimeoutMs, ms);
  into = std::chrono::milliseconds(ms);
  return status;
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
    {"idle_timeout_s",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadSeconds(value, 0, kMaxIdleTimeoutS, options.idle_timeout);
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

constexpr Key<ServerOptions> kGarbageKeys[] = {
    {"grace_s",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadSeconds(value, kMinGraceS, kMaxGarbageS,
                          options.garbage.grace);
     }},
    {"every_s",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadSeconds(value, 0, kMaxGarbageS, options.garbage.every);
     }},
    {"objects_per_second",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 0, kMaxObjectsPerSecond,
                         options.garbage.objects_per_second);
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

constexpr Key<ServerOptions> kKeys[] = {
    {"listen", ReadListen},
    {"servers", ReadServers},
    {"max_failures",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 1, kMaxFailures, options.cluster.max_failures);
     }},
    {"min_redundancy",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 0, kMaxFailures,
                         options.cluster.min_redundancy);
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
    {"policies", ReadPolicies},
    {"backfill", ReadBackfill},
    {"admin",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadText(value, options.admin);
     }},
    {"admin_token_file",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadText(value, options.admin_token_file);
     }},
    {"state_dir",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadText(value, options.state_dir);
     }},
    {"user",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadText(value, options.user);
     }},
    {"count_objects_s",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadSeconds(value, 0, kMaxCountObjectsS,
                          options.count_objects_every);
     }},
    {"garbage",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadKeys(value, kGarbageKeys, options);
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
