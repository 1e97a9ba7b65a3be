#include "net/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace ers::net {
namespace {

constexpr std::pair<Distribution, std::string_view> kDistributionNames[] = {
    {Distribution::kKetama, "ketama"},
    {Distribution::kModula, "modula"},
    {Distribution::kCh3, "ch3"},
};

tl::unexpected<Status> Refuse(std::string message) {
  return Fail(StatusCode::kInvalidArgument, std::move(message));
}

}  // namespace

std::string_view NameOf(Distribution distribution) {
  for (const auto& [each, name] : kDistributionNames) {
    if (each == distribution) return name;
  }
  return "unknown";
}

std::string_view Placement::Hashed(std::string_view key) const {
  if (distribution == Distribution::kCh3 || hash == KeyHash::kCrc32a31) {
    return key.substr(0, key.find(kHashStop));
  }
  if (hash_tag.empty()) return key;
  const std::size_t begin = key.find(hash_tag[0]);
  if (begin == std::string_view::npos) return key;
  const std::size_t end = key.find(hash_tag[1], begin + 1);
  if (end == std::string_view::npos || end == begin + 1) return key;
  return key.substr(begin + 1, end - begin - 1);
}

Result<Placement> ParsePlacement(std::string_view distribution,
                                 std::string_view hash,
                                 std::string_view hash_tag) {
  Placement placement;
  if (distribution == "random") {
    return Refuse(
        "distribution random: a key has no server of its own, so no value "
        "can be found: fill the new cluster by warm_from");
  }
  if (!distribution.empty()) {
    const auto* const found = std::find_if(std::begin(kDistributionNames),
                                           std::end(kDistributionNames),
                                           [distribution](const auto& each) {
                                             return each.second == distribution;
                                           });
    if (found == std::end(kDistributionNames)) {
      return Refuse(
          fmt::format("distribution \"{}\": it must be ketama, modula or ch3",
                      distribution));
    }
    placement.distribution = found->first;
  }
  if (!hash.empty()) {
    const std::optional<KeyHash> found = KeyHashNamed(hash);
    if (!found) {
      return Refuse(fmt::format("hash \"{}\": it must be one of {}", hash,
                                KeyHashNames()));
    }
    placement.hash = *found;
  }
  const bool printable =
      std::all_of(hash_tag.begin(), hash_tag.end(),
                  [](char c) { return c > ' ' && c <= '~'; });
  if ((!hash_tag.empty() && hash_tag.size() != 2) || !printable) {
    return Refuse(fmt::format(
        "hash_tag \"{}\": it must be two printable characters, as {{}}",
        hash_tag));
  }
  placement.hash_tag = hash_tag;
  if (placement.distribution == Distribution::kCh3 &&
      (!hash.empty() || !hash_tag.empty())) {
    return Refuse("ch3 has a hash of its own and no hash_tag: leave them out");
  }
  return placement;
}

std::string Describe(const Placement& placement) {
  std::string text(NameOf(placement.distribution));
  if (placement.distribution != Distribution::kCh3) {
    text += fmt::format(" with hash {}", NameOf(placement.hash));
  }
  if (!placement.hash_tag.empty()) {
    text += fmt::format(" and hash tag {}", placement.hash_tag);
  }
  return text;
}

}  // namespace ers::net
