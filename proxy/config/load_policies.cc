#include "config/load_policies.h"

#include "config/yaml_keys.h"

namespace ers::proxy {
namespace {

constexpr std::uint64_t kMaxPolicyS = 365 * 86400;
constexpr std::uint64_t kMaxPolicyHits = 1'000'000'000;
constexpr std::uint64_t kMaxPolicyParallel = 64;
constexpr std::uint64_t kMinSliceKeys = 1000;
constexpr std::uint64_t kMaxSliceKeys = 100'000'000;
constexpr std::uint64_t kMaxBytesPerSecond = std::uint64_t{1} << 50;

// What both have, of the one that `policy` picks.
template <auto policy>
constexpr Key<ServerOptions> kPrefixKey = {
    "prefix", [](const YamlValue& value, ServerOptions& options) {
      return ReadText(value, (options.policies.*policy).prefix);
    }};
template <auto policy>
constexpr Key<ServerOptions> kParallelKey = {
    "parallel", [](const YamlValue& value, ServerOptions& options) {
      return ReadNumber(value, 1, kMaxPolicyParallel,
                        (options.policies.*policy).parallel);
    }};
template <auto policy>
constexpr Key<ServerOptions> kRateKey = {
    "bytes_per_second", [](const YamlValue& value, ServerOptions& options) {
      return ReadNumber(value, 0, kMaxBytesPerSecond,
                        (options.policies.*policy).bytes_per_second);
    }};

constexpr Key<ServerOptions> kWidenKeys[] = {
    {"idle_s",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 1, kMaxPolicyS,
                         options.policies.widen.idle_seconds);
     }},
    {"every_s",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 1, kMaxPolicyS,
                         options.policies.widen.every_seconds);
     }},
    {"min_bytes",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 0, kMaxValueBytes,
                         options.policies.widen.min_bytes);
     }},
    kPrefixKey<&Policies::widen>,
    kParallelKey<&Policies::widen>,
    kRateKey<&Policies::widen>,
};

constexpr Key<ServerOptions> kNarrowKeys[] = {
    {"hits",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 1, kMaxPolicyHits,
                         options.policies.narrow.hits);
     }},
    {"within_s",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 1, kMaxPolicyS,
                         options.policies.narrow.within_seconds);
     }},
    kPrefixKey<&Policies::narrow>,
    kParallelKey<&Policies::narrow>,
    kRateKey<&Policies::narrow>,
};

Status ReadWiden(const YamlValue& value, ServerOptions& options) {
  Status status = ReadKeys(value, kWidenKeys, options);
  if (!status.ok() || options.policies.widen.idle_seconds > 0) return status;
  return value.Refuse(
      "idle_s is missing: after so many seconds without a "
      "read or change an object is made wide");
}

Status ReadNarrow(const YamlValue& value, ServerOptions& options) {
  Status status = ReadKeys(value, kNarrowKeys, options);
  const NarrowPolicy& narrow = options.policies.narrow;
  if (!status.ok() || (narrow.hits > 0 && narrow.within_seconds > 0)) {
    return status;
  }
  return value.Refuse(
      "hits and within_s are both needed: so many reads within "
      "so many seconds make an object narrow");
}

constexpr Key<ServerOptions> kPolicyKeys[] = {
    {"widen", ReadWiden},
    {"narrow", ReadNarrow},
    {"leave_alone_s",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 0, kMaxPolicyS,
                         options.policies.leave_alone_seconds);
     }},
};

constexpr Key<ServerOptions> kFillKeys[] = {
    {"parallel",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 1, kMaxPolicyParallel,
                         options.backfill.parallel);
     }},
    {"slice_keys",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, kMinSliceKeys, kMaxSliceKeys,
                         options.backfill.slice_keys);
     }},
    {"bytes_per_second",
     [](const YamlValue& value, ServerOptions& options) {
       return ReadNumber(value, 0, kMaxBytesPerSecond,
                         options.backfill.bytes_per_second);
     }},
};

}  // namespace

Status ReadPolicies(const YamlValue& value, ServerOptions& options) {
  return ReadKeys(value, kPolicyKeys, options);
}

Status ReadBackfill(const YamlValue& value, ServerOptions& options) {
  return ReadKeys(value, kFillKeys, options);
}

}  // namespace ers::proxy
