#include "layout/geometry.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <thread>

namespace ers::layout {
namespace {

constexpr SchemeKind kElastic[] = {SchemeKind::kSrs, SchemeKind::kErs1,
                                   SchemeKind::kErs2};
constexpr Width kWidths[] = {Width::kNarrow, Width::kWide};

// The grid, each cell holding its narrow stripe's number.
std::string Grid(SchemeKind kind, int k, int kp) {
  const Geometry geometry({kind, k, 1, kp});
  std::string text;
  for (int row = 0; row < geometry.rows(); ++row) {
    if (row > 0) text += " / ";
    for (int column = 0; column < kp; ++column) {
      const BlockId id = geometry.StripeData(Width::kWide, row)[column];
      if (column > 0) text += " ";
      text += std::to_string(geometry.StripeOf(id, Width::kNarrow));
    }
  }
  return text;
}

TEST_CASE("grids are the ones of the ERS paper") {
  CHECK(Grid(SchemeKind::kErs2, 4, 5) ==
        "0 0 0 0 4 / 4 1 1 1 1 / 2 4 2 2 2 / 3 3 4 3 3");
  CHECK(Grid(SchemeKind::kErs1, 4, 5) ==
        "0 0 0 0 1 / 1 1 1 2 2 / 2 2 3 3 3 / 3 4 4 4 4");
  CHECK(Grid(SchemeKind::kErs1, 2, 3) == "0 0 1 / 1 2 2");
  CHECK(Grid(SchemeKind::kSrs, 2, 3) == "0 2 1 / 1 0 2");
}

TEST_CASE("SRS stripes and columns are those of the ERS paper's figure 1") {
  const Geometry geometry({SchemeKind::kSrs, 2, 1, 3});
  const auto stripe = [&](Width width, int i) {
    const auto data = geometry.StripeData(width, i);
    return std::vector<BlockId>(data.begin(), data.end());
  };
  CHECK(stripe(Width::kNarrow, 0) == std::vector<BlockId>{0, 3});
  CHECK(stripe(Width::kNarrow, 2) == std::vector<BlockId>{2, 5});
  CHECK(stripe(Width::kWide, 0) == std::vector<BlockId>{0, 2, 4});
  // P'_0 = P_0 + D_2 + D_3 + D_4
  auto sum = geometry.Vector(geometry.ParityId(Width::kNarrow, 0, 0));
  for (const BlockId id : {2, 3, 4}) sum[id] ^= 1;
  CHECK(sum == geometry.Vector(geometry.ParityId(Width::kWide, 0, 0)));
}

void CheckDistinctNodes(const Geometry& geometry) {
  for (const Width width : WidthsOf(geometry.scheme())) {
    for (int s = 0; s < geometry.stripe_count(width); ++s) {
      std::vector<char> used(geometry.node_count(), 0);
      for (const BlockId id : geometry.StripeData(width, s)) {
        const int node = geometry.NodeOf(id);
        REQUIRE(node < geometry.scheme().kp);
        REQUIRE(used[node]++ == 0);
        REQUIRE(geometry.StripeOf(id, width) == s);
      }
      for (int p = 0; p < geometry.scheme().m; ++p) {
        REQUIRE(used[geometry.NodeOf(geometry.ParityId(width, s, p))]++ == 0);
      }
    }
  }
}

TEST_CASE("every stripe lies on distinct nodes, 2 <= k < k' <= 48") {
  for (int k = 2; k < 48; ++k) {
    for (int kp = k + 1; kp <= 48; ++kp) {
      for (const SchemeKind kind : kElastic) {
        CAPTURE(static_cast<int>(kind), k, kp);
        CheckDistinctNodes(Geometry({kind, k, 2, kp}));
      }
    }
  }
}

TEST_CASE("data blocks keep their node, and every node holds as many") {
  for (int k = 2; k < 48; ++k) {
    for (int kp = k + 1; kp <= 48; ++kp) {
      for (const SchemeKind kind : kElastic) {
        CAPTURE(static_cast<int>(kind), k, kp);
        const Geometry geometry({kind, k, 1, kp});
        std::vector<int> load(kp, 0);
        for (int b = 0; b < geometry.data_blocks(); ++b) {
          const int node = geometry.NodeOf(b);
          ++load[node];
          REQUIRE(geometry.Info(b, Width::kNarrow).node == node);
          REQUIRE(geometry.Info(b, Width::kWide).node == node);
        }
        for (const int blocks : load) REQUIRE(blocks == geometry.rows());
      }
    }
  }
}

TEST_CASE("ids number data, then parity index by index") {
  const Geometry geometry({SchemeKind::kErs2, 4, 3, 6});  // l = 12
  CHECK(geometry.data_blocks() == 12);
  CHECK(geometry.ParityId(Width::kNarrow, 0, 0) == 12);
  CHECK(geometry.ParityId(Width::kNarrow, 2, 1) == 19);
  CHECK(geometry.ParityId(Width::kWide, 0, 0) == 15);
  CHECK(geometry.ParityId(Width::kWide, 1, 2) == 26);
  CHECK(geometry.ParityRank(19) == 5);
  CHECK(geometry.ParityRank(26) == 5);
  CHECK(geometry.block_id_count() == 27);
  CHECK(geometry.block_id_span() == 12 + 249 * 5);
  CHECK(geometry.stored_blocks(Width::kNarrow) == 21);
  CHECK(geometry.stored_blocks(Width::kWide) == 18);
  const auto narrow = geometry.StoredBlocks(Width::kNarrow);
  const auto wide = geometry.StoredBlocks(Width::kWide);
  CHECK(narrow.size() == 21);
  CHECK(narrow[14] == 14);
  CHECK(narrow[15] == 17);
  CHECK(narrow.back() == 24);
  CHECK(wide.size() == 18);
  CHECK(wide[11] == 11);
  CHECK(wide[12] == 15);
  CHECK(wide.back() == 26);
  for (const Width width : kWidths) {
    for (int s = 0; s < geometry.stripe_count(width); ++s) {
      for (int p = 0; p < 3; ++p) {
        const auto info = geometry.Info(geometry.ParityId(width, s, p), width);
        CHECK(info.kind == BlockKind::kParity);
        CHECK(info.width == width);
        CHECK(info.stripe == s);
        CHECK(info.parity == p);
        CHECK(info.node == 6 + p);
      }
    }
  }
}

TEST_CASE("a chain's blocks go row by row, and every stripe is neighbours") {
  for (const char* text : {"ers:2-3,1", "ers:4-8-16,2", "ers:4-6-12,3",
                           "ers:4-6-8-12,1", "ers:4-5-6-8,2"}) {
    CAPTURE(text);
    const Geometry geometry(ParseScheme(text).value());
    CheckDistinctNodes(geometry);
    for (int b = 0; b < geometry.data_blocks(); ++b) {
      REQUIRE(geometry.NodeOf(b) == b % geometry.scheme().kp);
      for (const Width width : WidthsOf(geometry.scheme())) {
        const int count = StripeDataBlocks(geometry.scheme(), width);
        REQUIRE(geometry.stripe_width(width) == count);
        REQUIRE(geometry.StripeOf(b, width) == b / count);
        REQUIRE(geometry.RankOf(b, width) == b % count);
        REQUIRE(geometry.StripeData(width, b / count)[b % count] ==
                static_cast<BlockId>(b));
      }
    }
  }
}

TEST_CASE("a chain's parity is numbered index by index, width by width") {
  const Scheme scheme = ParseScheme("ers:4-6-8-12,2").value();  // l = 24
  const Geometry geometry(scheme);
  CHECK(geometry.ParityId(Width::kNarrow, 0, 0) == 24);
  CHECK(geometry.ParityId(Width::kSecond, 0, 0) == 30);
  CHECK(geometry.ParityId(Width::kThird, 2, 0) == 36);
  CHECK(geometry.ParityId(Width::kWide, 1, 0) == 38);
  CHECK(geometry.ParityId(Width::kSecond, 3, 1) == 24 + 15 + 6 + 3);
  CHECK(geometry.block_id_count() == 24 + 2 * 15);
  for (const Width width : WidthsOf(scheme)) {
    int rank = 0;
    for (int p = 0; p < 2; ++p) {
      for (int s = 0; s < geometry.stripe_count(width); ++s, ++rank) {
        const BlockId id = geometry.ParityId(width, s, p);
        const BlockInfo info = geometry.Info(id, width);
        CHECK(info.kind == BlockKind::kParity);
        CHECK(info.width == width);
        CHECK(info.stripe == s);
        CHECK(info.parity == p);
        CHECK(info.node == 12 + p);
        CHECK(geometry.ParityRank(id) == rank);
        for (const Width other : WidthsOf(scheme)) {
          CHECK(geometry.IsStored(id, other) == (other == width));
        }
      }
    }
  }
  const Geometry columns(scheme, Unit::kColumns);
  BlockId id = 12;
  for (int p = 0; p < 2; ++p) {
    for (const Width width : WidthsOf(scheme)) {
      CHECK(columns.ParityId(width, 0, p) == id);
      CHECK(columns.cell_count(id) == geometry.stripe_count(width));
      ++id;
    }
  }
  CHECK(columns.block_id_count() == static_cast<int>(id));
}

TEST_CASE("schemes that are not elastic have one stripe and one width") {
  const Geometry rs({SchemeKind::kRs, 4, 2, 4});
  CHECK(rs.data_blocks() == 4);
  CHECK(rs.block_id_count() == 6);
  CHECK(rs.stored_blocks(Width::kNarrow) == 6);
  const Geometry rep({SchemeKind::kRep, 1, 2, 1});
  CHECK(rep.data_blocks() == 1);
  CHECK(rep.block_id_count() == 3);
  for (int copy = 0; copy < 2; ++copy) {
    CHECK(rep.Coefficient(0, Width::kNarrow, copy) == 1);
    CHECK(rep.NodeOf(rep.ParityId(Width::kNarrow, 0, copy)) == 1 + copy);
  }
}

TEST_CASE("ERS coefficients belong to nodes, SRS's to logical columns") {
  for (const SchemeKind kind : kElastic) {
    const Geometry geometry({kind, 4, 3, 6});
    const auto narrow = code::CodingMatrix(4, 3);
    const auto wide = code::CodingMatrix(6, 3);
    for (int b = 0; b < geometry.data_blocks(); ++b) {
      for (int p = 0; p < 3; ++p) {
        const int node = geometry.NodeOf(b);
        const int rank = geometry.RankOf(b, Width::kNarrow);
        CHECK(geometry.Coefficient(b, Width::kWide, p) == wide->at(p, node));
        CHECK(geometry.Coefficient(b, Width::kNarrow, p) ==
              (kind == SchemeKind::kSrs ? narrow->at(p, rank)
                                        : wide->at(p, node)));
      }
    }
  }
}

TEST_CASE("what two schemes have in common does not depend on m") {
  for (const SchemeKind kind :
       {SchemeKind::kRep, SchemeKind::kRs, SchemeKind::kSrs, SchemeKind::kErs1,
        SchemeKind::kErs2}) {
    const bool elastic = kind >= SchemeKind::kSrs;
    const int k = kind == SchemeKind::kRep ? 1 : 4;
    const Geometry more({kind, k, 5, elastic ? 6 : k});
    for (int m = 1; m < 5; ++m) {
      CAPTURE(static_cast<int>(kind), m);
      const Geometry less({kind, k, m, elastic ? 6 : k});
      CHECK(SameButParity(less.scheme(), more.scheme()));
      CHECK(less.block_id_span() == more.block_id_span());
      CHECK_FALSE(less.Has(static_cast<BlockId>(less.block_id_count())));
      for (int at = 0; at < less.block_id_count(); ++at) {
        const auto id = static_cast<BlockId>(at);
        REQUIRE(less.Has(id));
        REQUIRE(less.NodeOf(id) == more.NodeOf(id));
        REQUIRE(less.Vector(id) == more.Vector(id));
      }
    }
  }
  const Scheme chain{SchemeKind::kChain, 4, 1, 12, {6}};
  CHECK(SameButParity(chain, {SchemeKind::kChain, 4, 3, 12, {6}}));
  CHECK_FALSE(SameButParity(chain, {SchemeKind::kChain, 4, 1, 12, {8}}));
  CHECK_FALSE(SameButParity({SchemeKind::kErs2, 4, 1, 5},
                            {SchemeKind::kErs1, 4, 1, 5}));
  CHECK_FALSE(SameButParity({SchemeKind::kErs2, 4, 1, 5},
                            {SchemeKind::kErs2, 4, 1, 6}));
}

TEST_CASE("a grid larger than any stored one can be made") {
  CheckDistinctNodes(Geometry({SchemeKind::kErs2, 127, 1, 254}));
  CheckDistinctNodes(Geometry({SchemeKind::kErs2, 100, 1, 201}));
}

TEST_CASE("threads share one geometry per scheme") {
  std::vector<std::shared_ptr<const Geometry>> results(8);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&result] {
      // More schemes than are kept, so that the cache starts afresh too.
      for (int kp = 3; kp < 120; ++kp) {
        GetGeometry({SchemeKind::kErs2, 2, 1, kp});
      }
      result = GetGeometry({SchemeKind::kErs1, 4, 2, 5});
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) {
    CHECK(result->scheme() == Scheme{SchemeKind::kErs1, 4, 2, 5});
  }
  const Scheme scheme{SchemeKind::kErs2, 4, 1, 5};
  CHECK(GetGeometry(scheme) == GetGeometry(scheme));
}

}  // namespace
}  // namespace ers::layout
