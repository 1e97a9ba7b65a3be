// Any bytes as what servers keep: manifests, blocks, view records and records
// of participants; and as a line in which they describe an item. What is read
// is written again as it was; what is not exactly a block is none.
//
// The first byte of an input says what the others are. A checksum stands
// between a fuzzer and all that is behind it: some kinds get the right one.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/crc32c.h"
#include "base/wire.h"
#include "fuzz/require.h"
#include "store/format/block_header.h"
#include "store/format/item_line.h"
#include "store/format/manifest.h"
#include "store/format/pack.h"
#include "store/format/participant.h"
#include "store/format/view.h"

namespace ers::store {
namespace {

using fuzz::Require;
using nlohmann::json;

void CheckItemLine(std::string_view line) {
  const std::string key = KeyOfLine(line);
  Require(key.size() <= line.size(), "a key is no longer than its line");
  for (const char* name : {"la", "exp", "size"}) {
    const std::optional<std::int64_t> number = FieldOfLine(line, name);
    const std::string again =
        number ? std::string(name) + "=" + std::to_string(*number) : "";
    Require(FieldOfLine(again, name) == number,
            "a number is read back as it was written");
  }
}

constexpr std::string_view kKey = "key";

void CheckManifest(std::string_view bytes) {
  const Result<Manifest> read = DecodeManifest(kKey, bytes);
  Require(BeginsAsManifest(bytes) ||
              (!read && read.error().code() == StatusCode::kNotManaged),
          "what does not begin as a manifest is none");
  if (!read) return;
  Require(EncodeManifest(*read) == bytes,
          "a manifest is written again as it was read");
  Require(read->Remembers(read->id), "a manifest remembers its own change");
}

void CheckSealedManifest(std::string_view body) {
  std::string bytes(body);
  const bool named = bytes.size() > 4 && (bytes[4] & 0x80) != 0;
  const std::uint32_t checksum = Crc32c(bytes);
  WireWriter(bytes).Put(named ? checksum : Crc32c(kKey, checksum));
  CheckManifest(bytes);
}

// What it is, a header, then the payload.
void CheckBlock(std::string_view bytes) {
  constexpr std::size_t kNameBytes = 24;
  if (bytes.size() < kNameBytes + kBlockHeaderBytes) return;
  WireReader wire(bytes);
  BlockHeader said;
  said.generation.time_us = wire.Get<std::uint64_t>();
  said.generation.nonce = wire.Get<std::uint64_t>();
  said.number = wire.Get<std::uint64_t>();
  BlockHeaderBytes header;
  std::memcpy(header.data(), bytes.data() + kNameBytes, header.size());
  const std::string_view payload = bytes.substr(kNameBytes + kBlockHeaderBytes);
  const auto* data = reinterpret_cast<const std::byte*>(payload.data());
  const BlockHeaderBytes right = EncodeBlockHeader(said, data, payload.size());
  Require(VerifyBlock(said, right, data, payload.size()),
          "a block is known by what was written before it");
  Require(VerifyBlock(said, header, data, payload.size()) == (header == right),
          "no other header passes for it");
  BlockHeader other = said;
  ++other.number;
  Require(!VerifyBlock(other, right, data, payload.size()),
          "no block passes for another");
  if (payload.empty()) return;
  std::string damaged(payload);
  const std::size_t at = said.number % damaged.size();
  damaged[at] = static_cast<char>(damaged[at] ^ (1 << (said.number % 8)));
  Require(!VerifyBlock(said, right,
                       reinterpret_cast<const std::byte*>(damaged.data()),
                       damaged.size()),
          "a bit that flips is seen");
}

void CheckView(std::string_view text) {
  const Result<View> read = DecodeView(text);
  if (!read) return;
  const std::string written = EncodeView(*read);
  const Result<View> again = DecodeView(written);
  Require(again.has_value(), "a view is read again");
  Require(EncodeView(*again) == written,
          "a view is written again as it was read");
  Require(again->epoch == read->epoch &&
              again->members.size() == read->members.size() &&
              again->NotInSync() == read->NotInSync(),
          "a view is read again as it was");
}

void CheckRegistry(std::string_view text) {
  const Result<Registry> read = DecodeRegistry(text);
  if (!read || !read->older.empty()) return;
  const std::string written = EncodeRegistry(read->participants);
  const Result<Registry> again = DecodeRegistry(written);
  Require(again.has_value(), "a registry is read again");
  Require(EncodeRegistry(again->participants) == written,
          "a registry is written again as it was read");
}

void CheckEntry(std::string_view bytes) {
  const Result<Entry> read = DecodeEntry(bytes);
  if (!read) return;
  Require(EncodeEntry(*read) == bytes,
          "an entry is written again as it was read");
}

// The whole of a pack.
void CheckPack(std::string_view bytes) {
  Result<std::vector<PackEntry>> read =
      DecodePackDirectory(bytes, bytes.size());
  if (!read) return;
  for (const PackEntry& entry : *read) {
    Require(entry.offset + entry.length <= bytes.size(),
            "a value is within its pack");
  }
  const std::string written = EncodePackDirectory(*read);
  Require(bytes.starts_with(written),
          "a directory is written again as it was read");
}

// `check` gets the record with the right checksum.
void CheckSealed(std::string_view text, void (*check)(std::string_view)) {
  constexpr int kDeep = 40;
  bool deep = false;
  json root = json::parse(
      text,
      [&deep](int depth, json::parse_event_t, json&) {
        deep = deep || depth > kDeep;
        return !deep;
      },
      /*allow_exceptions=*/false);
  if (deep || !root.is_object()) return;
  root.erase("crc32c");
  root["crc32c"] = Crc32c(root.dump());
  check(root.dump());
}

void CheckSealedView(std::string_view text) { CheckSealed(text, CheckView); }

void CheckSealedRegistry(std::string_view text) {
  CheckSealed(text, CheckRegistry);
}

}  // namespace
}  // namespace ers::store

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using Check = void (*)(std::string_view);
  constexpr std::array<Check, 10> kChecks = {
      ers::store::CheckManifest,       ers::store::CheckSealedManifest,
      ers::store::CheckBlock,          ers::store::CheckView,
      ers::store::CheckSealedView,     ers::store::CheckRegistry,
      ers::store::CheckSealedRegistry, ers::store::CheckItemLine,
      ers::store::CheckEntry,          ers::store::CheckPack};
  if (size == 0) return 0;
  kChecks[data[0] % kChecks.size()](
      {reinterpret_cast<const char*>(data + 1), size - 1});
  return 0;
}
