#include "config/read_tiers.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/read_value.h"
#include "ers/scheme.h"

namespace ers::proxy {
namespace {

// Data blocks of a stripe, in any scheme.
constexpr std::uint64_t kMinBlocks = 2;
constexpr std::uint64_t kMaxBlocks = kMaxSchemeNodes - 1;
constexpr std::uint64_t kMaxParity = kMaxSchemeNodes - kMinBlocks;

// How the tiers of a policy are written.
struct TierForm {
  std::string_view from;  // the key of Tier::from
  std::uint64_t most;
  std::string_view end;        // the width that no tier goes beyond
  std::string_view direction;  // of the widths from a tier to the next
};
constexpr TierForm kWiden = {"idle_s", kMaxPolicyS, "wide", "wider"};
constexpr TierForm kNarrow = {"hits", kMaxPolicyHits, "narrow", "narrower"};

Status ReadWidth(const YamlValue& value, const TierForm& form,
                 std::string& into) {
  const Result<std::string> text = value.Text();
  if (text && *text == form.end) {
    into = *text;
    return {};
  }
  const Result<std::uint64_t> blocks = value.Number(kMinBlocks, kMaxBlocks);
  if (blocks) {
    into = std::to_string(*blocks);
    return {};
  }
  if (!text) return blocks.error();
  return value.Refuse(
      fmt::format("expected {} or a whole number from {} to {}, found \"{}\"",
                  form.end, kMinBlocks, kMaxBlocks, *text));
}

// Whether a tier of `next` may follow one of `width`.
bool GoesOn(const TierForm& form, const std::string& width,
            const std::string& next) {
  if (width == form.end) return false;
  if (next == form.end) return true;
  const int before = std::stoi(width);
  const int after = std::stoi(next);
  return form.end == kWiden.end ? after > before : after < before;
}

Status ReadTier(const YamlValue& value, const TierForm& form,
                std::vector<Tier>& tiers) {
  const std::string_view names[] = {form.from, "width", "m"};
  const Result<YamlValue::Entries> entries = value.Mapping(names);
  if (!entries) return entries.error();
  Tier tier;
  for (const auto& [name, entry] : *entries) {
    Status status =
        name == form.from ? ReadNumber(entry, 1, form.most, tier.from)
        : name == "width" ? ReadWidth(entry, form, tier.width)
                          : ReadNumber(entry, 1, kMaxParity, tier.m);
    if (!status.ok()) return status;
  }
  if (tier.from == 0 || tier.width.empty()) {
    return value.Refuse(fmt::format("{} and width are both needed", form.from));
  }
  if (!tiers.empty() && tier.from <= tiers.back().from) {
    return value.Refuse(
        fmt::format("{} {}: it must be more than that of the tier before, {}",
                    form.from, tier.from, tiers.back().from));
  }
  if (!tiers.empty() && !GoesOn(form, tiers.back().width, tier.width)) {
    return value.Refuse(
        fmt::format("width {}: it must be {} than that of the tier before, {}",
                    tier.width, form.direction, tiers.back().width));
  }
  tiers.push_back(std::move(tier));
  return {};
}

Status ReadTiers(const YamlValue& value, const TierForm& form,
                 std::vector<Tier>& into) {
  const Result<std::vector<YamlValue>> list = value.List();
  if (!list) return list.error();
  if (list->empty()) return value.Refuse("name at least one tier");
  std::vector<Tier> tiers;
  for (const YamlValue& item : *list) {
    Status status = ReadTier(item, form, tiers);
    if (!status.ok()) return status;
  }
  into = std::move(tiers);
  return {};
}

Status ReadOnlyTier(const YamlValue& value, const TierForm& form,
                    std::vector<Tier>& into) {
  Tier tier;
  tier.width = form.end;
  Status status = ReadNumber(value, 1, form.most, tier.from);
  if (!status.ok()) return status;
  into = {std::move(tier)};
  return {};
}

}  // namespace

Status ReadWidenTiers(const YamlValue& value, ServerOptions& options) {
  return ReadTiers(value, kWiden, options.policies.widen.tiers);
}

Status ReadNarrowTiers(const YamlValue& value, ServerOptions& options) {
  return ReadTiers(value, kNarrow, options.policies.narrow.tiers);
}

Status ReadWidenIdle(const YamlValue& value, ServerOptions& options) {
  return ReadOnlyTier(value, kWiden, options.policies.widen.tiers);
}

Status ReadNarrowHits(const YamlValue& value, ServerOptions& options) {
  return ReadOnlyTier(value, kNarrow, options.policies.narrow.tiers);
}

}  // namespace ers::proxy
