#include "net/ring.h"

#include <libhashkit-1.0/hashkit.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

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

// The text whose digests are the member's points: its label; or its address,
// where the default port is left out, an IPv6 host has no brackets, and a unix
// socket has port 0.
std::string PointPrefix(const Endpoint& member) {
  if (!member.label.empty()) return member.label + "-";
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

Ring::Ring(std::span<const Endpoint> members, Placement placement)
    : placement_(std::move(placement)),
      members_(static_cast<int>(members.size())) {
  if (placement_.distribution == Distribution::kKetama) {
    AddKetama(members);
  } else {
    AddInOrder(members);
  }
}

void Ring::AddKetama(std::span<const Endpoint> members) {
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

void Ring::AddInOrder(std::span<const Endpoint> members) {
  std::vector<int> order(members.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [members](int a, int b) {
    return members[static_cast<std::size_t>(a)].position <
           members[static_cast<std::size_t>(b)].position;
  });
  const bool weighted = placement_.distribution == Distribution::kModula;
  for (const int member : order) {
    const int weight = members[static_cast<std::size_t>(member)].weight;
    points_.insert(points_.end(),
                   static_cast<std::size_t>(weighted ? weight : 1),
                   {0, member});
  }
}

Ring::Points::const_iterator Ring::Begin(std::string_view key) const {
  const std::string_view hashed = placement_.Hashed(key);
  const auto size = static_cast<std::uint32_t>(points_.size());
  if (placement_.distribution == Distribution::kCh3) {
    return points_.begin() + FurcHash(hashed, size);
  }
  const std::uint32_t hash = HashOf(placement_.hash, hashed);
  if (placement_.distribution == Distribution::kModula) {
    return points_.begin() + (size == 0 ? 0 : hash % size);
  }
  return std::lower_bound(points_.begin(), points_.end(), std::pair(hash, 0));
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

  const auto first = Begin(key);
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
