#include "ers/scheme.h"

#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

namespace ers {
namespace {

std::string ErrorOf(std::string_view text) {
  const auto scheme = ParseScheme(text);
  if (scheme) return "parsed";
  CHECK(scheme.error().code() == StatusCode::kInvalidArgument);
  return scheme.error().message();
}

TEST_CASE("every form of scheme is parsed and printed back") {
  const struct {
    const char* text;
    Scheme scheme;
  } cases[] = {
      {"rep:2", {SchemeKind::kRep, 1, 1, 1}},
      {"rep:255", {SchemeKind::kRep, 1, 254, 1}},
      {"rs:4,2", {SchemeKind::kRs, 4, 2, 4}},
      {"rs:254,1", {SchemeKind::kRs, 254, 1, 254}},
      {"srs:2,1,3", {SchemeKind::kSrs, 2, 1, 3}},
      {"ers1:4,3,5", {SchemeKind::kErs1, 4, 3, 5}},
      {"ers2:12,3,14", {SchemeKind::kErs2, 12, 3, 14}},
      {"ers2:2,250,5", {SchemeKind::kErs2, 2, 250, 5}},
      {"ers:4-6,2", {SchemeKind::kChain, 4, 2, 6}},
      {"ers:4-6-12,1", {SchemeKind::kChain, 4, 1, 12, {6}}},
      {"ers:4-6-8-12,3", {SchemeKind::kChain, 4, 3, 12, {6, 8}}},
  };
  for (const auto& entry : cases) {
    CAPTURE(entry.text);
    const auto scheme = ParseScheme(entry.text);
    REQUIRE(scheme.has_value());
    CHECK(*scheme == entry.scheme);
    CHECK(FormatScheme(*scheme) == entry.text);
  }
}

TEST_CASE("text that is no scheme is refused with the forms allowed") {
  for (const char* text : {"",
                           ":",
                           "ers2",
                           "ers2:",
                           "ers2:4,1",
                           "ers2:4,1,5,6",
                           "ers3:4,1,5",
                           "ers2:4,1,5 ",
                           " ers2:4,1,5",
                           "ers2:4, 1,5",
                           "ers2:04,1,5",
                           "ers2:+4,1,5",
                           "ers2:4,1,5,",
                           "ers2:,1,5",
                           "ERS2:4,1,5",
                           "rep:",
                           "rep:2,3",
                           "rep:02",
                           "rep:-1",
                           "rep:-2147483648",
                           "rs:4",
                           "rs:4,2,6",
                           "rs:4,2147483648",
                           "ers2:4;1;5",
                           "ers2:0x4,1,5",
                           "ers:",
                           "ers:4-6-12",
                           "ers:4-6-12,",
                           "ers:4-6-12,1,2",
                           "ers:4,6,12,1",
                           "ers:4--12,1",
                           "ers:-4-6,1",
                           "ers:4-06-12,1",
                           "ers:4-6-12,01",
                           "ers2:4-6-12,1",
                           "ers2:4-5,1"}) {
    CAPTURE(text);
    std::string expected("'");
    expected += text;
    expected +=
        "' is no scheme; write rep:COPIES, rs:K,M, srs:K,M,KP, ers1:K,M,KP, "
        "ers2:K,M,KP or ers:K1-K2-..,M, with plain decimal numbers and no "
        "spaces";
    CHECK(ErrorOf(text) == expected);
  }
}

TEST_CASE("an impossible scheme is refused with the rule it breaks") {
  CHECK(ErrorOf("rep:0") == "scheme rep:0: COPIES must be at least 2");
  CHECK(ErrorOf("rep:1") == "scheme rep:1: COPIES must be at least 2");
  CHECK(ErrorOf("rep:256") == "scheme rep:256: COPIES must be at most 255");
  CHECK(ErrorOf("rs:1,2") ==
        "scheme rs:1,2: K is 1, but must be at least 2 "
        "(for whole copies use rep:COPIES)");
  CHECK(ErrorOf("rs:4,0") == "scheme rs:4,0: M is 0, but must be at least 1");
  CHECK(ErrorOf("rs:250,6") ==
        "scheme rs:250,6: K + M is 256, but must be at most 255");
  CHECK(ErrorOf("ers2:5,1,5") ==
        "scheme ers2:5,1,5: KP is 5, but must be larger than K, which is 5");
  CHECK(ErrorOf("srs:6,1,5") ==
        "scheme srs:6,1,5: KP is 5, but must be larger than K, which is 6");
  CHECK(ErrorOf("ers1:4,0,5") ==
        "scheme ers1:4,0,5: M is 0, but must be at least 1");
  CHECK(ErrorOf("ers1:4,-1,5") ==
        "scheme ers1:4,-1,5: M is -1, but must be at least 1");
  CHECK(ErrorOf("ers2:2,1,255") ==
        "scheme ers2:2,1,255: KP + M is 256, but must be at most 255");
  CHECK(ErrorOf("ers2:2,2147483647,2147483647") ==
        "scheme ers2:2,2147483647,2147483647: KP + M is 4294967294, but must "
        "be at most 255");
}

TEST_CASE("an impossible chain is refused with the rule it breaks") {
  CHECK(ErrorOf("ers:4,1") == "scheme ers:4,1: a chain has 2 to 4 widths");
  CHECK(ErrorOf("ers:2-3-4-5-6,1") ==
        "scheme ers:2-3-4-5-6,1: a chain has 2 to 4 widths");
  CHECK(ErrorOf("ers:6-4,1") == "scheme ers:6-4,1: the widths must ascend");
  CHECK(ErrorOf("ers:4-4,1") == "scheme ers:4-4,1: the widths must ascend");
  for (const char* text : {"ers:4-4-8,1", "ers:4-0-8,1", "ers:4-6-6-12,1",
                           "ers:4-8-6-12,1", "ers:4-256-300,1"}) {
    CAPTURE(text);
    CHECK(ErrorOf(text) == std::string("scheme ") + text +
                               ": the widths must ascend, up to 254");
  }
  CHECK(ErrorOf("ers:4-8-8,1") == "scheme ers:4-8-8,1: the widths must ascend");
  CHECK(ErrorOf("ers:1-2,1") ==
        "scheme ers:1-2,1: K is 1, but must be at least 2 "
        "(for whole copies use rep:COPIES)");
  CHECK(ErrorOf("ers:4-8,0") ==
        "scheme ers:4-8,0: M is 0, but must be at least 1");
  CHECK(ErrorOf("ers:4-128-254,2") ==
        "scheme ers:4-128-254,2: the last width + M is 256, but must be at "
        "most 255");
  CHECK(ErrorOf("ers:5-7-8-9,1") ==
        "scheme ers:5-7-8-9,1: a group has the least common multiple of the "
        "widths, 2520, as data blocks, but 1024 is the most there can be; "
        "choose widths with larger common factors");
  // Their least common multiple is more than an int holds.
  CHECK_FALSE(
      ValidateScheme({SchemeKind::kChain, 247, 1, 253, {249, 251}}).ok());
}

TEST_CASE("schemes that no text can say are refused too") {
  CHECK_FALSE(ValidateScheme({SchemeKind::kErs2, 4, 1, 8, {6}}).ok());
  CHECK_FALSE(ValidateScheme({SchemeKind::kRs, 4, 1, 4, {6}}).ok());
  CHECK_FALSE(ValidateScheme({SchemeKind::kRep, 1, 1, 1, {1}}).ok());
  CHECK_FALSE(ValidateScheme({SchemeKind::kChain, 4, 1, 12, {0, 6}}).ok());
  CHECK_FALSE(ValidateScheme({SchemeKind::kChain, 4, 1, 12, {6, 6}}).ok());
  CHECK_FALSE(ValidateScheme({SchemeKind::kChain, 4, 1, 12, {12}}).ok());
  CHECK(ValidateScheme({SchemeKind::kRs, 4, 2, 5}).message() ==
        "scheme rs:4,2: Reed-Solomon without transitions has k' = k");
  CHECK(ValidateScheme({SchemeKind::kRep, 2, 2, 2}).message() ==
        "scheme rep:3: replication has k = k' = 1");
  CHECK(ValidateScheme({static_cast<SchemeKind>(9), 2, 2, 3}).message() ==
        "scheme kind 9 is unknown; use rep:COPIES, rs:K,M, srs:K,M,KP, "
        "ers1:K,M,KP, ers2:K,M,KP or ers:K1-K2-..,M");
  constexpr int kMin = std::numeric_limits<int>::min();
  constexpr int kMax = std::numeric_limits<int>::max();
  CHECK_FALSE(ValidateScheme({SchemeKind::kErs2, kMin, kMax, kMax}).ok());
  CHECK_FALSE(ValidateScheme({SchemeKind::kErs2, 2, kMax, kMax}).ok());
  CHECK_FALSE(ValidateScheme({SchemeKind::kRep, 1, kMax, 1}).ok());
}

TEST_CASE("only groups of up to 1,024 blocks are stored") {
  const Scheme at{SchemeKind::kErs2, 32, 1, 64};
  CHECK(ValidateStoredScheme(at).ok());
  const Scheme largest{SchemeKind::kErs1, 31, 2, 33};  // 1,023 blocks
  CHECK(ValidateStoredScheme(largest).ok());
  const Scheme past{SchemeKind::kErs2, 25, 1, 41};  // 1,025 blocks
  CHECK(ValidateScheme(past).ok());
  CHECK(ValidateStoredScheme(past).message() ==
        "scheme ers2:25,1,41: a group has lcm(K, KP) = 1025 data blocks, but "
        "at most 1024 can be stored; choose K and KP with a larger common "
        "factor");
  CHECK(ValidateStoredScheme({SchemeKind::kErs2, 5, 1, 4}).message() ==
        "scheme ers2:5,1,4: KP is 4, but must be larger than K, which is 5");
}

using Widths = std::vector<Width>;

TEST_CASE("widths ascend, and are named by word or by number") {
  const Scheme rs{SchemeKind::kRs, 4, 1, 4};
  CHECK(WidthsOf(rs) == Widths{Width::kNarrow});
  CHECK(HasWidth(rs, Width::kNarrow));
  CHECK_FALSE(HasWidth(rs, Width::kWide));
  CHECK(WidthNamed(rs, "narrow") == Width::kNarrow);
  CHECK_FALSE(WidthNamed(rs, "wide").has_value());

  const Scheme two{SchemeKind::kErs2, 4, 1, 5};
  CHECK(WidthsOf(two) == Widths{Width::kNarrow, Width::kWide});
  CHECK(WidthName(two, Width::kNarrow) == "narrow");
  CHECK(WidthName(two, Width::kWide) == "wide");
  CHECK(WidthNamed(two, "4") == Width::kNarrow);
  CHECK(WidthNamed(two, "5") == Width::kWide);
  CHECK_FALSE(HasWidth(two, Width::kSecond));

  const Scheme four{SchemeKind::kChain, 4, 1, 12, {6, 8}};
  CHECK(WidthsOf(four) ==
        Widths{Width::kNarrow, Width::kSecond, Width::kThird, Width::kWide});
  int blocks = 0;
  for (const Width width : WidthsOf(four)) {
    CHECK(blocks < StripeDataBlocks(four, width));
    blocks = StripeDataBlocks(four, width);
    CHECK(WidthName(four, width) == std::to_string(blocks));
    CHECK(WidthNamed(four, std::to_string(blocks)) == width);
  }
  CHECK(blocks == 12);
  CHECK(WidthNamed(four, "narrow") == Width::kNarrow);
  CHECK(WidthNamed(four, "wide") == Width::kWide);
  for (const char* none : {"", "5", "04", "4 ", "middle", "Wide"}) {
    CHECK_FALSE(WidthNamed(four, none).has_value());
  }
  CHECK_FALSE(HasWidth({SchemeKind::kChain, 4, 1, 12, {6}}, Width::kThird));
}

TEST_CASE("group size and node count follow from the scheme") {
  CHECK(GroupDataBlocks({SchemeKind::kChain, 4, 1, 12, {6, 8}}) == 24);
  CHECK(NodeCount({SchemeKind::kChain, 4, 1, 12, {6, 8}}) == 13);
  CHECK(GroupDataBlocks({SchemeKind::kErs2, 4, 3, 6}) == 12);
  CHECK(NodeCount({SchemeKind::kErs2, 4, 3, 6}) == 9);
  CHECK(GroupDataBlocks({SchemeKind::kRs, 4, 3, 4}) == 4);
  CHECK(GroupDataBlocks({SchemeKind::kRep, 1, 2, 1}) == 1);
  CHECK(NodeCount({SchemeKind::kRep, 1, 2, 1}) == 3);
}

}  // namespace
}  // namespace ers
