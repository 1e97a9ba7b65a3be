#include "store/format/manifest.h"

#include <catch2/catch.hpp>
#include <string>

#include "base/crc32c.h"
#include "base/wire.h"
#include "ers/options.h"
#include "unit/store/format/golden.h"

namespace ers::store {
namespace {

struct Example {
  std::string_view hex;
  Manifest manifest;
};

std::vector<Example> Examples() {
  return {{test::kTombstoneHex, test::TombstoneExample()},
          {test::kInlineHex, test::InlineExample()},
          {test::kCodedHex, test::CodedExample()},
          {test::kColumnsHex, test::ColumnsExample()}};
}

bool IsRefusal(StatusCode code) {
  return code == StatusCode::kNotManaged || code == StatusCode::kCorruption ||
         code == StatusCode::kUnsupportedFormat;
}

bool IsNewer(char version) {
  return static_cast<unsigned char>(version) > kManifestFormatVersion;
}

// The same bytes with a checksum that fits.
std::string Sealed(std::string bytes) {
  bytes.resize(bytes.size() - 4);
  WireWriter(bytes).Put(Crc32c(bytes));
  return bytes;
}

TEST_CASE("manifests have the bytes that docs/reference/format.md shows") {
  for (const Example& example : Examples()) {
    CAPTURE(example.manifest.key);
    CHECK(test::ToHex(EncodeManifest(example.manifest)) == example.hex);
  }
}

TEST_CASE("a manifest is read back as it was written") {
  for (const Example& example : Examples()) {
    const Manifest& was = example.manifest;
    CAPTURE(was.key);
    const Result<Manifest> is = DecodeManifest(test::FromHex(example.hex));
    REQUIRE(is.has_value());
    CHECK(is->member == was.member);
    CHECK(is->incarnation == was.incarnation);
    CHECK(is->id == was.id);
    CHECK(is->history == was.history);
    CHECK(is->tombstone == was.tombstone);
    CHECK(is->key == was.key);
    CHECK(is->cas == was.cas);
    if (was.tombstone) continue;
    CHECK(is->scheme == was.scheme);
    CHECK(is->width == was.width);
    CHECK(is->length == was.length);
    CHECK(is->client_flags == was.client_flags);
    CHECK(is->expiry == was.expiry);
    CHECK(is->is_inline == was.is_inline);
    CHECK(is->value == was.value);
    CHECK(is->unit == was.unit);
    CHECK(is->group_bytes == was.group_bytes);
    CHECK(is->nodes == was.nodes);
    CHECK(is->ring == was.ring);
    CHECK(is->data == was.data);
    CHECK(is->parity == was.parity);
  }
}

TEST_CASE("a manifest of the first format is read, and written as a new one") {
  const std::vector<Example> now = Examples();
  const std::vector<std::string_view> before = {
      test::kTombstoneFirstHex, test::kInlineFirstHex, test::kCodedFirstHex};
  for (std::size_t i = 0; i < before.size(); ++i) {
    CAPTURE(now[i].manifest.key);
    const std::string bytes = test::FromHex(before[i]);
    const Result<Manifest> is = DecodeManifest(bytes);
    REQUIRE(is.has_value());
    CHECK(test::ToHex(EncodeManifest(*is)) == now[i].hex);
    // No such mark was made then.
    std::string marked = bytes;
    marked[5] = static_cast<char>(marked[5] | 0x80);
    const Result<Manifest> unknown = DecodeManifest(Sealed(marked));
    REQUIRE_FALSE(unknown.has_value());
    CHECK(unknown.error().code() == StatusCode::kCorruption);
  }
}

TEST_CASE("marks are bits of the flags byte") {
  constexpr std::size_t kFlagsAt = 5;  // behind magic and format version
  const Manifest plain = test::CodedExample();
  for (int marks = 0; marks < 16; ++marks) {
    Manifest marked = plain;
    marked.stale = (marks & 1) != 0;
    marked.won = (marks & 2) != 0;
    marked.outlived = (marks & 4) != 0;
    marked.confirmed = (marks & 8) != 0;
    const std::string bytes = EncodeManifest(marked);
    const int flags = static_cast<unsigned char>(bytes[kFlagsAt]);
    // 32 are columns.
    const int bits = 8 * (marks & 3) + 16 * (marks & 12);
    CHECK(flags - EncodeManifest(plain)[kFlagsAt] == bits);
    const Result<Manifest> is = DecodeManifest(bytes);
    REQUIRE(is.has_value());
    CHECK(is->stale == marked.stale);
    CHECK(is->won == marked.won);
    CHECK(is->outlived == marked.outlived);
    CHECK(is->confirmed == marked.confirmed);
  }
}

TEST_CASE("no part of a manifest passes for one") {
  for (const Example& example : Examples()) {
    const std::string bytes = test::FromHex(example.hex);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      CAPTURE(example.manifest.key, size);
      const Result<Manifest> part = DecodeManifest(bytes.substr(0, size));
      REQUIRE_FALSE(part.has_value());
      CHECK(IsRefusal(part.error().code()));
    }
    const Result<Manifest> more = DecodeManifest(bytes + '\0');
    REQUIRE_FALSE(more.has_value());
    CHECK(more.error().code() == StatusCode::kCorruption);
  }
}

TEST_CASE("no changed byte of a manifest goes unseen") {
  for (const Example& example : Examples()) {
    const std::string bytes = test::FromHex(example.hex);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (int flip = 1; flip < 256; ++flip) {
        std::string bad = bytes;
        bad[at] = static_cast<char>(bad[at] ^ flip);
        const Result<Manifest> read = DecodeManifest(bad);
        CAPTURE(example.manifest.key, at, flip);
        REQUIRE_FALSE(read.has_value());
        const StatusCode expected = at < 4 ? StatusCode::kNotManaged
                                    : at == 4 && IsNewer(bad[at])
                                        ? StatusCode::kUnsupportedFormat
                                        : StatusCode::kCorruption;
        REQUIRE(read.error().code() == expected);
      }
    }
  }
}

// What a checksum cannot catch: bytes that were wrong when they were written.
// Every one is refused, or leads to a manifest that writes the same bytes.
TEST_CASE("a wrong manifest with a right checksum does no harm") {
  for (const Example& example : Examples()) {
    const std::string bytes = test::FromHex(example.hex);
    for (std::size_t at = 5; at + 4 < bytes.size(); ++at) {
      for (int flip = 1; flip < 256; ++flip) {
        std::string bad = bytes;
        bad[at] = static_cast<char>(bad[at] ^ flip);
        const Result<Manifest> read = DecodeManifest(Sealed(bad));
        CAPTURE(example.manifest.key, at, flip);
        if (!read) {
          REQUIRE(read.error().code() == StatusCode::kCorruption);
          continue;
        }
        REQUIRE(EncodeManifest(*read) == Sealed(bad));
      }
    }
    for (std::size_t size = 9; size < bytes.size(); ++size) {
      CAPTURE(example.manifest.key, size);
      REQUIRE_FALSE(DecodeManifest(Sealed(bytes.substr(0, size))).has_value());
    }
  }
}

TEST_CASE("a manifest of a newer format is distinguished from a broken one") {
  std::string bytes = test::FromHex(test::kInlineHex);
  bytes[4] = kManifestFormatVersion + 1;
  const Result<Manifest> newer = DecodeManifest(Sealed(bytes));
  REQUIRE_FALSE(newer.has_value());
  CHECK(newer.error().code() == StatusCode::kUnsupportedFormat);
  // Even where nothing else of it is as we know it.
  const Result<Manifest> tiny = DecodeManifest("eRSm\x04");
  REQUIRE_FALSE(tiny.has_value());
  CHECK(tiny.error().code() == StatusCode::kUnsupportedFormat);
}

TEST_CASE("unknown flags are not passed over") {
  // What has no blocks is not outlived by them.
  const int flag = GENERATE(0x20, 0x40);
  std::string bytes = test::FromHex(test::kInlineHex);
  bytes[5] = static_cast<char>(bytes[5] | flag);
  const Result<Manifest> read = DecodeManifest(Sealed(bytes));
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().code() == StatusCode::kCorruption);
  CHECK(read.error().message().find("flags") != std::string::npos);
}

TEST_CASE("format version 0 was never written") {
  for (const Example& example : Examples()) {
    std::string bytes = test::FromHex(example.hex);
    bytes[4] = 0;
    const Result<Manifest> read = DecodeManifest(Sealed(bytes));
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().code() == StatusCode::kCorruption);
    CHECK(read.error().message().find("version 0") != std::string::npos);
  }
}

void CheckCorrupted(const Manifest& manifest, std::string_view what) {
  const Result<Manifest> read = DecodeManifest(EncodeManifest(manifest));
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().code() == StatusCode::kCorruption);
  CHECK(read.error().message().find(what) != std::string::npos);
}

TEST_CASE("every member is in the node list once") {
  Manifest manifest = test::CodedExample();
  for (std::size_t i = 0; i < manifest.nodes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      CAPTURE(i, j);
      Manifest twice = manifest;
      twice.nodes[i] = twice.nodes[j];
      CheckCorrupted(twice, "nodes");
    }
  }
  manifest.nodes[0] = kMaxMembers - 1;
  CHECK(DecodeManifest(EncodeManifest(manifest)).has_value());
  manifest.nodes[0] = kMaxMembers;
  CheckCorrupted(manifest, "nodes");
}

TEST_CASE("some of the nodes go round, and no more than there are") {
  Manifest manifest = test::CodedExample();
  for (const std::uint16_t ring : {1, 3, 4}) {
    manifest.ring = ring;
    const Result<Manifest> read = DecodeManifest(EncodeManifest(manifest));
    REQUIRE(read.has_value());
    CHECK(read->ring == ring);
  }
  for (const std::uint16_t ring : {0, 5}) {
    manifest.ring = ring;
    CheckCorrupted(manifest, "ring");
  }
}

// A build that knows no columns goes by the number.
TEST_CASE("format version 3 is that of objects in columns, and no other") {
  CHECK(EncodeManifest(test::CodedExample())[4] == 2);
  CHECK(EncodeManifest(test::ColumnsExample())[4] == 3);
  for (const Example& example : Examples()) {
    std::string bytes = test::FromHex(example.hex);
    bytes[4] = static_cast<char>(bytes[4] ^ 1);
    CHECK_FALSE(DecodeManifest(Sealed(bytes)).has_value());
  }
}

TEST_CASE("only elastic objects are in columns") {
  Manifest manifest = test::ColumnsExample();
  manifest.scheme = {SchemeKind::kRs, 3, 1, 3};
  manifest.width = Width::kNarrow;
  CheckCorrupted(manifest, "unit");
}

Manifest ChainExample(Width width) {
  Manifest manifest = test::CodedExample();
  manifest.scheme = ParseScheme("ers:2-3-4-6,1").value();
  manifest.width = width;
  manifest.nodes = {3, 0, 1, 2, 7, 6, 5, 4};
  const int stripes = 12 / StripeDataBlocks(manifest.scheme, width);
  manifest.data = GenerationMap(12, test::kId);
  manifest.parity =
      GenerationMap(static_cast<std::uint32_t>(stripes), test::kId);
  return manifest;
}

TEST_CASE("a manifest names every width of a chain, and the object's") {
  for (const Width width :
       {Width::kNarrow, Width::kSecond, Width::kThird, Width::kWide}) {
    CAPTURE(static_cast<int>(width));
    const Manifest was = ChainExample(width);
    const std::string bytes = EncodeManifest(was);
    const Result<Manifest> is = DecodeManifest(bytes);
    REQUIRE(is.has_value());
    CHECK(is->scheme == was.scheme);
    CHECK(is->width == width);
    CHECK(is->parity == was.parity);
    for (std::size_t size = 0; size + 4 < bytes.size(); ++size) {
      CHECK_FALSE(
          DecodeManifest(Sealed(bytes.substr(0, size) + "sum!")).has_value());
    }
  }
}

TEST_CASE("an object has no width that its scheme does not have") {
  Manifest manifest = ChainExample(Width::kThird);
  manifest.scheme = ParseScheme("ers:2-3-6,1").value();
  CheckCorrupted(manifest, "width");
  manifest = ChainExample(Width::kSecond);
  manifest.width = static_cast<Width>(4);
  CheckCorrupted(manifest, "width");
  manifest = ChainExample(Width::kSecond);
  manifest.scheme.middle = {3, 2};
  CheckCorrupted(manifest, "scheme");
}

// 2^28 groups of one byte, with so many blocks each that 32 bits count 0 or
// some of them.
TEST_CASE("the count of blocks does not wrap") {
  Manifest manifest = test::CodedExample();
  manifest.length = kMaxValueBytes;
  manifest.group_bytes = 1;
  manifest.width = Width::kNarrow;
  manifest.nodes.clear();
  for (std::uint16_t i = 0; i < 40; ++i) manifest.nodes.push_back(i);
  manifest.scheme = {SchemeKind::kRs, 16, 16, 16};
  manifest.data = GenerationMap();
  manifest.parity = GenerationMap();
  CheckCorrupted(manifest, "block count");
  manifest.scheme = {SchemeKind::kRs, 17, 16, 17};
  manifest.data = GenerationMap(1 << 28, test::kId);
  CheckCorrupted(manifest, "block count");
  // What 32 bits do count is only a matter of size.
  manifest.scheme = {SchemeKind::kRs, 15, 1, 15};
  manifest.data = GenerationMap(15U << 28, test::kId);
  manifest.parity = GenerationMap(1U << 28, test::kId);
  CHECK(DecodeManifest(EncodeManifest(manifest)).has_value());
}

TEST_CASE("a manifest remembers itself and eight changes before") {
  Manifest manifest = test::TombstoneExample();
  manifest.history.clear();
  for (std::uint64_t i = 0; i < kHistoryLength; ++i) {
    manifest.history.push_back({100 - i, i});
  }
  const Result<Manifest> read = DecodeManifest(EncodeManifest(manifest));
  REQUIRE(read.has_value());
  CHECK(read->Remembers(manifest.id));
  for (const ChangeId& id : manifest.history) CHECK(read->Remembers(id));
  CHECK_FALSE(read->Remembers({100, 1}));
  CHECK_FALSE(read->Remembers({}));
  manifest.history.push_back({1, 1});
  CHECK_FALSE(DecodeManifest(EncodeManifest(manifest)).has_value());
}

TEST_CASE("a key of 250 bytes fits, whatever its bytes") {
  Manifest manifest = test::InlineExample();
  manifest.key = std::string(250, '\xfe');
  const Result<Manifest> read = DecodeManifest(EncodeManifest(manifest));
  REQUIRE(read.has_value());
  CHECK(read->key == manifest.key);
}

}  // namespace
}  // namespace ers::store
