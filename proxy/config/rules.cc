#include "config/rules.h"

#include <algorithm>

namespace ers::proxy {

std::int64_t CappedExpiry(const Rule& rule, std::int64_t expiry,
                          std::int64_t now) {
  if (!rule.max_expiry_s) return expiry;
  const std::int64_t last = now + *rule.max_expiry_s;
  return expiry == 0 ? last : std::min(expiry, last);
}

const Rule* Rules::Match(std::string_view key, std::uint64_t value_bytes,
                         std::uint32_t client_flags) const {
  for (const Rule& rule : list) {
    const RuleCondition& wanted = rule.condition;
    // The pattern last: it costs most.
    if (value_bytes >= wanted.min_value_bytes &&
        value_bytes <= wanted.max_value_bytes &&
        wanted.client_flags.value_or(client_flags) == client_flags &&
        wanted.key.Matches(key)) {
      return &rule;
    }
  }
  return nullptr;
}

}  // namespace ers::proxy
