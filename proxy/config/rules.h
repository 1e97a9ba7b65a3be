// Rules: how new values are stored, by their keys, lengths and client flags.
#ifndef ERS_PROXY_CONFIG_RULES_H_
#define ERS_PROXY_CONFIG_RULES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ers/options.h"
#include "shared/key_pattern.h"

namespace ers::proxy {

// For which values a rule is: all that is given must hold.
struct RuleCondition {
  KeyPattern key;
  std::uint64_t min_value_bytes = 0;
  std::uint64_t max_value_bytes = kMaxValueBytes;  // this length too
  std::optional<std::uint32_t> client_flags;

  bool operator==(const RuleCondition&) const = default;
};

// What is empty stays as it is without the rule.
struct Rule {
  RuleCondition condition;
  std::optional<Scheme> scheme;
  std::optional<std::size_t> inline_below;  // bytes
  // No value lives longer than so many seconds from the last command that
  // stored it or gave it an expiry.
  std::optional<std::int64_t> max_expiry_s;
  std::string place;  // "FILE:7: rules[0]", for messages
};

// Unix seconds, 0 for never: `expiry`, or what the rule makes of it.
std::int64_t CappedExpiry(const Rule& rule, std::int64_t expiry,
                          std::int64_t now);

// Immutable once it is shared; any thread.
struct Rules {
  std::vector<Rule> list;

  // The first that the value meets; null where there is none. Lives as long as
  // these rules.
  [[nodiscard]] const Rule* Match(std::string_view key,
                                  std::uint64_t value_bytes,
                                  std::uint32_t client_flags) const;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_RULES_H_
