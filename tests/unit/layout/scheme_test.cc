#include "ers/scheme.h"

#include <catch2/catch.hpp>
#include <limits>
#include <string>

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
                           "ers2:0x4,1,5"}) {
    CAPTURE(text);
    std::string expected("'");
    expected += text;
    expected +=
        "' is no scheme; write rep:COPIES, rs:K,M, srs:K,M,KP, ers1:K,M,KP or "
        "ers2:K,M,KP, with plain decimal numbers and no spaces";
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

TEST_CASE("schemes that no text can say are refused too") {
  CHECK(ValidateScheme({SchemeKind::kRs, 4, 2, 5}).message() ==
        "scheme rs:4,2: Reed-Solomon without transitions has k' = k");
  CHECK(ValidateScheme({SchemeKind::kRep, 2, 2, 2}).message() ==
        "scheme rep:3: replication has k = k' = 1");
  CHECK(ValidateScheme({static_cast<SchemeKind>(9), 2, 2, 3}).message() ==
        "scheme kind 9 is unknown; use rep:COPIES, rs:K,M, srs:K,M,KP, "
        "ers1:K,M,KP or ers2:K,M,KP");
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

TEST_CASE("group size and node count follow from the scheme") {
  CHECK(GroupDataBlocks({SchemeKind::kErs2, 4, 3, 6}) == 12);
  CHECK(NodeCount({SchemeKind::kErs2, 4, 3, 6}) == 9);
  CHECK(GroupDataBlocks({SchemeKind::kRs, 4, 3, 4}) == 4);
  CHECK(GroupDataBlocks({SchemeKind::kRep, 1, 2, 1}) == 1);
  CHECK(NodeCount({SchemeKind::kRep, 1, 2, 1}) == 3);
  CHECK(WidthName(Width::kNarrow) == "narrow");
  CHECK(WidthName(Width::kWide) == "wide");
}

}  // namespace
}  // namespace ers
