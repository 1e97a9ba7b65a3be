#include "store/format/pack.h"

#include <fmt/format.h>

#include "base/wire.h"
#include "ers/options.h"

namespace ers::store {
namespace {

constexpr std::string_view kPackMagic = "eRP";
constexpr std::uint8_t kPackFormatVersion = 1;

tl::unexpected<Status> CorruptPack(std::string_view what) {
  return Fail(StatusCode::kCorruption,
              fmt::format("the pack is corrupted ({})", what));
}

}  // namespace

std::string EncodePackDirectory(std::vector<PackEntry>& entries) {
  std::string listed;
  WireWriter list(listed);
  list.PutVarint(entries.size());
  for (const PackEntry& entry : entries) {
    list.PutVarint(entry.key.size());
    list.PutBytes(entry.key);
    list.PutVarint(entry.length);
  }
  std::string out;
  WireWriter wire(out);
  wire.PutBytes(kPackMagic);
  wire.Put(kPackFormatVersion);
  wire.Put(static_cast<std::uint32_t>(listed.size()));
  wire.PutBytes(listed);
  std::uint64_t offset = out.size();
  for (PackEntry& entry : entries) {
    entry.offset = offset;
    offset += entry.length;
  }
  return out;
}

Result<std::size_t> PackDirectoryBytes(std::string_view begin) {
  WireReader wire(begin);
  if (wire.GetBytes(kPackMagic.size()) != kPackMagic) {
    return CorruptPack("magic");
  }
  const auto version = wire.Get<std::uint8_t>();
  if (version > kPackFormatVersion) {
    return Fail(StatusCode::kUnsupportedFormat,
                fmt::format("the pack has format version {}; this library "
                            "reads {}: upgrade it",
                            version, kPackFormatVersion));
  }
  const auto listed = wire.Get<std::uint32_t>();
  if (!wire.ok() || version < kPackFormatVersion) return CorruptPack("header");
  return kPackHeaderBytes + std::size_t{listed};
}

Result<std::vector<PackEntry>> DecodePackDirectory(std::string_view directory,
                                                   std::uint64_t length) {
  const Result<std::size_t> bytes = PackDirectoryBytes(directory);
  if (!bytes) return Fail(bytes.error());
  if (directory.size() < *bytes || length < *bytes) return CorruptPack("size");
  WireReader wire(
      directory.substr(kPackHeaderBytes, *bytes - kPackHeaderBytes));
  const std::uint64_t count = wire.GetVarint();
  std::vector<PackEntry> entries;
  std::uint64_t offset = *bytes;
  for (std::uint64_t i = 0; i < count && wire.ok(); ++i) {
    PackEntry& entry = entries.emplace_back();
    entry.key = wire.GetBytes(wire.GetVarint());
    entry.length = wire.GetVarint();
    entry.offset = offset;
    if (entry.key.empty() || entry.key.size() > kMaxKeyBytes ||
        entry.length > length - offset) {
      return CorruptPack("entry");
    }
    offset += entry.length;
  }
  if (!wire.ok() || wire.left() != 0 || offset != length) {
    return CorruptPack("directory");
  }
  return entries;
}

}  // namespace ers::store
