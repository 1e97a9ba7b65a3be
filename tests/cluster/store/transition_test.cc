// What transitions move, counted as replies come in, against the plans.
#include "cluster/store/test_cluster.h"
#include "plan/planners.h"
#include "sanitized.h"

namespace ers::test {
namespace {

Result<TransitionInfo> Move(Client& client, const std::string& key, Width to,
                            TransitionVariant variant) {
  return client.Transition(key, {.width = to, .scheme = {}}, variant);
}

}  // namespace

TEST_CASE("real transitions read and write what the plans say") {
  const auto kind =
      GENERATE(SchemeKind::kSrs, SchemeKind::kErs1, SchemeKind::kErs2);
  const auto [k, m, kp] = GENERATE(table<int, int, int>({{4, 1, 5},
                                                         {5, 1, 6},
                                                         {8, 2, 10},
                                                         {9, 2, 10},
                                                         {10, 3, 12},
                                                         {12, 3, 14}}));
  const Unit unit = GENERATE(Unit::kBlocks, Unit::kColumns);
  if (kSanitized && k > 5) return;
  const Scheme scheme{kind, k, m, kp};
  CAPTURE(FormatScheme(scheme), UnitName(unit));
  TestCluster cluster(kp + m, {"-m", "16"});
  auto client =
      cluster.Open(scheme, 0, 0, unit == Unit::kColumns ? kMaxColumnBelow : 0);
  const std::vector<std::byte> value = Bytes(100003, 5);
  const auto put = client->Put("key", value, {});
  REQUIRE_OK(put);
  CHECK(put->unit == unit);
  const layout::Geometry geometry(scheme, unit);
  for (const auto variant :
       {TransitionVariant::kOptimal, TransitionVariant::kPaper,
        TransitionVariant::kNoOrder}) {
    for (const Width to : {Width::kWide, Width::kNarrow}) {
      const bool forward = to == Width::kWide;
      const auto used = forward && variant == TransitionVariant::kNoOrder
                            ? TransitionVariant::kOptimal
                            : variant;
      const auto plan = plan::PlanTransition(
          geometry, forward ? plan::kForward : plan::kBackward, used, {});
      const plan::ReadCount reads = plan::CountReads(geometry, *plan);
      const Served before = CountServed(cluster);
      const auto moved = Move(*client, "key", to, used);
      REQUIRE_OK(moved);
      CHECK(moved->path == TransitionPath::kPlan);
      CHECK(moved->data_reads == static_cast<std::uint64_t>(reads.data));
      CHECK(moved->parity_reads == static_cast<std::uint64_t>(reads.parity));
      CHECK(moved->writes == plan->writes.size());
      // The servers saw the same, and one read and one write per replica more.
      CHECK(ServedAlone(before, CountServed(cluster), reads.total() + (m + 1),
                        static_cast<long>(plan->writes.size()) + (m + 1)));
      REQUIRE(MustGet(*client, "key") == value);
    }
  }
}

TEST_CASE("any scheme becomes any other, content and attributes stay") {
  TestCluster cluster(10, {"-m", "64"});
  const Scheme first{SchemeKind::kRs, 4, 2, 4};
  auto client = cluster.Open(first, 2);
  const std::vector<std::byte> value = Bytes(300007, 6);
  PutOptions options;
  options.client_flags = 12345;
  options.expiry = 4000000000;
  const auto put = client->Put("key", value, options);
  REQUIRE_OK(put);
  for (const char* name : {"ers2:6,2,8", "rep:3", "srs:4,1,5", "ers1:2,1,3",
                           "rep:2", "rs:4,2", "ers2:4,2,6"}) {
    CAPTURE(name);
    const auto target = ParseTransitionTarget(name);
    REQUIRE_OK(target);
    const auto moved =
        client->Transition("key", *target, TransitionVariant::kOptimal);
    REQUIRE_OK(moved);
    CHECK(moved->path == TransitionPath::kReencode);
    CHECK(moved->object.cas == put->cas);
    CHECK(moved->object.client_flags == 12345);
    CHECK(moved->object.expiry == 4000000000);
    REQUIRE(MustGet(*client, "key") == value);
    const auto again =
        client->Transition("key", *target, TransitionVariant::kOptimal);
    REQUIRE_FALSE(again.has_value());
    CHECK(again.error().code() == StatusCode::kAlreadyThere);
  }
}

}  // namespace ers::test
