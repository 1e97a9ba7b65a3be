#include "store/format/manifest.h"

#include <catch2/catch.hpp>
#include <string>

#include "base/crc32c.h"
#include "base/wire.h"
#include "ers/options.h"
#include "store/format/keys.h"
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
          {test::kPackedHex, test::PackedExample()},
          {test::kHashedHex, test::HashedExample()},
          {test::kCodedHex, test::CodedExample()},
          {test::kColumnsHex, test::ColumnsExample()}};
}

bool IsRefusal(StatusCode code) {
  return code == StatusCode::kNotManaged || code == StatusCode::kCorruption ||
         code == StatusCode::kUnsupportedFormat;
}

// Of a format that this library does not read, by its fourth byte.
bool IsOther(char version) {
  return version == 'm' || (version > kPackedFormatVersion && version < ' ');
}

bool IsNone(char version) {
  return version != 'm' && (version < 0 || version >= ' ');
}

// The same bytes with a checksum that fits them as the item of `key`.
std::string Sealed(std::string bytes, const Manifest& manifest) {
  bytes.resize(bytes.size() - 4);
  const bool named = bytes.size() > 4 && (bytes[4] & 0x80) != 0;
  const std::uint32_t checksum = Crc32c(bytes);
  WireWriter(bytes).Put(named ? checksum
                              : Crc32c(ManifestKey(manifest.key), checksum));
  return bytes;
}

Result<Manifest> Decode(const Manifest& manifest, std::string_view bytes) {
  return DecodeManifest(ManifestKey(manifest.key), bytes);
}

Result<Manifest> ReadBack(const Manifest& manifest) {
  return Decode(manifest, EncodeManifest(manifest));
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
    const Result<Manifest> is = Decode(was, test::FromHex(example.hex));
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
    CHECK(is->pack == was.pack);
    CHECK(is->pack_offset == was.pack_offset);
    CHECK(is->unit == was.unit);
    CHECK(is->group_bytes == was.group_bytes);
    CHECK(is->nodes == was.nodes);
    CHECK(is->ring == was.ring);
    CHECK(is->data == was.data);
    CHECK(is->parity == was.parity);
  }
}

TEST_CASE("marks are bits of the flags byte") {
  constexpr std::size_t kFlagsAt = 4;  // behind magic and format version
  const Manifest plain = test::CodedExample();
  for (int marks = 0; marks < 16; ++marks) {
    Manifest marked = plain;
    marked.stale = (marks & 1) != 0;
    marked.won = (marks & 2) != 0;
    marked.outlived = (marks & 4) != 0;
    marked.confirmed = (marks & 8) != 0;
    const std::string bytes = EncodeManifest(marked);
    const int flags = static_cast<unsigned char>(bytes[kFlagsAt]);
    const int bits = 4 * (marks & 3) + 8 * (marks & 12);  // 16 are columns
    CHECK(flags - EncodeManifest(plain)[kFlagsAt] == bits);
    const Result<Manifest> is = Decode(marked, bytes);
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
      const Result<Manifest> part =
          Decode(example.manifest, bytes.substr(0, size));
      REQUIRE_FALSE(part.has_value());
      CHECK(IsRefusal(part.error().code()));
    }
    const Result<Manifest> more = Decode(example.manifest, bytes + '\0');
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
        const Result<Manifest> read = Decode(example.manifest, bad);
        CAPTURE(example.manifest.key, at, flip);
        REQUIRE_FALSE(read.has_value());
        const StatusCode expected =
            at < 3 || (at == 3 && IsNone(bad[at])) ? StatusCode::kNotManaged
            : at == 3 && IsOther(bad[at]) ? StatusCode::kUnsupportedFormat
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
    for (std::size_t at = 4; at + 4 < bytes.size(); ++at) {
      for (int flip = 1; flip < 256; ++flip) {
        std::string bad = bytes;
        bad[at] = static_cast<char>(bad[at] ^ flip);
        const Result<Manifest> read =
            Decode(example.manifest, Sealed(bad, example.manifest));
        CAPTURE(example.manifest.key, at, flip);
        if (!read) {
          REQUIRE(read.error().code() == StatusCode::kCorruption);
          continue;
        }
        REQUIRE(EncodeManifest(*read) == Sealed(bad, example.manifest));
      }
    }
    for (std::size_t size = 8; size < bytes.size(); ++size) {
      CAPTURE(example.manifest.key, size);
      const std::string part = Sealed(bytes.substr(0, size), example.manifest);
      const Result<Manifest> read = Decode(example.manifest, part);
      // A value that rides in it ends where the checksum begins.
      const bool shorter =
          read && read->is_inline && read->length < example.manifest.length;
      REQUIRE((!read || shorter));
    }
  }
}

TEST_CASE("a manifest of another format is distinguished from a broken one") {
  const Manifest example = test::InlineExample();
  std::string bytes = test::FromHex(test::kInlineHex);
  // Of a later one, and of those before, whose fourth byte was a letter.
  for (const char version : {char{kPackedFormatVersion + 1}, 'm'}) {
    bytes[3] = version;
    CHECK(Decode(example, Sealed(bytes, example)).error().code() ==
          StatusCode::kUnsupportedFormat);
    // Even where nothing else of it is as we know it.
    CHECK(Decode(example, bytes.substr(0, 4)).error().code() ==
          StatusCode::kUnsupportedFormat);
    CHECK(BeginsAsManifest(bytes));
  }
  for (const char letter : {'b', 'p', 'M', '\x7f', '\xff'}) {
    bytes[3] = letter;
    CHECK(Decode(example, bytes).error().code() == StatusCode::kNotManaged);
    CHECK_FALSE(BeginsAsManifest(bytes));
  }
}

TEST_CASE("flags that cannot be together are not passed over") {
  // What has no blocks has none in columns, and none that outlive it.
  const int flag = GENERATE(1, 16, 32);
  const Manifest example = test::InlineExample();
  std::string bytes = test::FromHex(test::kInlineHex);
  bytes[4] = static_cast<char>(bytes[4] | flag);
  const Result<Manifest> read = Decode(example, Sealed(bytes, example));
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().code() == StatusCode::kCorruption);
  CHECK(read.error().message().find("flags") != std::string::npos);
}

TEST_CASE("format versions 0 to 3 were never written so") {
  for (const Example& example : Examples()) {
    std::string bytes = test::FromHex(example.hex);
    for (char version = 0; version < kManifestFormatVersion; ++version) {
      bytes[3] = version;
      const Result<Manifest> read =
          Decode(example.manifest, Sealed(bytes, example.manifest));
      REQUIRE_FALSE(read.has_value());
      CHECK(read.error().code() == StatusCode::kCorruption);
    }
  }
}

TEST_CASE("a manifest under another key is corrupted") {
  for (const Example& example : Examples()) {
    const bool hashed = HasHashedName(example.manifest.key);
    for (const std::string& item_key :
         {hashed ? ManifestKey("ers!another") : example.manifest.key + "s",
          hashed ? "plain" : ManifestKey("ers!another")}) {
      const Result<Manifest> read =
          DecodeManifest(item_key, test::FromHex(example.hex));
      REQUIRE_FALSE(read.has_value());
      CHECK(read.error().code() == StatusCode::kCorruption);
    }
  }
}

// Writers know their own items by it; the checksum of all bytes with theirs
// would be the same for each.
TEST_CASE("no two manifests end with the same checksum") {
  const Manifest manifest = test::InlineExample();
  Manifest other = manifest;
  other.id.time_us += 1;
  CHECK(ChecksumOf(EncodeManifest(manifest)) !=
        ChecksumOf(EncodeManifest(other)));
}

TEST_CASE("each replica's copy is the manifest with whose it is") {
  for (const Example& example : Examples()) {
    CAPTURE(example.manifest.key);
    const ManifestCopies copies(example.manifest);
    for (const int member : {0, 127, 128, 1000}) {
      Manifest copy = example.manifest;
      copy.member = static_cast<std::uint16_t>(member);
      copy.incarnation += 1;
      CHECK(copies.For(member, copy.incarnation) == EncodeManifest(copy));
    }
  }
}

TEST_CASE("a history takes the bytes that it is said to take") {
  Manifest manifest = test::InlineExample();
  manifest.history.clear();
  const std::size_t without = EncodeManifest(manifest).size();
  const std::size_t none = HistoryBytes(manifest.id, manifest.history);
  // Before the change, also long before, and behind it.
  for (const std::int64_t past : {1L, 64L, 100'000L, 1L << 50, -1L, -20'000L}) {
    manifest.history.push_back(
        {manifest.id.time_us - static_cast<std::uint64_t>(past), 7});
    CHECK(EncodeManifest(manifest).size() - without ==
          HistoryBytes(manifest.id, manifest.history) - none);
  }
}

TEST_CASE(
    "a small value's manifest takes 60 bytes beside it, and 4 more with "
    "an end") {
  Manifest manifest = test::InlineExample();
  manifest.scheme = {SchemeKind::kErs2, 12, 3, 14};
  manifest.member = 1000;
  manifest.value = std::string(300, 'v');
  manifest.history = {{manifest.id.time_us - 2'000'000, 7}};
  manifest.id.nonce &= (1ULL << kMakerBits) - 1;
  manifest.expiry = 0;
  CHECK(HistoryBytes(manifest.id, manifest.history) <= kInlineHistoryBytes);
  CHECK(EncodeManifest(manifest).size() <= 300 + 60);
  manifest.expiry = static_cast<std::int64_t>(manifest.id.time_us / 1'000'000) +
                    30 * 24 * 3600;
  CHECK(EncodeManifest(manifest).size() <= 300 + 64);
}

void CheckCorrupted(const Manifest& manifest, std::string_view what) {
  const Result<Manifest> read = ReadBack(manifest);
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
  CHECK(ReadBack(manifest).has_value());
  manifest.nodes[0] = kMaxMembers;
  CheckCorrupted(manifest, "nodes");
}

TEST_CASE("some of the nodes go round, and no more than there are") {
  Manifest manifest = test::CodedExample();
  for (const std::uint16_t ring : {1, 3, 4}) {
    manifest.ring = ring;
    const Result<Manifest> read = ReadBack(manifest);
    REQUIRE(read.has_value());
    CHECK(read->ring == ring);
  }
  for (const std::uint16_t ring : {0, 5}) {
    manifest.ring = ring;
    CheckCorrupted(manifest, "ring");
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
    const Result<Manifest> is = Decode(was, bytes);
    REQUIRE(is.has_value());
    CHECK(is->scheme == was.scheme);
    CHECK(is->width == width);
    CHECK(is->parity == was.parity);
    for (std::size_t size = 0; size + 4 < bytes.size(); ++size) {
      const std::string part = Sealed(bytes.substr(0, size) + "sum!", was);
      CHECK_FALSE(Decode(was, part).has_value());
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
  for (const int k : {16, 17}) {
    manifest.scheme = {SchemeKind::kRs, k, 16, k};
    CheckCorrupted(manifest, "block count");
  }
  // What 32 bits do count is only a matter of size.
  manifest.scheme = {SchemeKind::kRs, 15, 1, 15};
  manifest.data = GenerationMap(15U << 28, test::kId);
  manifest.parity = GenerationMap(1U << 28, test::kId);
  CHECK(ReadBack(manifest).has_value());
}

TEST_CASE("a manifest remembers itself and eight changes before") {
  Manifest manifest = test::TombstoneExample();
  manifest.history.clear();
  std::vector<ChangeId> before;
  for (std::uint64_t i = 0; i < kHistoryLength; ++i) {
    // In any order: clocks differ.
    before.push_back({100 + 7 * i % 5, (i + 1) << 30});
    manifest.history.push_back(before.back().tag());
  }
  const Result<Manifest> read = ReadBack(manifest);
  REQUIRE(read.has_value());
  CHECK(read->Remembers(manifest.id));
  for (const ChangeId& id : before) CHECK(read->Remembers(id));
  CHECK_FALSE(read->Remembers({100, 1}));
  CHECK_FALSE(read->Remembers({}));
  manifest.history.push_back({1, 1});
  CHECK_FALSE(ReadBack(manifest).has_value());
}

TEST_CASE("a key of 250 bytes fits, whatever its bytes") {
  Manifest manifest = test::InlineExample();
  manifest.key = std::string(250, '\xfe');
  const Result<Manifest> read = ReadBack(manifest);
  REQUIRE(read.has_value());
  CHECK(read->key == manifest.key);
}

}  // namespace
}  // namespace ers::store
