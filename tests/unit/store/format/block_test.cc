#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "store/format/block_header.h"
#include "store/format/object_map.h"
#include "unit/store/format/golden.h"

namespace ers::store {
namespace {

const BlockHeader kExpected{test::kId, 12};

std::string Text(const BlockHeaderBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

BlockHeaderBytes Bytes(const std::string& text) {
  BlockHeaderBytes bytes;
  std::copy_n(reinterpret_cast<const std::byte*>(text.data()), bytes.size(),
              bytes.begin());
  return bytes;
}

bool Verify(const std::string& header, const std::string& payload,
            const BlockHeader& expected = kExpected) {
  return VerifyBlock(expected, Bytes(header),
                     reinterpret_cast<const std::byte*>(payload.data()),
                     payload.size());
}

TEST_CASE(
    "a block's header has the bytes that docs/reference/format.md shows") {
  const std::string payload = "stored";
  const BlockHeaderBytes bytes = EncodeBlockHeader(
      kExpected, reinterpret_cast<const std::byte*>(payload.data()),
      payload.size());
  CHECK(test::ToHex(Text(bytes)) == test::kBlockHex);
  CHECK(Verify(test::FromHex(test::kBlockHex), payload));
}

TEST_CASE("no changed byte of a block goes unseen") {
  const std::string header = test::FromHex(test::kBlockHex);
  const std::string payload = "stored";
  for (int flip = 1; flip < 256; ++flip) {
    CAPTURE(flip);
    for (std::size_t at = 0; at < header.size(); ++at) {
      std::string bad = header;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      REQUIRE_FALSE(Verify(bad, payload));
    }
    for (std::size_t at = 0; at < payload.size(); ++at) {
      std::string bad = payload;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      REQUIRE_FALSE(Verify(header, bad));
    }
  }
  CHECK_FALSE(Verify(header, "store"));
  CHECK_FALSE(Verify(header, payload, {test::kId, 13}));
  CHECK_FALSE(Verify(header, payload, {test::kOldId, 12}));
}

// ers2:2,1,3: 6 data blocks (0-5), 3 narrow parities (6-8), 2 wide ones (9-10).
TEST_CASE("blocks are found where docs/reference/format.md says") {
  Manifest manifest = test::CodedExample();
  manifest.group_bytes = 40;
  manifest.length = 90;  // groups of 40, 40 and 10 bytes
  manifest.nodes = {7, 5, 3, 1, 0};
  manifest.ring = 5;
  manifest.data = GenerationMap(18, test::kOldId);
  manifest.parity = GenerationMap(6, test::kId);
  SetGeneration(*layout::GetGeometry(manifest.scheme), 1, 4, {1, 2}, manifest);
  SetGeneration(*layout::GetGeometry(manifest.scheme), 2, 10, {3, 4}, manifest);
  CHECK(manifest.data.at(6 + 4) == ChangeId{1, 2});
  CHECK(manifest.parity.at(2 * 2 + 1) == ChangeId{3, 4});

  const ObjectMap map(std::make_shared<const Manifest>(manifest));
  CHECK(map.groups() == 3);
  CHECK(map.GroupOffset(2) == 80);
  CHECK(map.GroupLength(1) == 40);
  CHECK(map.GroupLength(2) == 10);
  CHECK(map.DataBytes(0) == 7);  // 40 / 6, rounded up
  CHECK(map.BlockBytes(2, 10) == 2);
  CHECK(map.Number(0, 10) == 10);
  // B = 6 + (255 - 3) (3 + 2): the ids of the largest m.
  CHECK(map.Number(2, 3) == 2 * 1266 + 3);
  for (int group = 0; group < map.groups(); ++group) {
    for (const layout::BlockId block :
         map.geometry().StoredBlocks(Width::kWide)) {
      const int node = map.geometry().NodeOf(block);
      CHECK(map.MemberOf(group, block) == manifest.nodes[(group + node) % 5]);
    }
  }
  CHECK(map.GenerationOf(1, 4) == ChangeId{1, 2});
  CHECK(map.GenerationOf(1, 5) == test::kOldId);
  CHECK(map.GenerationOf(2, 10) == ChangeId{3, 4});
  CHECK(map.KeyOf(2, 10) ==
        BlockKey(HashKey("movie"), ChangeId{3, 4}, 2 * 1266 + 10));
}

// Three data columns of two cells; parity columns of three cells and of two.
TEST_CASE("columns are found where docs/reference/format.md says") {
  Manifest manifest = test::ColumnsExample();
  manifest.group_bytes = 40;
  manifest.length = 90;
  manifest.nodes = {7, 5, 3, 1};
  manifest.ring = 4;
  manifest.data = GenerationMap(9, test::kOldId);
  manifest.parity = GenerationMap(3, test::kId);
  for (const Width width : {Width::kNarrow, Width::kWide}) {
    manifest.width = width;
    const ObjectMap map(std::make_shared<const Manifest>(manifest));
    const bool wide = width == Width::kWide;
    const layout::BlockId parity = wide ? 4 : 3;
    CHECK(map.geometry().StoredBlocks(width) ==
          std::vector<layout::BlockId>{0, 1, 2, parity});
    CHECK(map.CellBytes(0) == 7);  // 40 / 6, rounded up
    CHECK(map.DataBytes(0) == 14);
    CHECK(map.BlockBytes(0, parity) == (wide ? 14 : 21));
    CHECK(map.BlockBytes(2, parity) == (wide ? 4 : 6));
    // B = 3 + (255 - 3) * 2.
    CHECK(map.Number(2, parity) == 2 * 507 + parity);
    CHECK(map.PlaceOf(2 * 507 + parity)->block == parity);
    CHECK_FALSE(map.PlaceOf(2 * 507 + (wide ? 3 : 4)));
    CHECK(map.MemberOf(1, parity) == manifest.nodes[(1 + 3) % 4]);
    CHECK(map.GenerationOf(1, parity) == test::kId);
    CHECK(map.GenerationOf(1, 2) == test::kOldId);
  }
}

TEST_CASE("blocks and columns of one number are not the same") {
  Manifest manifest = test::CodedExample();
  const ObjectMap blocks(std::make_shared<const Manifest>(manifest));
  CHECK(Names(blocks, blocks, 0, 0));
  manifest = test::ColumnsExample();
  const ObjectMap columns(std::make_shared<const Manifest>(manifest));
  CHECK(Names(columns, columns, 0, 0));
  CHECK_FALSE(Names(columns, blocks, 0, 0));
  CHECK_FALSE(Names(blocks, columns, 0, 0));
}

TEST_CASE("nodes behind the ring stay where they are") {
  Manifest manifest = test::CodedExample();
  manifest.group_bytes = 40;
  manifest.length = 120;
  manifest.scheme.m = 3;
  manifest.nodes = {7, 5, 3, 1, 0, 2};
  manifest.ring = 4;
  manifest.data = GenerationMap(18, test::kOldId);
  manifest.parity = GenerationMap(18, test::kId);
  const ObjectMap map(std::make_shared<const Manifest>(manifest));
  for (int group = 0; group < 3; ++group) {
    for (int node = 0; node < 4; ++node) {
      CHECK(map.MemberAt(group, node) == manifest.nodes[(group + node) % 4]);
    }
    CHECK(map.MemberAt(group, 4) == 0);
    CHECK(map.MemberAt(group, 5) == 2);
    CHECK(map.MemberOf(group, map.geometry().ParityId(Width::kWide, 1, 2)) ==
          2);
  }
}

}  // namespace
}  // namespace ers::store
