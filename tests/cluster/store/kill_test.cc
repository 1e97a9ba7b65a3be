// Servers that die by kill -9: up to m of them change nothing for a user.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "cluster/store/test_cluster.h"
#include "sanitized.h"

namespace ers::test {
namespace {

constexpr std::size_t kValueBytes = 20011;

struct Parameters {
  int k;
  int m;
  int kp;
};

// Calls `visit` with every choice of 1 to `most` of `nodes` servers.
template <typename Visit>
void ForEachChoice(int nodes, int most, const Visit& visit) {
  for (unsigned mask = 1; mask < 1U << nodes; ++mask) {
    std::vector<int> choice;
    for (int i = 0; i < nodes; ++i) {
      if ((mask >> i & 1U) != 0) choice.push_back(i);
    }
    if (static_cast<int>(choice.size()) <= most) visit(choice);
  }
}

void Overwrite(std::vector<std::byte>& value, std::size_t offset,
               const std::vector<std::byte>& piece) {
  std::copy(piece.begin(), piece.end(),
            value.begin() + static_cast<std::ptrdiff_t>(offset));
}

// The whole story with some servers dead; `fresh`: seen by a process that
// starts after they died.
void Survive(const Parameters& p, Width width, const std::vector<int>& dead,
             bool fresh, Unit unit) {
  const Scheme scheme{SchemeKind::kErs2, p.k, p.m, p.kp};
  CAPTURE(FormatScheme(scheme), static_cast<int>(width), dead, fresh,
          UnitName(unit));
  TestCluster cluster(p.kp + p.m, {"-m", "16"});
  const auto open = [&] {
    return cluster.Open(scheme, 0, 0,
                        unit == Unit::kColumns ? kMaxColumnBelow : 0);
  };
  auto client = open();
  std::vector<std::byte> value = Bytes(kValueBytes, 1);
  PutOptions options;
  options.width = width;
  options.client_flags = 77;
  REQUIRE_OK(client->Put("key", value, options));
  for (const int i : dead) cluster.server(i).Kill();
  if (fresh) client = open();

  REQUIRE(MustGet(*client, "key") == value);
  const std::vector<std::byte> piece = Bytes(3000, 2);
  REQUIRE_OK(client->Update("key", 4321, piece));
  Overwrite(value, 4321, piece);
  REQUIRE(MustGet(*client, "key") == value);
  const Width other = width == Width::kNarrow ? Width::kWide : Width::kNarrow;
  for (const Width to : {other, width}) {
    const auto moved = client->Transition("key", {.width = to, .scheme = {}},
                                          TransitionVariant::kOptimal);
    REQUIRE_OK(moved);
    REQUIRE(moved->path == TransitionPath::kPlan);
    REQUIRE(moved->object.width == to);
    REQUIRE(moved->object.client_flags == 77);
    REQUIRE(MustGet(*client, "key") == value);
  }
  REQUIRE_OK(client->Put("other", value, {}));
  auto late = open();
  REQUIRE(MustGet(*late, "other") == value);
  REQUIRE(MustGet(*late, "key") == value);
  REQUIRE(late->Delete("key").ok());
  Value gone;
  REQUIRE(client->Get("key", gone).error().code() == StatusCode::kNotFound);
}

}  // namespace

TEST_CASE("any choice of up to m dead servers loses nothing") {
  int number = 0;
  for (const Parameters& p :
       {Parameters{2, 1, 3}, Parameters{4, 1, 5}, Parameters{4, 2, 6}}) {
    ForEachChoice(p.kp + p.m, p.m, [&](const std::vector<int>& dead) {
      // Every fifth, which meets all widths and units.
      if (kSanitized && number % 5 != 0) {
        ++number;
        return;
      }
      Survive(p, number % 2 == 0 ? Width::kNarrow : Width::kWide, dead,
              number / 2 % 2 == 0,
              (number + number / 4) % 2 == 0 ? Unit::kBlocks : Unit::kColumns);
      ++number;
    });
  }
}

// Hidden, as it takes long: tests/run --full asks for it by its tag.
TEST_CASE("any choice of up to m dead servers of more", "[.full]") {
  int number = 0;
  for (const Parameters& p :
       {Parameters{4, 2, 6}, Parameters{6, 2, 8}, Parameters{4, 3, 5}}) {
    ForEachChoice(p.kp + p.m, p.m, [&](const std::vector<int>& dead) {
      for (const Width width : {Width::kNarrow, Width::kWide}) {
        for (const Unit unit : {Unit::kBlocks, Unit::kColumns}) {
          Survive(p, width, dead, number++ / 4 % 2 == 0, unit);
        }
      }
    });
  }
}

TEST_CASE("choices of three dead servers of seventeen, by seed") {
  const char* given = std::getenv("ERS_SEED");
  const unsigned seed = given != nullptr
                            ? static_cast<unsigned>(std::atoi(given))
                            : std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 6; ++i) {
    std::vector<int> all(17);
    for (std::size_t j = 0; j < all.size(); ++j) all[j] = static_cast<int>(j);
    std::shuffle(all.begin(), all.end(), random);
    all.resize(1 + random() % 3);
    Survive({12, 3, 14}, i % 2 == 0 ? Width::kNarrow : Width::kWide, all,
            random() % 2 == 0,
            random() % 2 == 0 ? Unit::kBlocks : Unit::kColumns);
  }
}

TEST_CASE(
    "more dead servers than m are an error, never a miss or wrong bytes") {
  const Scheme scheme{SchemeKind::kErs2, 4, 1, 5};
  TestCluster cluster(6);
  auto client = cluster.Open(scheme);
  const std::vector<std::byte> value = Bytes(kValueBytes, 1);
  REQUIRE_OK(client->Put("key", value, {}));
  cluster.server(0).Kill();
  REQUIRE(MustGet(*client, "key") == value);
  cluster.server(1).Kill();
  Value got;
  const auto read = client->Get("key", got);
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().code() == StatusCode::kUnavailable);
  CHECK(got.size() == 0);
  const auto write = client->Put("key", value, {});
  REQUIRE_FALSE(write.has_value());
  CHECK(write.error().code() == StatusCode::kUnavailable);
  CHECK(write.error().message().find("127.0.0.1:") != std::string::npos);
}

TEST_CASE("a server that stands still counts as dead, and costs one wait") {
  const Scheme scheme{SchemeKind::kErs2, 4, 1, 5};
  TestCluster cluster(6);
  cluster.SetPatience(std::chrono::seconds(3));
  auto client = cluster.Open(scheme);
  const std::vector<std::byte> value = Bytes(kValueBytes, 1);
  REQUIRE_OK(client->Put("key", value, {}));
  cluster.server(2).Pause();
  REQUIRE(MustGet(*client, "key") == value);
  REQUIRE_OK(client->Put("key", value, {}));
  REQUIRE(MustGet(*client, "key") == value);
  cluster.server(2).Resume();
  REQUIRE(MustGet(*client, "key") == value);
  REQUIRE_OK(client->Update("key", 5, Bytes(100, 4)));
}

}  // namespace ers::test
