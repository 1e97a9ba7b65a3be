#include "ers/scheme.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace ers {
namespace {

constexpr std::string_view kForms =
    "rep:COPIES, rs:K,M, srs:K,M,KP, ers1:K,M,KP, ers2:K,M,KP or "
    "ers:K1-K2-..,M";

struct KindName {
  SchemeKind kind;
  std::string_view name;
  std::size_t numbers;  // how many follow the colon; of a chain behind widths
};

constexpr KindName kKindNames[] = {
    {SchemeKind::kRep, "rep", 1},   {SchemeKind::kRs, "rs", 2},
    {SchemeKind::kSrs, "srs", 3},   {SchemeKind::kErs1, "ers1", 3},
    {SchemeKind::kErs2, "ers2", 3}, {SchemeKind::kChain, "ers", 1},
};
constexpr std::size_t kMaxWidths = 4;

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

bool HasMiddle(const Scheme& scheme) {
  return scheme.middle != decltype(scheme.middle)();
}

Status ValidateRep(const Scheme& scheme) {
  if (scheme.k != 1 || scheme.kp != 1 || HasMiddle(scheme)) {
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

// Of a chain, whose first and last widths are right.
Status ValidateMiddle(const Scheme& scheme) {
  const auto& [second, third] = scheme.middle;
  const bool ascend =
      second == 0 ? third == 0
                  : scheme.k < second && second < scheme.kp &&
                        (third == 0 || (second < third && third < scheme.kp));
  if (!ascend) return Invalid(scheme, "the widths must ascend");
  const int blocks = GroupDataBlocks(scheme);
  if (blocks > kMaxStoredGroupBlocks) {
    return Invalid(scheme,
                   fmt::format("a group has the least common multiple of the "
                               "widths, {}, as data blocks, but {} is the most "
                               "there can be; choose widths with larger common "
                               "factors",
                               blocks, kMaxStoredGroupBlocks));
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
  if (scheme.kind == SchemeKind::kChain && scheme.kp <= scheme.k) {
    return Invalid(scheme, "the widths must ascend");
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
    const std::string_view widest = scheme.kind == SchemeKind::kChain
                                        ? "the last width"
                                    : scheme.elastic() ? "KP"
                                                       : "K";
    return Invalid(scheme, fmt::format("{} + M is {}, but must be at most {}",
                                       widest, nodes, kMaxSchemeNodes));
  }
  if (scheme.kind == SchemeKind::kChain) return ValidateMiddle(scheme);
  if (HasMiddle(scheme)) {
    return Invalid(scheme, "only a chain has widths between K and KP");
  }
  return {};
}

// The numbers of "1,2,3"; empty if any part is not a plain decimal int.
std::vector<int> ParseNumbers(std::string_view text, char separator) {
  std::vector<int> numbers;
  while (true) {
    int number = 0;
    const char* end = text.data() + text.size();
    const auto [next, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc()) return {};
    numbers.push_back(number);
    if (next == end) return numbers;
    if (*next != separator) return {};
    text.remove_prefix(static_cast<std::size_t>(next - text.data()) + 1);
  }
}

tl::unexpected<Status> Unparsable(std::string_view text) {
  return Fail(StatusCode::kInvalidArgument,
              fmt::format("'{}' is no scheme; write {}, with plain decimal "
                          "numbers and no spaces",
                          text, kForms));
}

// The numbers of all but chains.
Result<Scheme> ParseList(std::string_view text, std::string_view list,
                         const KindName& entry) {
  const std::vector<int> numbers = ParseNumbers(list, ',');
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
  return scheme;
}

// The numbers of "4-6-12,1".
Result<Scheme> ParseChain(std::string_view text, std::string_view numbers) {
  const std::size_t comma = numbers.find(',');
  if (comma == std::string_view::npos) return Unparsable(text);
  const std::vector<int> widths = ParseNumbers(numbers.substr(0, comma), '-');
  const std::vector<int> m = ParseNumbers(numbers.substr(comma + 1), ',');
  const bool minus = std::any_of(widths.begin(), widths.end(),
                                 [](int width) { return width < 0; });
  if (widths.empty() || minus || m.size() != 1) return Unparsable(text);
  if (widths.size() < 2 || widths.size() > kMaxWidths) {
    return Fail(
        StatusCode::kInvalidArgument,
        fmt::format("scheme {}: a chain has 2 to {} widths", text, kMaxWidths));
  }
  Scheme scheme{SchemeKind::kChain, widths.front(), m.front(), widths.back()};
  for (std::size_t i = 1; i + 1 < widths.size(); ++i) {
    // What is no width between the others stays one that is none.
    if (widths[i] <= widths[i - 1] || widths[i] >= kMaxSchemeNodes) {
      return Fail(StatusCode::kInvalidArgument,
                  fmt::format("scheme {}: the widths must ascend, up to {}",
                              text, kMaxSchemeNodes - 1));
    }
    scheme.middle.at(i - 1) = static_cast<std::uint8_t>(widths[i]);
  }
  return scheme;
}

}  // namespace

std::vector<Width> WidthsOf(const Scheme& scheme) {
  std::vector<Width> widths{Width::kNarrow};
  if (scheme.middle[0] != 0) widths.push_back(Width::kSecond);
  if (scheme.middle[1] != 0) widths.push_back(Width::kThird);
  if (scheme.elastic()) widths.push_back(Width::kWide);
  return widths;
}

bool HasWidth(const Scheme& scheme, Width width) {
  const std::vector<Width> widths = WidthsOf(scheme);
  return std::find(widths.begin(), widths.end(), width) != widths.end();
}

int StripeDataBlocks(const Scheme& scheme, Width width) {
  switch (width) {
    case Width::kNarrow:
      break;
    case Width::kWide:
      return scheme.kp;
    case Width::kSecond:
      return scheme.middle[0];
    case Width::kThird:
      return scheme.middle[1];
  }
  return scheme.k;
}

int GroupDataBlocks(const Scheme& scheme) {
  std::int64_t blocks = std::lcm<std::int64_t>(scheme.k, scheme.kp);
  for (const std::uint8_t width : scheme.middle) {
    if (width != 0) blocks = std::lcm<std::int64_t>(blocks, width);
  }
  return static_cast<int>(
      std::min<std::int64_t>(blocks, std::numeric_limits<int>::max()));
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
    const std::string_view numbers = text.substr(colon + 1);
    Result<Scheme> scheme = entry.kind == SchemeKind::kChain
                                ? ParseChain(text, numbers)
                                : ParseList(text, numbers, entry);
    if (!scheme) return scheme;
    // One spelling per scheme: no leading zeros.
    if (FormatScheme(*scheme) != text) return Unparsable(text);
    Status status = ValidateScheme(*scheme);
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
  if (scheme.kind == SchemeKind::kChain) {
    std::string text(entry->name);
    char before = ':';
    for (const Width width : WidthsOf(scheme)) {
      text += before + std::to_string(StripeDataBlocks(scheme, width));
      before = '-';
    }
    return text + ',' + std::to_string(scheme.m);
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

std::string WidthName(const Scheme& scheme, Width width) {
  if (scheme.kind == SchemeKind::kChain) {
    return std::to_string(StripeDataBlocks(scheme, width));
  }
  return width == Width::kNarrow ? "narrow" : "wide";
}

std::optional<Width> WidthNamed(const Scheme& scheme, std::string_view name) {
  if (name == "narrow") return Width::kNarrow;
  if (name == "wide") {
    return scheme.elastic() ? std::optional(Width::kWide) : std::nullopt;
  }
  for (const Width width : WidthsOf(scheme)) {
    if (std::to_string(StripeDataBlocks(scheme, width)) == name) return width;
  }
  return std::nullopt;
}

std::string_view UnitName(Unit unit) {
  return unit == Unit::kBlocks ? "blocks" : "columns";
}

}  // namespace ers
