#include "net/ring.h"

#include <libhashkit-1.0/hashkit.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace ers::net {
namespace {

// libmemcached's MEMCACHED_POINTS_PER_SERVER_KETAMA and default port.
constexpr float kPointsPerServer = 160;
constexpr std::size_t kHashesPerDigest = 4;
constexpr int kDefaultPort = 11211;

// In float, in libmemcached's order of operations: another rounding gives
// another number of points.
int DigestsOf(int weight, float total_weight, float members) {
  const float share = static_cast<float>(weight) / total_weight;
  return static_cast<int>(
      std::floor(share * kPointsPerServer / 4 * members + 0.0000000001F));
}

// The text whose digests are the member's points: the default port is left
// out, an IPv6 host has no brackets, a unix socket has port 0.
std::string PointPrefix(const Endpoint& member) {
  if (member.is_unix()) return member.path + ":0-";
  if (member.port == kDefaultPort) return member.host + "-";
  return member.host + ":" + std::to_string(member.port) + "-";
}

std::uint32_t LittleEndian(const unsigned char* bytes) {
  return static_cast<std::uint32_t>(bytes[0]) |
         static_cast<std::uint32_t>(bytes[1]) << 8 |
         static_cast<std::uint32_t>(bytes[2]) << 16 |
         static_cast<std::uint32_t>(bytes[3]) << 24;
}

}  // namespace

Ring::Ring(std::span<const Endpoint> members)
    : members_(static_cast<int>(members.size())) {
  std::uint64_t total_weight = 0;
  for (const Endpoint& member : members) {
    total_weight += static_cast<std::uint64_t>(member.weight);
  }
  for (int i = 0; i < members_; ++i) {
    const Endpoint& member = members[static_cast<std::size_t>(i)];
    const std::string prefix = PointPrefix(member);
    // A member so light that libmemcached gives it no point gets none: no key
    // begins there, and the walk ends with it.
    const int digests =
        DigestsOf(member.weight, static_cast<float>(total_weight),
                  static_cast<float>(members_));
    for (int digest = 0; digest < digests; ++digest) {
      const std::string text = prefix + std::to_string(digest);
      unsigned char hashes[4 * kHashesPerDigest];
      libhashkit_md5_signature(
          reinterpret_cast<const unsigned char*>(text.data()), text.size(),
          hashes);
      for (std::size_t part = 0; part < kHashesPerDigest; ++part) {
        points_.emplace_back(LittleEndian(hashes + 4 * part), i);
      }
    }
  }
  std::sort(points_.begin(), points_.end());
}

std::vector<int> Ring::Walk(std::string_view key, int count) const {
  std::vector<int> walk;
  const auto wanted = static_cast<std::size_t>(std::min(count, members_));
  walk.reserve(wanted);
  // Walks are short: a search costs less than a set.
  auto meet = [&](int member) {
    if (walk.size() == wanted) return;
    if (std::find(walk.begin(), walk.end(), member) != walk.end()) return;
    walk.push_back(member);
  };

  const std::uint32_t hash =
      libhashkit_digest(key.data(), key.size(), HASHKIT_HASH_MD5);
  const auto first =
      std::lower_bound(points_.begin(), points_.end(), std::pair(hash, 0));
  for (auto i = first; i != points_.end() && walk.size() < wanted; ++i) {
    meet(i->second);
  }
  for (auto i = points_.begin(); i != first && walk.size() < wanted; ++i) {
    meet(i->second);
  }
  for (int member = 0; member < members_; ++member) meet(member);
  return walk;
}

}  // namespace ers::net
