#include "store/format/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <limits>

#include "base/crc32c.h"
#include "base/wire.h"
#include "ers/options.h"
#include "store/format/keys.h"

namespace ers::store {
namespace {

constexpr std::string_view kMagic = "eRS";
constexpr char kFirstFormats = 'm';  // stands for the version, of 1 to 3
// A version is a control character, so that it is none of the letters that
// make other magics of it.
constexpr char kVersionsEnd = ' ';
constexpr std::size_t kPrefixBytes = 4;
constexpr std::size_t kChecksumBytes = 4;

constexpr std::uint8_t kTombstoneFlag = 1;
constexpr std::uint8_t kInlineFlag = 2;
constexpr std::uint8_t kStaleFlag = 4;
constexpr std::uint8_t kWonFlag = 8;
constexpr std::uint8_t kColumnsFlag = 16;
constexpr std::uint8_t kOutlivedFlag = 32;
constexpr std::uint8_t kConfirmedFlag = 64;
constexpr std::uint8_t kNamedFlag = 128;  // the item's key is a hashed name

constexpr int kTimeBytes = 7;
constexpr int kMakerBytes = kMakerBits / 8;
constexpr int kWidthShift = 4;
// The move that made the member a replica of the key. None has been, as long as
// a cluster keeps its slots.
constexpr std::uint64_t kNoMove = 0;

constexpr std::uint64_t kMicrosPerSecond = 1'000'000;
// Room for what most manifests have beside a value.
constexpr std::size_t kRoomBeside = 128;

void PutId(WireWriter& wire, const ChangeId& id) {
  wire.PutShort(id.time_us, kTimeBytes);
  wire.PutShort(id.maker(), kMakerBytes);
  wire.PutVarint(id.flush_mark());
}

ChangeId GetId(WireReader& wire) {
  ChangeId id;
  id.time_us = wire.GetShort(kTimeBytes);
  id.nonce = wire.GetShort(kMakerBytes);
  const std::uint64_t mark = wire.GetVarint();
  if (mark > kMaxFlushMark) wire.Refuse();
  id.nonce |= mark << kMakerBits;
  return id;
}

void PutHistory(WireWriter& wire, const ChangeId& id,
                const std::vector<ChangeTag>& history) {
  wire.PutVarint(history.size());
  std::uint64_t newer = id.time_us;
  for (const ChangeTag& tag : history) {
    wire.PutDistance(tag.time_us, newer);
    wire.Put(tag.maker);
    newer = tag.time_us;
  }
}

bool GetHistory(WireReader& wire, Manifest& manifest) {
  const std::uint64_t length = wire.GetVarint();
  if (length > kHistoryLength) return false;
  std::uint64_t newer = manifest.id.time_us;
  for (std::uint64_t i = 0; i < length; ++i) {
    ChangeTag tag;
    tag.time_us = newer = wire.GetDistance(newer);
    tag.maker = wire.Get<std::uint16_t>();
    manifest.history.push_back(tag);
  }
  return true;
}

// The generations that the maps of one manifest have, by numbers: 0 is none, 1
// the manifest's own change, then in the order in which they are met.
class Generations {
 public:
  explicit Generations(const ChangeId& own) : known_{ChangeId(), own} {}

  void Put(WireWriter& wire, const GenerationMap& map) {
    wire.PutVarint(map.runs().size());
    std::uint32_t last = 0;
    for (const auto& run : map.runs()) {
      wire.PutVarint(run.first - last);
      last = run.first;
      const auto at = std::find(known_.begin(), known_.end(), run.generation);
      wire.PutVarint(static_cast<std::uint64_t>(at - known_.begin()));
      if (at != known_.end()) continue;
      PutId(wire, run.generation);
      known_.push_back(run.generation);
    }
  }
  // False unless the runs start at 0, rise within the size, each differs from
  // the one before, and no generation comes twice as a new one.
  bool Get(WireReader& wire, std::uint64_t size, GenerationMap& map) {
    const std::uint64_t runs = wire.GetVarint();
    if (runs > size || (size > 0) != (runs > 0) || wire.left() < runs) {
      return false;
    }
    map = GenerationMap();
    std::uint64_t first = 0;
    ChangeId previous;
    for (std::uint64_t i = 0; i < runs; ++i) {
      const std::uint64_t distance = wire.GetVarint();
      if ((i == 0) != (distance == 0) || distance >= size - first) return false;
      first += distance;
      const std::uint64_t number = wire.GetVarint();
      if (number > known_.size()) return false;
      if (number == known_.size()) {
        const ChangeId id = GetId(wire);
        const auto at = std::find(known_.begin(), known_.end(), id);
        if (at != known_.end()) return false;
        known_.push_back(id);
      }
      const ChangeId generation = known_[number];
      if (i > 0 && generation == previous) return false;
      if (i > 0) map.Resize(static_cast<std::uint32_t>(first), previous);
      previous = generation;
    }
    map.Resize(static_cast<std::uint32_t>(size), previous);
    return wire.ok();
  }

 private:
  std::vector<ChangeId> known_;
};

void PutBlocks(WireWriter& wire, const Manifest& manifest) {
  wire.PutVarint(manifest.length);
  wire.PutVarint(manifest.group_bytes);
  wire.PutVarint(manifest.nodes.size());
  wire.PutVarint(manifest.ring);
  for (const std::uint16_t node : manifest.nodes) wire.PutVarint(node);
  Generations generations(manifest.id);
  generations.Put(wire, manifest.data);
  generations.Put(wire, manifest.parity);
}

void PutPlace(WireWriter& wire, const Manifest& manifest) {
  wire.PutVarint(manifest.length);
  wire.PutVarint(manifest.pack_offset);
  wire.PutDistance(manifest.pack.time_us, manifest.id.time_us);
  wire.PutShort(manifest.pack.maker(), kMakerBytes);
  wire.PutVarint(manifest.pack.flush_mark());
}

// What is wrong, or empty.
std::string_view GetPlace(WireReader& wire, Manifest& manifest) {
  manifest.length = wire.GetVarint();
  manifest.pack_offset = wire.GetVarint();
  if (manifest.length > kMaxValueBytes ||
      manifest.pack_offset > kMaxValueBytes - manifest.length) {
    return "place in a pack";
  }
  manifest.pack.time_us = wire.GetDistance(manifest.id.time_us);
  manifest.pack.nonce = wire.GetShort(kMakerBytes);
  const std::uint64_t mark = wire.GetVarint();
  if (mark > kMaxFlushMark) return "pack";
  manifest.pack.nonce |= mark << kMakerBits;
  return manifest.is_packed() ? std::string_view() : "pack";
}

// What is wrong, or empty.
std::string_view GetNodes(WireReader& wire, Manifest& manifest) {
  const std::uint64_t nodes = wire.GetVarint();
  if (nodes < static_cast<std::uint64_t>(NodeCount(manifest.scheme)) ||
      nodes > kMaxMembers) {
    return "node count";
  }
  const std::uint64_t ring = wire.GetVarint();
  if (ring < 1 || ring > nodes) return "ring";
  manifest.ring = static_cast<std::uint16_t>(ring);
  std::bitset<kMaxMembers> seen;
  for (std::uint64_t i = 0; i < nodes; ++i) {
    const std::uint64_t node = wire.GetVarint();
    if (node >= kMaxMembers || seen.test(node)) return "nodes";
    seen.set(node);
    manifest.nodes.push_back(static_cast<std::uint16_t>(node));
  }
  return {};
}

std::string_view GetBlocks(WireReader& wire, Manifest& manifest) {
  manifest.length = wire.GetVarint();
  if (manifest.length > kMaxValueBytes) return "length";
  manifest.group_bytes = wire.GetVarint();
  if (manifest.group_bytes == 0 || manifest.group_bytes > kMaxGroupBytes) {
    return "group size";
  }
  const std::string_view wrong = GetNodes(wire, manifest);
  if (!wrong.empty()) return wrong;
  // In 64 bits: small groups of a long value make more blocks than 32 count.
  const std::uint64_t groups =
      (manifest.length + manifest.group_bytes - 1) / manifest.group_bytes;
  const bool in_columns = manifest.unit == Unit::kColumns;
  const auto blocks = static_cast<std::uint64_t>(
      in_columns ? manifest.scheme.kp : GroupDataBlocks(manifest.scheme));
  const auto stripe = static_cast<std::uint64_t>(
      in_columns ? manifest.scheme.kp
                 : StripeDataBlocks(manifest.scheme, manifest.width));
  const auto m = static_cast<std::uint64_t>(manifest.scheme.m);
  const std::uint64_t data = groups * blocks;
  const std::uint64_t parity = groups * (blocks / stripe * m);
  if (std::max(data, parity) > std::numeric_limits<std::uint32_t>::max()) {
    return "block count";
  }
  Generations generations(manifest.id);
  if (!generations.Get(wire, data, manifest.data) ||
      !generations.Get(wire, parity, manifest.parity)) {
    return "generations";
  }
  return {};
}

// The part that only living objects have.
void PutObject(WireWriter& wire, const Manifest& manifest) {
  wire.Put(static_cast<std::uint8_t>(
      static_cast<unsigned>(manifest.scheme.kind) |
      static_cast<unsigned>(manifest.width) << kWidthShift));
  wire.Put(static_cast<std::uint8_t>(manifest.scheme.k));
  wire.Put(static_cast<std::uint8_t>(manifest.scheme.m));
  wire.Put(static_cast<std::uint8_t>(manifest.scheme.kp));
  if (manifest.scheme.kind == SchemeKind::kChain) {
    for (const std::uint8_t width : manifest.scheme.middle) wire.Put(width);
  }
  wire.PutVarint(manifest.client_flags);
  wire.PutDistance(manifest.cas, manifest.id.time_us);
  if (manifest.expiry == 0) {
    wire.Put(std::uint8_t{0});
  } else {
    wire.Put(std::uint8_t{1});
    wire.PutDistance(static_cast<std::uint64_t>(manifest.expiry),
                     manifest.id.time_us / kMicrosPerSecond);
  }
  if (manifest.is_packed()) {
    PutPlace(wire, manifest);
  } else if (manifest.is_inline) {
    wire.PutBytes(manifest.value);
  } else {
    PutBlocks(wire, manifest);
  }
}

// What is wrong, or empty.
std::string_view GetObject(WireReader& wire, bool packed, Manifest& manifest) {
  const auto scheme = wire.Get<std::uint8_t>();
  const int width = scheme >> kWidthShift;
  manifest.scheme.kind =
      static_cast<SchemeKind>(scheme & ((1 << kWidthShift) - 1));
  manifest.scheme.k = wire.Get<std::uint8_t>();
  manifest.scheme.m = wire.Get<std::uint8_t>();
  manifest.scheme.kp = wire.Get<std::uint8_t>();
  if (manifest.scheme.kind == SchemeKind::kChain) {
    for (std::uint8_t& middle : manifest.scheme.middle) {
      middle = wire.Get<std::uint8_t>();
    }
  }
  if (!ValidateStoredScheme(manifest.scheme).ok()) return "scheme";
  manifest.width = static_cast<Width>(width);
  if (!HasWidth(manifest.scheme, manifest.width)) return "width";
  if (!manifest.scheme.elastic() && manifest.unit == Unit::kColumns) {
    return "unit";
  }
  const std::uint64_t client_flags = wire.GetVarint();
  if (client_flags > std::numeric_limits<std::uint32_t>::max()) {
    return "client flags";
  }
  manifest.client_flags = static_cast<std::uint32_t>(client_flags);
  manifest.cas = wire.GetDistance(manifest.id.time_us);
  const auto has_expiry = wire.Get<std::uint8_t>();
  if (has_expiry > 1) return "expiry";
  if (has_expiry == 1) {
    manifest.expiry = static_cast<std::int64_t>(
        wire.GetDistance(manifest.id.time_us / kMicrosPerSecond));
    if (manifest.expiry == 0) return "expiry";
  }
  if (packed) return GetPlace(wire, manifest);
  if (!manifest.is_inline) return GetBlocks(wire, manifest);
  manifest.length = wire.left();
  if (manifest.length > kMaxValueBytes) return "length";
  manifest.value = wire.GetBytes(manifest.length);
  return {};
}

// Would the manifest of `key` be stored under this name, and say its key there
// if `named`?
bool IsNameOf(std::string_view item_key, std::string_view key, bool named) {
  if (HasHashedName(key) != named) return false;
  return named ? ManifestKey(key) == item_key : key == item_key;
}

void TakeFlags(unsigned flags, Manifest& manifest) {
  manifest.tombstone = (flags & kTombstoneFlag) != 0;
  manifest.is_inline = (flags & kInlineFlag) != 0;
  manifest.stale = (flags & kStaleFlag) != 0;
  manifest.won = (flags & kWonFlag) != 0;
  manifest.outlived = (flags & kOutlivedFlag) != 0;
  manifest.confirmed = (flags & kConfirmedFlag) != 0;
  if ((flags & kColumnsFlag) != 0) manifest.unit = Unit::kColumns;
}

}  // namespace

bool Manifest::Remembers(const ChangeId& other) const {
  return id == other || std::find(history.begin(), history.end(),
                                  other.tag()) != history.end();
}

std::size_t HistoryBytes(const ChangeId& id,
                         const std::vector<ChangeTag>& history) {
  std::size_t bytes = VarintBytes(history.size());
  std::uint64_t newer = id.time_us;
  for (const ChangeTag& tag : history) {
    bytes += VarintBytes(FoldedDistance(tag.time_us, newer));
    bytes += sizeof tag.maker;
    newer = tag.time_us;
  }
  return bytes;
}

std::string EncodeManifest(const Manifest& manifest) {
  return ManifestCopies(manifest).For(manifest.member, manifest.incarnation);
}

ManifestCopies::ManifestCopies(const Manifest& manifest)
    : key_(manifest.key),
      named_(HasHashedName(manifest.key)),
      version_(manifest.is_packed() ? kPackedFormatVersion
                                    : kManifestFormatVersion),
      flags_(static_cast<std::uint8_t>(
          (manifest.tombstone ? kTombstoneFlag : 0) |
          (manifest.is_inline && !manifest.is_packed() ? kInlineFlag : 0) |
          (manifest.stale ? kStaleFlag : 0) | (manifest.won ? kWonFlag : 0) |
          (manifest.unit == Unit::kColumns ? kColumnsFlag : 0) |
          (manifest.outlived ? kOutlivedFlag : 0) |
          (manifest.confirmed ? kConfirmedFlag : 0) |
          (named_ ? kNamedFlag : 0))) {
  rest_.reserve(manifest.value.size() + kRoomBeside);
  WireWriter wire(rest_);
  PutId(wire, manifest.id);
  PutHistory(wire, manifest.id, manifest.history);
  if (named_) {
    wire.Put(static_cast<std::uint8_t>(manifest.key.size()));
    wire.PutBytes(manifest.key);
  }
  if (manifest.tombstone) {
    wire.PutDistance(manifest.cas, manifest.id.time_us);
  } else {
    PutObject(wire, manifest);
  }
}

std::string ManifestCopies::For(int member, std::uint64_t incarnation) const {
  std::string out;
  out.reserve(rest_.size() + kRoomBeside);
  WireWriter wire(out);
  wire.PutBytes(kMagic);
  wire.Put(version_);
  wire.Put(flags_);
  wire.PutVarint(static_cast<std::uint64_t>(member));
  wire.PutVarint(kNoMove);
  wire.PutShort(incarnation, kTimeBytes);
  wire.PutBytes(rest_);
  const std::uint32_t checksum = Crc32c(out);
  wire.Put(named_ ? checksum : Crc32c(key_, checksum));
  return out;
}

Result<Manifest> DecodeManifest(std::string_view item_key,
                                std::string_view bytes) {
  if (!BeginsAsManifest(bytes)) {
    return Fail(StatusCode::kNotManaged,
                "the item is not one of this library's: any memcached client "
                "reads it, and what is stored anew is an object again");
  }
  const char version = bytes[kMagic.size()];
  if (version == kFirstFormats) {
    return Fail(StatusCode::kUnsupportedFormat,
                "the manifest has a format of before 4, which this library "
                "does not read: take the values out with the version that "
                "stored them, or flush the servers");
  }
  if (version > kPackedFormatVersion) {
    return Fail(StatusCode::kUnsupportedFormat,
                fmt::format("the manifest has format version {}; this library "
                            "reads {} and {}: upgrade it",
                            static_cast<int>(version), kManifestFormatVersion,
                            kPackedFormatVersion));
  }
  const auto corrupt = [](std::string_view what) {
    return Fail(StatusCode::kCorruption,
                fmt::format("the manifest is corrupted ({})", what));
  };
  if (version < kManifestFormatVersion) return corrupt("format version");
  if (bytes.size() < kPrefixBytes + kChecksumBytes) return corrupt("size");
  const std::string_view body = bytes.substr(0, bytes.size() - kChecksumBytes);

  WireReader wire(body.substr(kPrefixBytes));
  const auto flags = wire.Get<std::uint8_t>();
  const bool named = (flags & kNamedFlag) != 0;
  const std::uint32_t checksum = Crc32c(body);
  if (ChecksumOf(bytes) != (named ? checksum : Crc32c(item_key, checksum))) {
    return corrupt("checksum");
  }
  Manifest manifest;
  TakeFlags(flags, manifest);
  if ((manifest.outlived || manifest.unit == Unit::kColumns) &&
      (manifest.is_inline || manifest.tombstone)) {
    return corrupt("flags");
  }
  if (manifest.tombstone && manifest.is_inline) return corrupt("flags");
  const bool packed = version == kPackedFormatVersion;
  if (packed && (manifest.tombstone || manifest.is_inline ||
                 manifest.outlived || manifest.unit == Unit::kColumns)) {
    return corrupt("flags");
  }
  manifest.is_inline = manifest.is_inline || packed;
  const std::uint64_t member = wire.GetVarint();
  if (member >= kMaxMembers) return corrupt("member");
  manifest.member = static_cast<std::uint16_t>(member);
  if (wire.GetVarint() != kNoMove) return corrupt("move");
  manifest.incarnation = wire.GetShort(kTimeBytes);
  manifest.id = GetId(wire);
  if (!GetHistory(wire, manifest)) return corrupt("history");
  manifest.key = item_key;
  if (named) manifest.key = wire.GetBytes(wire.Get<std::uint8_t>());
  if (!IsNameOf(item_key, manifest.key, named)) return corrupt("key");
  if (manifest.tombstone) {
    manifest.cas = wire.GetDistance(manifest.id.time_us);
  } else {
    const std::string_view wrong = GetObject(wire, packed, manifest);
    if (!wrong.empty()) return corrupt(wrong);
  }
  if (!wire.ok() || wire.left() != 0) return corrupt("size");
  return manifest;
}

std::uint32_t ChecksumOf(std::string_view encoded) {
  WireReader checksum(encoded.substr(encoded.size() - kChecksumBytes));
  return checksum.Get<std::uint32_t>();
}

bool BeginsAsManifest(std::string_view bytes) {
  if (bytes.size() < kPrefixBytes || !bytes.starts_with(kMagic)) return false;
  const char version = bytes[kMagic.size()];
  return version == kFirstFormats || (version >= 0 && version < kVersionsEnd);
}

}  // namespace ers::store
