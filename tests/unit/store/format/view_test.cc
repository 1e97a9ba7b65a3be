#include "store/format/view.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "sanitized.h"
#include "store/format/record.h"
#include "store/membership/cluster_state.h"
#include "unit/store/format/golden.h"

namespace ers::store {
namespace {

TEST_CASE("a view record is the text that docs/reference/format.md shows") {
  CHECK(EncodeView(test::ViewExample()) == test::kViewText);
  const Result<View> read = DecodeView(test::kViewText);
  REQUIRE(read.has_value());
  CHECK(read->epoch == 3);
  CHECK(read->max_failures == 1);
  CHECK(read->flushed_before == 0);
  REQUIRE(read->members.size() == 2);
  CHECK(read->members[1].name == "10.0.0.2:11211");
  CHECK(read->members[1].weight == 2);
  CHECK(read->members[1].incarnation == 1700000000000000);
  CHECK(read->members[1].state == MemberState::kDown);
  CHECK(read->members[0].state == MemberState::kInSync);
  CHECK(read->members[1].boot_mark == "56/78/cd");
  CHECK(read->members[1].since == 1700000100);
  CHECK(read->NotInSync() == 1);
  CHECK(read->Quorum() == 1);
}

TEST_CASE("a view names a server that was replaced, and the one before") {
  View view = test::ViewExample();
  view.members[1].address = "10.0.0.9:11211";
  CHECK(EncodeView(view) == test::kReplacedViewText);
  const Result<View> read = DecodeView(test::kReplacedViewText);
  REQUIRE(read.has_value());
  CHECK(read->members[0].server() == "10.0.0.1:11211");
  CHECK(read->members[1].name == "10.0.0.2:11211");
  CHECK(read->members[1].server() == "10.0.0.9:11211");
  // Back at its own place.
  view.members[1].previous = std::exchange(view.members[1].address, "");
  const Result<View> back = DecodeView(EncodeView(view));
  REQUIRE(back.has_value());
  CHECK(back->members[1].server() == "10.0.0.2:11211");
  CHECK(back->members[1].previous == "10.0.0.9:11211");
}

TEST_CASE("a view names the members that were taken in empty") {
  View view = test::ViewExample();
  view.members[0].lacking = true;
  CHECK_FALSE(view.AllInSync());
  CHECK(view.members[0].shown_state() == MemberState::kBackfilling);
  CHECK(view.NotInSync() == 1);  // the other, which is down
  const std::string text = EncodeView(view);
  const Result<View> read = DecodeView(text);
  REQUIRE(read.has_value());
  CHECK(read->members[0].lacking);
  CHECK_FALSE(read->members[1].lacking);
  // A member that is not in sync lacks everything.
  view.members[1].lacking = true;
  const Result<View> odd = DecodeView(EncodeView(view));
  REQUIRE_FALSE(odd.has_value());
  CHECK(odd.error().code() == StatusCode::kCorruption);
}

TEST_CASE("a view keeps a placement of its own, in a format of its own") {
  View view = test::ViewExample();
  CHECK(EncodeView(view).find("\"format\":6") != std::string::npos);
  view.placement = *net::ParsePlacement("modula", "fnv1a_64", "{}");
  view.members[0].position = 1;
  view.members[1].label = "old-name";
  const std::string text = EncodeView(view);
  CHECK(text == test::kPlacedViewText);
  const Result<View> read = DecodeView(text);
  REQUIRE(read.has_value());
  CHECK(read->placement == view.placement);
  CHECK(read->members[0].position == 1);
  CHECK(read->members[1].position == 0);
  CHECK(read->members[1].label == "old-name");

  View labelled = test::ViewExample();
  labelled.members[0].label = "x";
  labelled.members[1].position = 1;
  REQUIRE(DecodeView(EncodeView(labelled)).has_value());
  CHECK(DecodeView(EncodeView(labelled))->members[0].label == "x");
  CHECK(DecodeView(EncodeView(labelled))->placement == net::Placement());
  // Two servers at one place, and a label that is no word.
  labelled.members[1].position = 0;
  CHECK_FALSE(DecodeView(EncodeView(labelled)).has_value());
  labelled.members[1].position = 1;
  labelled.members[0].label = "a b";
  CHECK_FALSE(DecodeView(EncodeView(labelled)).has_value());
}

TEST_CASE("no flush takes another one back, in effect or to come") {
  View view = test::ViewExample();
  CHECK(view.Flush(1000, 2000).ok());
  CHECK(view.IsFlushed({999, 1}, 2000));
  CHECK_FALSE(view.IsFlushed({1000, 1}, 2000));
  // One of an earlier time takes nothing back.
  CHECK(view.Flush(500, 2000).ok());
  CHECK(view.IsFlushed({999, 1}, 2000));
  CHECK(view.Flush(3000, 2000).ok());
  CHECK(view.IsFlushed({999, 1}, 2000));
  CHECK_FALSE(view.IsFlushed({1000, 1}, 2999));
  CHECK(view.IsFlushed({2999, 1}, 3000));
  // Nor does any other.
  CHECK(view.Flush(4000, 2000).ok());
  CHECK(view.IsFlushed({2999, 1}, 3000));
  CHECK(view.Flush(2000, 2000).ok());
  CHECK(view.IsFlushed({1999, 1}, 2000));
  CHECK(view.IsFlushed({2999, 1}, 3000));
  CHECK(view.IsFlushed({3999, 1}, 4000));
  const Result<View> read = DecodeView(EncodeView(view));
  REQUIRE(read.has_value());
  CHECK(read->flushed_before == 2000);
  CHECK(read->flush_at == std::vector<std::uint64_t>{3000, 4000});
  // Once it has come, it is as any other.
  CHECK(view.Flush(3200, 3500).ok());
  CHECK(view.flushed_before == 3200);
  CHECK(view.flush_at == std::vector<std::uint64_t>{4000});
  // Alone it needs no place of its own.
  View first = test::ViewExample();
  CHECK(first.Flush(3000, 2000).ok());
  CHECK_FALSE(first.IsFlushed({1000, 1}, 2999));
  CHECK(first.IsFlushed({1000, 1}, 3000));
  for (std::uint64_t i = 1; i < 16; ++i) CHECK(first.Flush(3000 + i, 9).ok());
  CHECK(first.Flush(9000, 9).code() == StatusCode::kUnavailable);
}

// Made under that mark.
ChangeId Under(FlushMark mark) {
  return {1500, std::uint64_t{mark} << kMakerBits | 9};
}

TEST_CASE(
    "a flush of all takes what was made under another view, by no clock") {
  View view = test::ViewExample();
  CHECK_FALSE(view.IsFlushed(Under(0), 2000));
  // Of a version that knew no marks.
  CHECK_FALSE(view.IsFlushed(Under(77), 2000));
  view.FlushAll(1, 1000);
  CHECK(view.flush_mark == 1);
  CHECK(view.IsFlushed(Under(0), 0));
  CHECK(view.IsFlushed(Under(77), 0));
  CHECK_FALSE(view.IsFlushed(Under(1), 0));
  view.FlushAll(2, 1000);
  CHECK(view.IsFlushed(Under(1), 0));
  CHECK_FALSE(view.IsFlushed(Under(2), 0));
  const Result<View> read = DecodeView(EncodeView(view));
  REQUIRE(read.has_value());
  CHECK(read->flush_mark == 2);
  // What another process has built upon it is not flushed once more.
  View later = *read;
  later.FlushAll(1, 1000);
  later.FlushAll(2, 1000);
  CHECK(later.flush_mark == 2);
  // None is the mark of no flush.
  view.flush_mark = kMaxFlushMark;
  CHECK(EncodeView(*DecodeView(EncodeView(view))) == EncodeView(view));
  view.FlushAll(3, 1000);
  CHECK(view.flush_mark == 1);
  CHECK(view.IsFlushed(Under(kMaxFlushMark), 0));
}

TEST_CASE("a flush of all leaves those alone that are to come") {
  View view = test::ViewExample();
  for (const std::uint64_t time : {1000, 3000, 4000}) {
    CHECK(view.Flush(time, 2000).ok());
  }
  view.FlushAll(4, 2000);
  CHECK(view.flushed_before == 3000);
  CHECK(view.flush_at == std::vector<std::uint64_t>{4000});
  CHECK_FALSE(view.IsFlushed(Under(1), 2999));
  CHECK(view.IsFlushed(Under(1), 3000));
  view.FlushAll(5, 5000);
  CHECK(view.flushed_before == 0);
  CHECK(view.flush_at.empty());
  CHECK_FALSE(view.IsFlushed(Under(2), 6000));
}

TEST_CASE("blocks of a change under a later view are not behind a flush") {
  View view = test::ViewExample();
  view.FlushAll(6, 1000);
  CHECK(view.IsBehind(Under(0), 2000));
  CHECK_FALSE(view.IsBehind(Under(1), 2000));
  CHECK_FALSE(view.IsBehind(Under(2), 2000));
  view.flush_mark = kMaxFlushMark;
  CHECK(view.IsBehind(Under(kMaxFlushMark - 1), 2000));
  CHECK_FALSE(view.IsBehind(Under(1), 2000));
}

TEST_CASE("an address that is none is corruption") {
  for (const char* const text :
       {"10.0.0.9", "10.0.0.9:011211", "10.0.0.9:1:2", "unix:/run/x", "/"}) {
    CAPTURE(text);
    View view = test::ViewExample();
    view.members[1].address = text;
    const Result<View> read = DecodeView(EncodeView(view));
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().code() == StatusCode::kCorruption);
  }
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
  const int step = kSanitized ? 10 : 1;
  for (std::size_t at = 0; at < test::kViewText.size(); ++at) {
    for (int flip = 1; flip < 256; flip += step) {
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

TEST_CASE("a view of another format is distinguished from a broken one") {
  for (const int format : {1, 5, 8}) {
    const Result<View> other = DecodeView(
        fmt::format(R"({{"format":{},"crc32c":0,"unheard":[1]}})", format));
    REQUIRE_FALSE(other.has_value());
    CHECK(other.error().code() == StatusCode::kUnsupportedFormat);
    CHECK(IsOtherFormat(other));
    const char* const what = format < 6 ? "older" : "upgrade";
    CHECK(other.error().message().find(what) != std::string::npos);
  }
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
  view.max_failures = 2;
  CHECK(code(view) == StatusCode::kCorruption);
  view.max_failures = 0;
  CHECK(code(view) == StatusCode::kCorruption);
}

// With the checksum that its writer would have given it.
std::string SealedView(nlohmann::json root) {
  root.erase("crc32c");
  root["crc32c"] = Crc32c(root.dump());
  return root.dump();
}

TEST_CASE("numbers of a view that are none are not even converted") {
  const auto example = nlohmann::json::parse(test::kViewText);
  CHECK(DecodeView(SealedView(example)).has_value());
  const auto refused = [](const nlohmann::json& root) {
    const Result<View> read = DecodeView(SealedView(root));
    return !read && read.error().code() == StatusCode::kCorruption;
  };
  for (const nlohmann::json& bad :
       {nlohmann::json(1e300), nlohmann::json(-1), nlohmann::json(1.5),
        nlohmann::json("1"), nlohmann::json()}) {
    for (const char* name : {"epoch", "max_failures", "flushed_before"}) {
      CAPTURE(name, bad);
      auto root = example;
      root[name] = bad;
      CHECK(refused(root));
    }
    for (const char* name :
         {"id", "weight", "incarnation", "joined", "since"}) {
      CAPTURE(name, bad);
      auto root = example;
      root["members"][0][name] = bad;
      CHECK(refused(root));
    }
  }
  auto root = example;
  root["members"][0]["id"] = 1U;
  CHECK(refused(root));
  root = example;
  root["members"][0]["weight"] = std::uint64_t{1} << 40;
  CHECK(refused(root));
  root = example;
  root["max_failures"] = std::uint64_t{1} << 32;
  CHECK(refused(root));
}

// Each level would take a piece of the stack where it is written again.
TEST_CASE("a view record that is deep is corrupted") {
  constexpr std::size_t kDepth = 400'000;
  const std::string deep = R"({"format":6,"crc32c":1,"members":)" +
                           std::string(kDepth, '[') + std::string(kDepth, ']') +
                           "}";
  const Result<View> read = DecodeView(deep);
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().code() == StatusCode::kCorruption);
}

net::Ring FiveServers() {
  return net::Ring(*net::ParseEndpoints("a:1,b:1,c:1,d:1,e:1"));
}

View FiveInSync(int max_failures) {
  View view;
  view.epoch = 1;
  view.max_failures = max_failures;
  view.members.resize(5);
  return view;
}

TEST_CASE(
    "the replicas are the first f+1 of the walk, the last one the primary") {
  const net::Ring ring = FiveServers();
  const View view = FiveInSync(2);
  const Replicas replicas = ReplicasOf(view, ring, "movie");
  CHECK(replicas.members == ring.Walk("movie", 3));
  CHECK(replicas.primary() == replicas.members[2]);
  CHECK(replicas.primary_in_sync);
}

TEST_CASE("down replicas are left out and none takes their place") {
  const net::Ring ring = FiveServers();
  const std::vector<int> walk = ring.Walk("movie", 3);
  for (int down = 0; down < 8; ++down) {
    CAPTURE(down);
    View view = FiveInSync(2);
    std::vector<int> left;
    for (int i = 0; i < 3; ++i) {
      if (((down >> i) & 1) != 0) {
        view.members[walk[i]].state = MemberState::kDown;
      } else {
        left.push_back(walk[i]);
      }
    }
    const Replicas replicas = ReplicasOf(view, ring, "movie");
    CHECK(replicas.members == left);
    CHECK(replicas.primary_in_sync == !left.empty());
  }
}

// Invariant R2.
TEST_CASE("replicas that returned come first, the latest before all") {
  const net::Ring ring = FiveServers();
  const std::vector<int> walk = ring.Walk("movie", 3);
  View view = FiveInSync(2);
  view.members[walk[2]].joined = 7;
  view.members[walk[1]].joined = 4;
  CHECK(ReplicasOf(view, ring, "movie").members ==
        std::vector<int>{walk[2], walk[1], walk[0]});
  view.members[walk[1]].joined = 0;
  CHECK(ReplicasOf(view, ring, "movie").members ==
        std::vector<int>{walk[2], walk[0], walk[1]});
}

// Invariant R2.
TEST_CASE("a primary that is being backfilled may not decide") {
  const net::Ring ring = FiveServers();
  const std::vector<int> walk = ring.Walk("movie", 2);
  View view = FiveInSync(1);
  view.members[walk[0]].state = MemberState::kBackfilling;
  view.members[walk[0]].joined = 2;
  CHECK(ReplicasOf(view, ring, "movie").primary_in_sync);
  view.members[walk[1]].state = MemberState::kDown;
  CHECK_FALSE(ReplicasOf(view, ring, "movie").primary_in_sync);
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
    bad.max_failures = parity;
    CHECK_THAT(OptionError(bad), Contains("max_failures is"));
  }
  for (const int percent : {-1, kMaxHedgePercent + 1}) {
    bad = good;
    bad.hedge_percent = percent;
    CHECK_THAT(OptionError(bad), Contains("hedge_percent is"));
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
