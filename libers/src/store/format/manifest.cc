#include "store/format/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>

#include "base/crc32c.h"
#include "base/wire.h"
#include "ers/options.h"

namespace ers::store {
namespace {

constexpr std::string_view kManifestMagic = "eRSm";
constexpr std::uint8_t kTombstoneFlag = 1;
constexpr std::uint8_t kInlineFlag = 2;
constexpr std::uint8_t kWideFlag = 4;
constexpr std::uint8_t kStaleFlag = 8;
constexpr std::uint8_t kWonFlag = 16;
constexpr std::uint8_t kColumnsFlag = 32;  // of version 1, without meaning
constexpr std::uint8_t kOutlivedFlag = 64;
constexpr std::uint8_t kConfirmedFlag = 128;
constexpr std::uint8_t kFirstFlags = 127;  // that format version 1 has
// What version 1 has behind `member` and behind `incarnation`: the item that a
// change was made to replace.
constexpr std::size_t kReplacedMemberBytes = 2;
constexpr std::size_t kReplacedItemBytes = 16;
constexpr std::size_t kChecksumBytes = 4;

// A process that knows no columns refuses version 3 by its number.
std::uint8_t VersionOf(const Manifest& manifest) {
  return manifest.unit == Unit::kColumns ? 3 : 2;
}

void PutId(WireWriter& wire, const ChangeId& id) {
  wire.Put(id.time_us);
  wire.Put(id.nonce);
}

ChangeId GetId(WireReader& wire) {
  ChangeId id;
  id.time_us = wire.Get<std::uint64_t>();
  id.nonce = wire.Get<std::uint64_t>();
  return id;
}

void PutGenerations(WireWriter& wire, const GenerationMap& map) {
  wire.Put(map.size());
  wire.Put(static_cast<std::uint32_t>(map.runs().size()));
  for (const auto& run : map.runs()) {
    wire.Put(run.first);
    PutId(wire, run.generation);
  }
}

// False unless the runs start at 0, rise within the size, and each differs from
// the one before.
bool GetGenerations(WireReader& wire, GenerationMap& map) {
  const auto size = wire.Get<std::uint32_t>();
  const auto runs = wire.Get<std::uint32_t>();
  if (runs > size || (size > 0) != (runs > 0) || wire.left() < runs) {
    return false;
  }
  map = GenerationMap();
  std::uint32_t next = 0;
  ChangeId previous;
  for (std::uint32_t i = 0; i < runs; ++i) {
    const auto first = wire.Get<std::uint32_t>();
    const ChangeId generation = GetId(wire);
    if (i == 0 ? first != 0 : first <= next || first >= size) return false;
    if (i > 0 && generation == previous) return false;
    if (i > 0) map.Resize(first, previous);
    next = first;
    previous = generation;
  }
  map.Resize(size, previous);
  return wire.ok();
}

// The part that only living objects have.
void PutObject(WireWriter& wire, const Manifest& manifest) {
  wire.Put(static_cast<std::uint8_t>(manifest.scheme.kind));
  wire.Put(static_cast<std::uint8_t>(manifest.scheme.k));
  wire.Put(static_cast<std::uint8_t>(manifest.scheme.m));
  wire.Put(static_cast<std::uint8_t>(manifest.scheme.kp));
  wire.Put(manifest.client_flags);
  wire.Put(manifest.length);
  wire.Put(manifest.cas);
  wire.Put(static_cast<std::uint64_t>(manifest.expiry));
  if (manifest.is_inline) {
    wire.PutBytes(manifest.value);
    return;
  }
  wire.Put(manifest.group_bytes);
  wire.Put(static_cast<std::uint16_t>(manifest.nodes.size()));
  wire.Put(manifest.ring);
  for (const std::uint16_t node : manifest.nodes) wire.Put(node);
  PutGenerations(wire, manifest.data);
  PutGenerations(wire, manifest.parity);
}

// What is wrong, or empty.
std::string_view GetObject(WireReader& wire, Manifest& manifest) {
  manifest.scheme.kind = static_cast<SchemeKind>(wire.Get<std::uint8_t>());
  manifest.scheme.k = wire.Get<std::uint8_t>();
  manifest.scheme.m = wire.Get<std::uint8_t>();
  manifest.scheme.kp = wire.Get<std::uint8_t>();
  manifest.client_flags = wire.Get<std::uint32_t>();
  manifest.length = wire.Get<std::uint64_t>();
  manifest.cas = wire.Get<std::uint64_t>();
  manifest.expiry = static_cast<std::int64_t>(wire.Get<std::uint64_t>());
  if (!ValidateStoredScheme(manifest.scheme).ok()) return "scheme";
  if (!manifest.scheme.elastic()) {
    if (manifest.width == Width::kWide) return "width";
    if (manifest.unit == Unit::kColumns) return "unit";
  }
  if (manifest.length > kMaxValueBytes) return "length";
  if (manifest.is_inline) {
    if (wire.left() != manifest.length) return "inline length";
    manifest.value = wire.GetBytes(manifest.length);
    return {};
  }
  manifest.group_bytes = wire.Get<std::uint64_t>();
  if (manifest.group_bytes == 0 || manifest.group_bytes > kMaxGroupBytes) {
    return "group size";
  }
  const auto nodes = wire.Get<std::uint16_t>();
  if (nodes < NodeCount(manifest.scheme) || nodes > kMaxMembers) {
    return "node count";
  }
  manifest.ring = wire.Get<std::uint16_t>();
  if (manifest.ring < 1 || manifest.ring > nodes) return "ring";
  std::bitset<kMaxMembers> seen;
  for (int i = 0; i < nodes; ++i) {
    const auto node = wire.Get<std::uint16_t>();
    if (node >= kMaxMembers || seen.test(node)) return "nodes";
    seen.set(node);
    manifest.nodes.push_back(node);
  }
  if (!GetGenerations(wire, manifest.data) ||
      !GetGenerations(wire, manifest.parity)) {
    return "generations";
  }
  // In 64 bits: small groups of a long value make more blocks than 32 count.
  const std::uint64_t groups =
      (manifest.length + manifest.group_bytes - 1) / manifest.group_bytes;
  const bool in_columns = manifest.unit == Unit::kColumns;
  const auto blocks = static_cast<std::uint64_t>(
      in_columns ? manifest.scheme.kp : GroupDataBlocks(manifest.scheme));
  const bool narrow = manifest.width == Width::kNarrow && !in_columns;
  const auto stripe = static_cast<std::uint64_t>(narrow ? manifest.scheme.k
                                                        : manifest.scheme.kp);
  const auto m = static_cast<std::uint64_t>(manifest.scheme.m);
  if (manifest.data.size() != groups * blocks ||
      manifest.parity.size() != groups * (blocks / stripe * m)) {
    return "block count";
  }
  return {};
}

}  // namespace

bool Manifest::Remembers(const ChangeId& other) const {
  return id == other ||
         std::find(history.begin(), history.end(), other) != history.end();
}

std::string EncodeManifest(const Manifest& manifest) {
  std::string out;
  // Twice as much as the fields of an object without blocks take.
  constexpr std::size_t kFields = 256;
  out.reserve(kFields + manifest.key.size() + manifest.value.size());
  WireWriter wire(out);
  wire.PutBytes(kManifestMagic);
  wire.Put(VersionOf(manifest));
  wire.Put(static_cast<std::uint8_t>(
      (manifest.tombstone ? kTombstoneFlag : 0) |
      (manifest.is_inline ? kInlineFlag : 0) |
      (manifest.width == Width::kWide ? kWideFlag : 0) |
      (manifest.stale ? kStaleFlag : 0) | (manifest.won ? kWonFlag : 0) |
      (manifest.unit == Unit::kColumns ? kColumnsFlag : 0) |
      (manifest.outlived ? kOutlivedFlag : 0) |
      (manifest.confirmed ? kConfirmedFlag : 0)));
  wire.Put(static_cast<std::uint8_t>(manifest.history.size()));
  wire.Put(static_cast<std::uint8_t>(manifest.key.size()));
  wire.Put(manifest.member);
  wire.Put(manifest.incarnation);
  PutId(wire, manifest.id);
  for (const ChangeId& id : manifest.history) PutId(wire, id);
  wire.PutBytes(manifest.key);
  if (manifest.tombstone) {
    wire.Put(manifest.cas);
  } else {
    PutObject(wire, manifest);
  }
  wire.Put(Crc32c(out));
  return out;
}

Result<Manifest> DecodeManifest(std::string_view bytes) {
  if (!bytes.starts_with(kManifestMagic) ||
      bytes.size() < kManifestMagic.size() + 1) {
    return Fail(StatusCode::kNotManaged,
                "the item is not one of this library's: any memcached client "
                "reads it, and what is stored anew is an object again");
  }
  const auto version = static_cast<std::uint8_t>(bytes[kManifestMagic.size()]);
  if (version > kManifestFormatVersion) {
    return Fail(StatusCode::kUnsupportedFormat,
                fmt::format("the manifest has format version {}; this library "
                            "reads up to {}: upgrade it",
                            version, kManifestFormatVersion));
  }
  const auto corrupt = [](std::string_view what) {
    return Fail(StatusCode::kCorruption,
                fmt::format("the manifest is corrupted ({})", what));
  };
  if (version == 0) return corrupt("format version 0");
  if (bytes.size() < kManifestMagic.size() + kChecksumBytes)
    return corrupt("size");
  const std::string_view body = bytes.substr(0, bytes.size() - kChecksumBytes);
  WireReader checksum(bytes.substr(body.size()));
  if (checksum.Get<std::uint32_t>() != Crc32c(body)) return corrupt("checksum");

  WireReader wire(body.substr(kManifestMagic.size() + 1));
  Manifest manifest;
  const auto flags = wire.Get<std::uint8_t>();
  if (version == 1 && (flags & ~kFirstFlags) != 0) return corrupt("flags");
  manifest.tombstone = (flags & kTombstoneFlag) != 0;
  manifest.is_inline = (flags & kInlineFlag) != 0;
  manifest.width = (flags & kWideFlag) != 0 ? Width::kWide : Width::kNarrow;
  manifest.stale = (flags & kStaleFlag) != 0;
  manifest.won = (flags & kWonFlag) != 0;
  manifest.outlived = (flags & kOutlivedFlag) != 0;
  manifest.confirmed = (flags & kConfirmedFlag) != 0;
  if (version > 1 && (flags & kColumnsFlag) != 0) {
    manifest.unit = Unit::kColumns;
  }
  if (version > 1 && version != VersionOf(manifest)) return corrupt("flags");
  if ((manifest.outlived || manifest.unit == Unit::kColumns) &&
      (manifest.is_inline || manifest.tombstone)) {
    return corrupt("flags");
  }
  const auto history = wire.Get<std::uint8_t>();
  const auto key_bytes = wire.Get<std::uint8_t>();
  manifest.member = wire.Get<std::uint16_t>();
  if (version == 1) (void)wire.GetBytes(kReplacedMemberBytes);
  manifest.incarnation = wire.Get<std::uint64_t>();
  if (version == 1) (void)wire.GetBytes(kReplacedItemBytes);
  manifest.id = GetId(wire);
  if (history > kHistoryLength) return corrupt("history");
  for (int i = 0; i < history; ++i) manifest.history.push_back(GetId(wire));
  manifest.key = wire.GetBytes(key_bytes);
  if (manifest.tombstone) {
    manifest.cas = wire.Get<std::uint64_t>();
  } else {
    const std::string_view wrong = GetObject(wire, manifest);
    if (!wrong.empty()) return corrupt(wrong);
  }
  if (!wire.ok() || wire.left() != 0) return corrupt("size");
  return manifest;
}

}  // namespace ers::store
