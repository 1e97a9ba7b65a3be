#include "ers/scheme.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace ers {
namespace {

constexpr std::string_view kForms =
    "rep:COPIES, rs:K,M, srs:K,M,KP, ers1:K,M,KP or ers2:K,M,KP";

struct KindName {
  SchemeKind kind;
  std::string_view name;
  std::size_t numbers;  // how many follow the colon
};

constexpr KindName kKindNames[] = {
    {SchemeKind::kRep, "rep", 1},   {SchemeKind::kRs, "rs", 2},
    {SchemeKind::kSrs, "srs", 3},   {SchemeKind::kErs1, "ers1", 3},
    {SchemeKind::kErs2, "ers2", 3},
};

const KindName* FindKind(SchemeKind kind) {
  for (const KindName& entry : kKindNames) {
    if (entry.kind == kind) return &entry;
  }
  return nullptr;
}

Status Invalid(const Scheme& scheme, std::string_view what) {
  return {StatusCode::kInvalidArgument,
          fmt::format("scheme {}: {}", FormatScheme(scheme), what)};
}

Status ValidateRep(const Scheme& scheme) {
  if (scheme.k != 1 || scheme.kp != 1) {
    return Invalid(scheme, "replication has k = k' = 1");
  }
  if (scheme.m < 1) {
    return Invalid(scheme, "COPIES must be at least 2");
  }
  if (scheme.m > kMaxSchemeNodes - 1) {
    return Invalid(scheme,
                   fmt::format("COPIES must be at most {}", kMaxSchemeNodes));
  }
  return {};
}

Status ValidateCoded(const Scheme& scheme) {
  if (scheme.k < 2) {
    return Invalid(scheme, fmt::format("K is {}, but must be at least 2 "
                                       "(for whole copies use rep:COPIES)",
                                       scheme.k));
  }
  if (scheme.m < 1) {
    return Invalid(scheme,
                   fmt::format("M is {}, but must be at least 1", scheme.m));
  }
  if (scheme.elastic() && scheme.kp <= scheme.k) {
    return Invalid(scheme,
                   fmt::format("KP is {}, but must be larger than K, which is "
                               "{}",
                               scheme.kp, scheme.k));
  }
  if (!scheme.elastic() && scheme.kp != scheme.k) {
    return Invalid(scheme, "Reed-Solomon without transitions has k' = k");
  }
  // As 64-bit sums: the numbers may be anything.
  const auto nodes = static_cast<std::int64_t>(scheme.kp) + scheme.m;
  if (nodes > kMaxSchemeNodes) {
    return Invalid(scheme, fmt::format("{} + M is {}, but must be at most {}",
                                       scheme.elastic() ? "KP" : "K", nodes,
                                       kMaxSchemeNodes));
  }
  return {};
}

// The numbers of "1,2,3"; empty if any part is not a plain decimal int.
std::vector<int> ParseNumbers(std::string_view text) {
  std::vector<int> numbers;
  while (true) {
    int number = 0;
    const char* end = text.data() + text.size();
    const auto [next, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc()) return {};
    numbers.push_back(number);
    if (next == end) return numbers;
    if (*next != ',') return {};
    text.remove_prefix(static_cast<std::size_t>(next - text.data()) + 1);
  }
}

tl::unexpected<Status> Unparsable(std::string_view text) {
  return Fail(StatusCode::kInvalidArgument,
              fmt::format("'{}' is no scheme; write {}, with plain decimal "
                          "numbers and no spaces",
                          text, kForms));
}

}  // namespace

int GroupDataBlocks(const Scheme& scheme) {
  return std::lcm(scheme.k, scheme.kp);
}

int NodeCount(const Scheme& scheme) { return scheme.kp + scheme.m; }

Status ValidateScheme(const Scheme& scheme) {
  if (FindKind(scheme.kind) == nullptr) {
    return {StatusCode::kInvalidArgument,
            fmt::format("scheme kind {} is unknown; use {}",
                        static_cast<int>(scheme.kind), kForms)};
  }
  return scheme.kind == SchemeKind::kRep ? ValidateRep(scheme)
                                         : ValidateCoded(scheme);
}

Status ValidateStoredScheme(const Scheme& scheme) {
  Status status = ValidateScheme(scheme);
  if (!status.ok()) return status;
  const int blocks = GroupDataBlocks(scheme);
  if (blocks > kMaxStoredGroupBlocks) {
    return Invalid(scheme,
                   fmt::format("a group has lcm(K, KP) = {} data blocks, but "
                               "at most {} can be stored; choose K and KP with "
                               "a larger common factor",
                               blocks, kMaxStoredGroupBlocks));
  }
  return status;
}

Result<Scheme> ParseScheme(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return Unparsable(text);
  const std::string_view name = text.substr(0, colon);
  for (const KindName& entry : kKindNames) {
    if (entry.name != name) continue;
    const auto numbers = ParseNumbers(text.substr(colon + 1));
    if (numbers.size() != entry.numbers) return Unparsable(text);
    Scheme scheme;
    scheme.kind = entry.kind;
    if (entry.kind == SchemeKind::kRep) {
      scheme.k = scheme.kp = 1;
      // Not below the smallest int: no scheme has that many copies anyway.
      scheme.m = std::max(numbers[0], 0) - 1;
    } else {
      scheme.k = numbers[0];
      scheme.m = numbers[1];
      scheme.kp = numbers.back();
      if (entry.numbers == 2) scheme.kp = scheme.k;
    }
    // One spelling per scheme: no leading zeros.
    if (FormatScheme(scheme) != text) return Unparsable(text);
    Status status = ValidateScheme(scheme);
    if (!status.ok()) return Fail(std::move(status));
    return scheme;
  }
  return Unparsable(text);
}

std::string FormatScheme(const Scheme& scheme) {
  const KindName* entry = FindKind(scheme.kind);
  if (entry == nullptr) {
    return fmt::format("unknown-{}", static_cast<int>(scheme.kind));
  }
  switch (entry->numbers) {
    case 1:
      return fmt::format("{}:{}", entry->name,
                         static_cast<std::int64_t>(scheme.m) + 1);
    case 2:
      return fmt::format("{}:{},{}", entry->name, scheme.k, scheme.m);
    default:
      return fmt::format("{}:{},{},{}", entry->name, scheme.k, scheme.m,
                         scheme.kp);
  }
}

std::string_view WidthName(Width width) {
  return width == Width::kNarrow ? "narrow" : "wide";
}

std::string_view UnitName(Unit unit) {
  return unit == Unit::kBlocks ? "blocks" : "columns";
}

}  // namespace ers
