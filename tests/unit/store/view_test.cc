#include "store/view.h"

#include <catch2/catch.hpp>
#include <string>

#include "store/cluster_state.h"
#include "unit/store/golden.h"

namespace ers::store {
namespace {

TEST_CASE("a view record is the text that docs/format.md shows") {
  CHECK(EncodeView(test::ViewExample()) == test::kViewText);
  const Result<View> read = DecodeView(test::kViewText);
  REQUIRE(read.has_value());
  CHECK(read->epoch == 3);
  CHECK(read->max_parity == 1);
  CHECK(read->flushed_before == 0);
  REQUIRE(read->members.size() == 2);
  CHECK(read->members[1].name == "10.0.0.2:11211");
  CHECK(read->members[1].weight == 2);
  CHECK(read->members[1].incarnation == 1700000000000000);
  CHECK(read->members[1].state == MemberState::kDown);
  CHECK(read->members[0].state == MemberState::kFull);
  CHECK(read->members[1].boot_mark == "56/78/cd");
  CHECK(read->members[1].since == 1700000100);
  CHECK(read->NotFull() == 1);
  CHECK(read->Quorum() == 1);
}

TEST_CASE("no part of a view record passes for one") {
  for (std::size_t size = 0; size < test::kViewText.size(); ++size) {
    CAPTURE(size);
    const Result<View> part = DecodeView(test::kViewText.substr(0, size));
    REQUIRE_FALSE(part.has_value());
    CHECK(part.error().code() == StatusCode::kNotManaged);
  }
}

TEST_CASE("no changed byte of a view record goes unseen") {
  for (std::size_t at = 0; at < test::kViewText.size(); ++at) {
    for (int flip = 1; flip < 256; ++flip) {
      std::string bad(test::kViewText);
      bad[at] = static_cast<char>(bad[at] ^ flip);
      const Result<View> read = DecodeView(bad);
      CAPTURE(at, flip, bad);
      REQUIRE_FALSE(read.has_value());
      const StatusCode code = read.error().code();
      REQUIRE((code == StatusCode::kCorruption ||
               code == StatusCode::kNotManaged ||
               code == StatusCode::kUnsupportedFormat));
    }
  }
}

TEST_CASE("a view of a newer format is told apart from a broken one") {
  const Result<View> newer =
      DecodeView(R"({"format":2,"crc32c":0,"unheard":[1]})");
  REQUIRE_FALSE(newer.has_value());
  CHECK(newer.error().code() == StatusCode::kUnsupportedFormat);
}

TEST_CASE("a view that makes no sense is corrupted, its checksum or not") {
  const auto code = [](const View& view) {
    const Result<View> read = DecodeView(EncodeView(view));
    return read ? StatusCode::kOk : read.error().code();
  };
  View view = test::ViewExample();
  CHECK(code(view) == StatusCode::kOk);
  view.epoch = 0;
  CHECK(code(view) == StatusCode::kCorruption);
  view = test::ViewExample();
  view.members.clear();
  CHECK(code(view) == StatusCode::kCorruption);
  view = test::ViewExample();
  view.max_parity = 2;
  CHECK(code(view) == StatusCode::kCorruption);
  view.max_parity = 0;
  CHECK(code(view) == StatusCode::kCorruption);
}

std::shared_ptr<ClusterState> FiveServers() {
  ClusterOptions options;
  options.servers = "a:1,b:1,c:1,d:1,e:1";
  return *OpenClusterState(std::move(options));
}

View FiveFull(int max_parity) {
  View view;
  view.epoch = 1;
  view.max_parity = max_parity;
  view.members.resize(5);
  return view;
}

TEST_CASE("the homes are the first M+1 of the walk, the last one the judge") {
  const auto cluster = FiveServers();
  const View view = FiveFull(2);
  const Homes homes = HomesOf(view, cluster->ring, "movie");
  CHECK(homes.members == cluster->ring.Walk("movie", 3));
  CHECK(homes.judge() == homes.members[2]);
  CHECK(homes.judge_is_full);
}

TEST_CASE("down homes are left out and none takes their place") {
  const auto cluster = FiveServers();
  const std::vector<int> walk = cluster->ring.Walk("movie", 3);
  for (int down = 0; down < 8; ++down) {
    CAPTURE(down);
    View view = FiveFull(2);
    std::vector<int> left;
    for (int i = 0; i < 3; ++i) {
      if (((down >> i) & 1) != 0) {
        view.members[walk[i]].state = MemberState::kDown;
      } else {
        left.push_back(walk[i]);
      }
    }
    const Homes homes = HomesOf(view, cluster->ring, "movie");
    CHECK(homes.members == left);
    CHECK(homes.judge_is_full == !left.empty());
  }
}

TEST_CASE("homes that returned come first, the latest before all") {
  const auto cluster = FiveServers();
  const std::vector<int> walk = cluster->ring.Walk("movie", 3);
  View view = FiveFull(2);
  view.members[walk[2]].joined = 7;
  view.members[walk[1]].joined = 4;
  CHECK(HomesOf(view, cluster->ring, "movie").members ==
        std::vector<int>{walk[2], walk[1], walk[0]});
  view.members[walk[1]].joined = 0;
  CHECK(HomesOf(view, cluster->ring, "movie").members ==
        std::vector<int>{walk[2], walk[0], walk[1]});
}

TEST_CASE("a judge that is being filled may not decide") {
  const auto cluster = FiveServers();
  const std::vector<int> walk = cluster->ring.Walk("movie", 2);
  View view = FiveFull(1);
  view.members[walk[0]].state = MemberState::kFilling;
  view.members[walk[0]].joined = 2;
  CHECK(HomesOf(view, cluster->ring, "movie").judge_is_full);
  view.members[walk[1]].state = MemberState::kDown;
  CHECK_FALSE(HomesOf(view, cluster->ring, "movie").judge_is_full);
}

std::string OptionError(const ClusterOptions& options) {
  const auto state = OpenClusterState(options);
  if (state) return "opened";
  CHECK(state.error().code() == StatusCode::kInvalidArgument);
  return state.error().message();
}

TEST_CASE("cluster options that cannot work name themselves") {
  using Catch::Contains;
  ClusterOptions good;
  good.servers = "b:2,a:1:3,/run/x";
  REQUIRE(OptionError(good) == "opened");
  const auto state = *OpenClusterState(good);
  REQUIRE(state->endpoints.size() == 3);
  CHECK(state->endpoints[0].name() == "/run/x");
  CHECK(state->endpoints[1].name() == "a:1");
  CHECK(state->endpoints[2].name() == "b:2");

  ClusterOptions bad = good;
  bad.servers = "";
  CHECK_THAT(OptionError(bad), Contains("servers is empty"));
  bad.servers = "a:1,a:1";
  CHECK_THAT(OptionError(bad), Contains("twice"));
  // The view record could not hold this name.
  bad.servers = "/run/\xff\xfe";
  CHECK_THAT(OptionError(bad), Contains("UTF-8"));
  good.servers += ",/run/schl\xc3\xbcssel";
  CHECK(OptionError(good) == "opened");
  good.servers = "b:2,a:1:3,/run/x";
  for (const int parity : {-1, 3, 4}) {
    bad = good;
    bad.max_parity = parity;
    CHECK_THAT(OptionError(bad), Contains("max_parity is"));
  }
  using Timeout = std::chrono::milliseconds ClusterOptions::*;
  const std::pair<const char*, Timeout> timeouts[] = {
      {"connect_timeout", &ClusterOptions::connect_timeout},
      {"request_timeout", &ClusterOptions::request_timeout},
      {"operation_timeout", &ClusterOptions::operation_timeout}};
  for (const auto& [name, field] : timeouts) {
    for (const int value : {0, -1}) {
      bad = good;
      bad.*field = std::chrono::milliseconds(value);
      CHECK_THAT(OptionError(bad), Contains(name));
    }
  }
  bad = good;
  bad.servers.clear();
  for (int port = 1; port <= kMaxMembers + 1; ++port) {
    bad.servers += (port == 1 ? "a:" : ",a:") + std::to_string(port);
  }
  CHECK_THAT(OptionError(bad), Contains("1025 servers"));
}

}  // namespace
}  // namespace ers::store
