// What runs in the background and packs: jobs, policies, checks, collections.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/changing_keys.h"
#include "jobs/job_run.h"
#include "jobs/pack_batch.h"
#include "net/task.h"
#include "sim/objects/packs_fixture.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/blocks/pack_reader.h"
#include "store/format/keys.h"
#include "store/format/manifest.h"
#include "store/format/object_map.h"
#include "store/objects/store.h"
#include "store/upkeep/garbage.h"
#include "store/upkeep/verify.h"

namespace ers::sim {
namespace {

using proxy::PackQueue;
using std::chrono::hours;
using std::chrono::seconds;
using store::Manifest;
using Fixture = PacksFixture;
using ManifestPtr = std::shared_ptr<const Manifest>;

constexpr std::uint64_t kManyValues = 1000;
constexpr int kStays = 5;

ManifestPtr PackOf(Fixture& f, int number) {
  const auto listed =
      f.client.Wait(f.client.store->ReadListed(f.client.PackOf(KeyOf(number))));
  REQUIRE(listed.has_value());
  return listed->manifest;
}

// All values are packed, the pack is old, and the first few alone are in it.
void MakeSparse(Fixture& f) {
  f.client.PutAll();
  f.client.PackAll();
  f.Wait(hours(3));
  for (int i = kStays; i < kValues; ++i) {
    REQUIRE(f.client.Put(KeyOf(i), "new").has_value());
  }
}

void NoteAll(Fixture& f, PackQueue& queue) {
  const ManifestPtr pack = PackOf(f, 0);
  for (const ManifestPtr& value : f.client.Manifests()) queue.Note(value);
  queue.Note(pack);
}

// The first two data blocks of its stripe: more than it can do without.
void LoseFirstStripe(Fixture& f, const ManifestPtr& pack) {
  const store::ObjectMap map(pack);
  for (const layout::BlockId block : {0, 1}) {
    SimServer& server =
        *f.world.servers()[static_cast<std::size_t>(map.MemberOf(0, block))];
    server.items().Erase(map.KeyOf(0, block));
  }
}

TEST_CASE("what is left of a pack is packed anew, without what has left it") {
  Fixture f;
  MakeSparse(f);
  PackQueue queue;
  NoteAll(f, queue);
  const std::function<bool()> going = [] { return true; };
  f.client.Wait(
      queue.AddSparse(*f.client.store, *f.client.session, going, kManyValues));
  REQUIRE(queue.size() == kStays);
  for (const proxy::ToPack& value : queue.Take()) {
    CAPTURE(value.key);
    CHECK(f.client.Read(value.key).size() == value.length);
  }
  NoteAll(f, queue);
  f.client.Wait(queue.AddSparse(*f.client.store, *f.client.session, going, 2));
  CHECK(queue.size() == 2);
}

TEST_CASE("a queue that is cleared while packs are read takes no more") {
  Fixture f;
  MakeSparse(f);
  for (int reads = 1; reads <= kStays; ++reads) {
    CAPTURE(reads);
    PackQueue queue;
    NoteAll(f, queue);
    int asked = 0;
    const std::function<bool()> going = [&] {
      if (++asked == reads) queue.Clear();
      return asked < reads;
    };
    f.client.Wait(queue.AddSparse(*f.client.store, *f.client.session, going,
                                  kManyValues));
    CHECK(queue.empty());
    CHECK(queue.bytes() == 0);
  }
}

TEST_CASE("what is left of packs and fills no other is whole again") {
  Fixture f;
  f.client.PutAll();
  f.client.PackAll();
  const std::vector<ManifestPtr> packed = f.client.Manifests();
  const auto few = f.client.Wait(f.client.store->Pack(packed));
  REQUIRE(few.has_value());
  CHECK(few->values == 0);
  CHECK(few->unpacked == kValues);
  const std::vector<ManifestPtr> whole = f.client.Manifests();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    CHECK_FALSE(whole[i]->is_packed());
    CHECK(whole[i]->cas == packed[i]->cas);
    CHECK(whole[i]->client_flags == packed[i]->client_flags);
  }
  f.client.ExpectAll();
  f.Wait(hours(3));
  CHECK(f.client.Collect().dropped > 0);
  f.Wait(seconds(5));
  CHECK(f.Blocks() == 0);
  f.client.ExpectAll();
}

TEST_CASE("a job to another scheme or m leaves packs as they are") {
  for (const bool parity : {false, true}) {
    CAPTURE(parity);
    Fixture f;
    f.client.PutAll();
    f.client.PackAll();
    const ManifestPtr before = PackOf(f, 0);
    proxy::ChangingKeys changing;
    bool listing = false;
    proxy::JobHost host{
        *f.client.session,
        *f.client.store,
        changing,
        listing,
        /*stopping=*/false,
        [](const proxy::Job&, bool) {},
        [](const proxy::Job&, const std::function<void()>& then) { then(); },
        [](const TransitionInfo&) {}};
    proxy::JournalEntry entry;
    entry.job.spec.select.min_bytes = 1000;  // no value, but the pack
    TransitionTarget& target = entry.job.spec.target;
    if (parity) {
      target.width = Width::kWide;
      target.parity_blocks = 1;
    } else {
      target.scheme = Scheme{SchemeKind::kRs, 3, 1, 3};
    }
    proxy::JobRun run(host, std::move(entry));
    run.Begin();
    REQUIRE(f.world.RunUntil([&] { return !run.at_work(); }, seconds(60)));
    CHECK(run.job().state == proxy::JobState::kDone);
    CHECK(run.job().counts.changed == 0);
    CHECK(PackOf(f, 0)->id == before->id);
  }
}

TEST_CASE("a check of some values checks their pack") {
  Fixture f;
  f.client.PutAll();
  f.client.PackAll();
  VerifyOptions some;
  some.wanted = [](std::string_view key) { return key == KeyOf(0); };
  std::vector<std::string> found;
  some.found = [&](const Finding& finding) { found.emplace_back(finding.key); };
  const auto check = [&] {
    found.clear();
    store::Verifier verifier(*f.client.session, some);
    const auto report = f.client.Wait(verifier.Run());
    REQUIRE(report.has_value());
    CHECK(report->objects == 2);  // the value and the pack
    return report->unreadable;
  };
  CHECK(check() == 0);
  LoseFirstStripe(f, PackOf(f, 0));
  CHECK(check() == 1);
  REQUIRE_FALSE(found.empty());
  CHECK(store::IsPackKey(found.front()));
}

TEST_CASE("a collection says which pack it cannot read") {
  Fixture f;
  f.client.PutAll();
  f.client.PackAll();
  const ManifestPtr pack = PackOf(f, 0);
  LoseFirstStripe(f, pack);
  f.Wait(hours(3));
  const auto report =
      f.client.Wait(store::CollectGarbage(*f.client.session, {}));
  REQUIRE(report.has_value());
  CHECK(report->dropped == 0);
  CHECK_FALSE(report->why.ok());
  CHECK(report->why.message().find(pack->key) != std::string_view::npos);
}

TEST_CASE("what drops packs goes at the rate of a collection, and stops") {
  Fixture f;
  f.client.PutAll();
  f.client.PackAll();
  f.client.PutAll();
  f.Wait(hours(3));
  store::GarbageTerms terms;
  terms.options.objects_per_second = 10;
  store::StopToken stop;
  terms.stop = &stop;
  std::optional<Result<GarbageReport>> report;
  net::Spawn([](store::Session& session, store::GarbageTerms how,
                std::optional<Result<GarbageReport>>& into) -> net::Task<void> {
    into = co_await store::CollectGarbage(session, how);
  }(*f.client.session, terms, report));
  // Each key is read twice, beside what else there is.
  CHECK_FALSE(f.world.RunUntil([&] { return report.has_value(); }, seconds(5)));
  CHECK(f.Blocks() > 0);
  stop.Stop();
  REQUIRE(f.world.RunUntil([&] { return report.has_value(); }, seconds(5)));
  CHECK_FALSE(report->has_value());
  f.client.ExpectAll();
}

TEST_CASE("reads keep all manifests of a pack warm where servers evict") {
  Fixture f(ModelServerOptions{.evicted_after_s = 64});
  f.client.PutAll();
  f.client.PackAll();
  const std::string name = store::ManifestKey(f.client.PackOf(KeyOf(0)));
  std::vector<std::pair<SimServer*, std::string>> copies;
  for (const auto& server : f.world.servers()) {
    if (server->items().Find(name)) copies.emplace_back(server.get(), name);
  }
  REQUIRE(copies.size() == 2);
  // The first reads learn that servers evict, and remember the pack.
  for (int i = 0; i < 2; ++i) {
    CHECK(f.client.Read(KeyOf(0)) == ValueOf(0));
    f.Wait(seconds(3));
  }
  for (const auto& [server, item] : copies) {
    server->items().Find(item)->fetched = false;
  }
  CHECK(f.client.Read(KeyOf(0)) == ValueOf(0));
  f.Wait(seconds(3));
  for (const auto& [server, item] : copies) {
    CHECK(server->items().Find(item)->fetched);
  }
}

TEST_CASE("a change that finds the pack of a value gone ends the value") {
  Fixture f;
  f.client.PutAll();
  f.client.PackAll();
  const std::string pack = f.client.PackOf(KeyOf(0));
  for (const auto& server : f.world.servers()) {
    const std::string name = store::ManifestKey(pack);
    server->items().Erase(name);
  }
  PacksClient other(f.world, f.servers, "other");
  const store::Store::Rewriter rewriter = [](const ObjectInfo&,
                                             std::span<const std::byte>) {
    return store::Rewritten{};
  };
  const auto rewritten =
      other.Wait(other.store->Rewrite(KeyOf(0), rewriter, {}));
  CHECK(rewritten.error().code() == StatusCode::kNotFound);
  const auto listed = other.Wait(other.store->ReadListed(KeyOf(0)));
  CHECK((!listed || !listed->manifest));
  // One that remembers the pack could have read it.
  CHECK(f.client.Read(KeyOf(0)).empty());
}

}  // namespace
}  // namespace ers::sim
