#include "config/read_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/read_value.h"

namespace ers::proxy {
namespace {

constexpr std::uint64_t kMaxExpiryS = std::uint64_t{100} * 365 * 86400;

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

// A key of a rule and what it sets.
struct RuleKey {
  std::string_view name;
  Status (*read)(const YamlValue& value, Rule& rule);
};

constexpr RuleKey kRuleKeys[] = {
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
       return ReadInlineBelow(value, rule.inline_below.emplace());
     }},
    {"max_expiry_s",
     [](const YamlValue& value, Rule& rule) {
       return ReadNumber(value, 1, kMaxExpiryS, rule.max_expiry_s.emplace());
     }},
};

Status ReadRule(const YamlValue& value, Rules& rules) {
  Rule rule;
  rule.place = value.place();
  std::vector<std::string_view> names;
  for (const RuleKey& key : kRuleKeys) names.push_back(key.name);
  const Result<YamlValue::Entries> entries = value.Mapping(names);
  if (!entries) return entries.error();
  for (const auto& [name, entry] : *entries) {
    const auto at = std::find(names.begin(), names.end(), name);
    Status status = kRuleKeys[at - names.begin()].read(entry, rule);
    if (!status.ok()) return status;
  }
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

}  // namespace

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

}  // namespace ers::proxy
