// Policies: what a daemon changes by itself: cold objects wide, hot ones
// narrow, cold small values packed.
#ifndef ERS_PROXY_CONFIG_POLICIES_H_
#define ERS_PROXY_CONFIG_POLICIES_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ers::proxy {

inline constexpr std::uint64_t kMaxPolicyS = std::uint64_t{365} * 86400;
inline constexpr std::uint64_t kMaxPolicyHits = 1'000'000'000;

// From when on an object is to have which width, and how much parity. A plain
// value.
struct Tier {
  std::uint64_t from = 0;  // seconds without a touch, or hits
  std::string width;       // "narrow", "wide", or the data blocks of a stripe
  int m = 0;               // parity blocks of a stripe; 0: as many as it has

  bool operator==(const Tier&) const = default;
};

// What both have.
struct PolicyPace {
  std::string prefix;                  // of the keys; any bytes
  int parallel = 4;                    // objects at a time
  std::uint64_t bytes_per_second = 0;  // read and written; 0: no limit

  bool operator==(const PolicyPace&) const = default;
};

// Makes an elastic object wider, the longer it was neither read nor changed.
struct WidenPolicy : PolicyPace {
  std::vector<Tier> tiers;  // by idle seconds, ascending; empty: off
  std::int64_t every_seconds = 600;
  std::uint64_t min_bytes = 0;

  bool operator==(const WidenPolicy&) const = default;
};

// Makes a wide object narrower, the more often it was read within so long.
struct NarrowPolicy : PolicyPace {
  std::vector<Tier> tiers;  // by reads, ascending; empty: off
  std::int64_t within_seconds = 0;

  bool operator==(const NarrowPolicy&) const = default;
};

// Packs small values that were neither read nor changed for so long.
struct PackPolicy : PolicyPace {
  std::uint64_t idle_seconds = 0;  // 0: off
  std::int64_t every_seconds = 600;

  bool operator==(const PackPolicy&) const = default;
};

// How often garbage is collected, and what: see ers/garbage.h. A plain value.
struct GarbageSettings {
  std::chrono::seconds grace{3600};
  std::chrono::seconds every{3600};         // 0: when that is asked for
  std::uint64_t objects_per_second = 5000;  // checked; 0: no limit
};

// How servers that come back are backfilled. A plain value.
struct BackfillLimits {
  int parallel = 32;                   // objects at a time
  std::uint64_t slice_keys = 1 << 19;  // in memory at a time
  std::uint64_t bytes_per_second = 0;  // read and written; 0: no limit
};

// A plain value.
struct Policies {
  WidenPolicy widen;
  NarrowPolicy narrow;
  PackPolicy pack;
  // No policy touches an object that was changed, by whomever, less long ago.
  std::int64_t leave_alone_seconds = 600;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_POLICIES_H_
