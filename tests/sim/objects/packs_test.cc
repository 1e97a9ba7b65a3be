// Small values in packs, case by case (docs/internals/packs.md).
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/task.h"
#include "sim/objects/packs_fixture.h"
#include "sim/objects/quick_calls.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/format/manifest.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"
#include "store/upkeep/backfill.h"
#include "store/upkeep/garbage.h"
#include "store/upkeep/verify.h"

namespace ers::sim {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using store::Manifest;
using ManifestPtr = std::shared_ptr<const Manifest>;

using Client = PacksClient;
using Fixture = PacksFixture;

// Invariant P1.
TEST_CASE("a packed value reads as before, with its flags, CAS and expiry") {
  Fixture f;
  f.client.PutAll();
  PutOptions ends;
  ends.expiry = f.client.store->WallMicros() / 1'000'000 + 7200;
  REQUIRE(f.client.Put(KeyOf(3), ValueOf(3), ends).has_value());
  const auto before = f.client.Wait(f.client.store->Info(KeyOf(3)));
  const std::size_t whole = f.Bytes();
  f.client.PackAll();
  // 1.25 times their bytes and 40 manifests, in place of twice.
  CHECK(f.Bytes() < whole * 8 / 10);
  f.client.ExpectAll();
  const auto info = f.client.Wait(f.client.store->Info(KeyOf(3)));
  REQUIRE(info.has_value());
  CHECK(info->cas == before->cas);
  CHECK(info->expiry == ends.expiry);
  CHECK_FALSE(info->is_inline);
  CHECK(store::IsPackKey(info->pack));
  const auto flags = f.client.Wait(f.client.store->Info(KeyOf(7)));
  CHECK(flags->client_flags == 7);
  // In each way that there is to read.
  Value value;
  CHECK(f.client.Wait(f.client.store->GetRange(KeyOf(5), 499, 9, value)));
  CHECK(value.text() == "5");
  CHECK(f.client.Wait(QuickRead(*f.client.store, KeyOf(5), value)));
  CHECK(value.text() == ValueOf(5));
  std::string streamed;
  const std::function<void(const GetInfo&)> begin = [](const GetInfo&) {};
  const Sink sink = [&streamed](std::span<const std::byte> bytes) {
    streamed.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return Status();
  };
  CHECK(f.client.Wait(f.client.store->GetTo(KeyOf(5), begin, sink)));
  CHECK(streamed == ValueOf(5));
  // Another process, and one server dead.
  Client other(f.world, f.servers, "other");
  f.world.servers()[2]->Crash();
  other.ExpectAll();
}

TEST_CASE("a change of a packed value is that of a whole one") {
  Fixture f;
  f.client.PutAll();
  f.client.PackAll();
  store::Store& store = *f.client.store;
  const std::string part = "new";
  REQUIRE(
      f.client.Wait(store.Update(KeyOf(0), 2, std::as_bytes(std::span(part)))));
  CHECK(f.client.Read(KeyOf(0)) == "00new" + ValueOf(0).substr(5));
  bool given = false;
  const Source source = [&](std::span<std::byte> into) -> Result<std::size_t> {
    if (std::exchange(given, true)) return 0;
    into[0] = std::byte{'!'};
    return 1;
  };
  REQUIRE(f.client.Wait(store.Append(KeyOf(1), source)));
  CHECK(f.client.Read(KeyOf(1)) == ValueOf(1) + "!");
  const store::Store::Rewriter twice = [](const ObjectInfo&,
                                          std::span<const std::byte> value) {
    const std::string text(reinterpret_cast<const char*>(value.data()),
                           value.size());
    store::Rewritten rewritten;
    rewritten.value = text + text;
    return rewritten;
  };
  REQUIRE(f.client.Wait(store.Rewrite(KeyOf(2), twice)));
  CHECK(f.client.Read(KeyOf(2)) == ValueOf(2) + ValueOf(2));
  REQUIRE(f.client.Wait(store.Delete(KeyOf(3))).ok());
  CHECK(f.client.Read(KeyOf(3)).empty());
  REQUIRE(f.client.Put(KeyOf(4), "short").has_value());
  CHECK(f.client.Read(KeyOf(4)) == "short");
  REQUIRE(f.client.Wait(store.Export(KeyOf(5), ExportMode::kExport)));
  Value plain;
  REQUIRE(f.client.Wait(store.GetPlain(KeyOf(5), plain)));
  CHECK(plain.text() == ValueOf(5));
  for (int i = 0; i < 3; ++i) CHECK(f.client.PackOf(KeyOf(i)).empty());
  // These keep it where it is.
  const std::string pack = f.client.PackOf(KeyOf(6));
  REQUIRE(f.client.Wait(store.Touch(KeyOf(6), 2'000'000'000)));
  REQUIRE(f.client.Wait(store.Transition(KeyOf(6), {Width::kWide, {}}, {})));
  CHECK(f.client.PackOf(KeyOf(6)) == pack);
  CHECK(f.client.Read(KeyOf(6)) == ValueOf(6));
  // Another scheme has another redundancy: the pack's does not change.
  const TransitionTarget rs{{}, Scheme{SchemeKind::kRs, 3, 1, 3}};
  REQUIRE(f.client.Wait(store.Transition(KeyOf(7), rs, {})));
  CHECK(f.client.PackOf(KeyOf(7)).empty());
  CHECK(f.client.Read(KeyOf(7)) == ValueOf(7));
  f.client.ExpectAll(6);
}

// Invariant P2.
TEST_CASE("packing gives way to what was changed since it was read") {
  Fixture f;
  f.client.PutAll();
  const std::vector<ManifestPtr> read = f.client.Manifests();
  REQUIRE(f.client.Put(KeyOf(0), "newer").has_value());
  REQUIRE(f.client.Wait(f.client.store->Delete(KeyOf(1))).ok());
  CHECK(f.client.Pack(read).values == kValues - 2);
  CHECK(f.client.Read(KeyOf(0)) == "newer");
  CHECK(f.client.Read(KeyOf(1)).empty());
  f.client.ExpectAll(2);
}

// Invariant P3.
TEST_CASE("a pack goes once nothing names it, and not before it is old") {
  Fixture f;
  f.client.PutAll();
  f.client.PackAll();
  const std::size_t packed = f.Blocks();
  REQUIRE(packed > 0);
  f.Wait(hours(3));
  CHECK(f.client.Collect().dropped == 0);
  f.client.ExpectAll();
  // One is left.
  for (int i = 1; i < kValues; ++i) {
    REQUIRE(f.client.Put(KeyOf(i), "new").has_value());
  }
  CHECK(f.client.Collect().dropped == 0);
  CHECK(f.client.Read(KeyOf(0)) == ValueOf(0));
  // It goes into another pack: the old one is named by none.
  const std::vector<ManifestPtr> last = {f.client.Manifests().front()};
  REQUIRE(f.client.Pack(last).values == 1);
  CHECK(f.client.Collect().dropped == packed);
  f.Wait(seconds(5));
  const std::size_t left = f.Blocks();
  CHECK(f.client.Read(KeyOf(0)) == ValueOf(0));
  REQUIRE(f.client.Put(KeyOf(0), "new").has_value());
  CHECK(f.client.Collect().dropped == 0);  // it may be under way
  f.Wait(hours(3));
  CHECK(f.client.Collect().dropped == left);
  f.Wait(seconds(5));
  CHECK(f.Blocks() == 0);
}

// Invariant P3.
TEST_CASE("a value is not put into a pack that may be gone by then") {
  Fixture f;
  f.client.PutAll();
  Client slow(f.world, f.servers, "slow");
  std::vector<ManifestPtr> read = slow.Manifests();
  // It stands still as soon as its pack has been stored, before it names any.
  int replicas = 2;
  for (const auto& server : f.world.servers()) {
    server->on_applied = [&](const SimConnection&, const AppliedCommand& done) {
      const auto manifest = store::DecodeManifest(done.key, done.value);
      if (!manifest || !store::IsPackKey(manifest->key)) return;
      if (--replicas == 0) slow.process.PauseFor(hours(3));
    };
  }
  Result<store::PackedValues> packed = Fail(StatusCode::kUnavailable, "");
  bool ended = false;
  net::Spawn([](store::Store& store, std::vector<ManifestPtr> values,
                Result<store::PackedValues>& into,
                bool& done) -> net::Task<void> {
    into = co_await store.Pack(std::move(values), {.any = true});
    done = true;
  }(*slow.store, std::move(read), packed, ended));
  REQUIRE(f.world.RunUntil([&] { return replicas == 0; }, hours(1)));
  for (const auto& server : f.world.servers()) server->on_applied = nullptr;
  REQUIRE(f.Blocks() > 0);
  f.Wait(hours(2) + minutes(30));
  (void)f.client.Collect();
  f.Wait(seconds(5));
  CHECK(f.Blocks() == 0);
  REQUIRE(f.world.RunUntil([&] { return ended; }, hours(2)));
  CHECK((!packed || packed->values == 0));
  f.client.ExpectAll();
}

// Invariant P4.
TEST_CASE("a reader that remembers a pack that is gone finds the value") {
  Fixture f;
  f.client.PutAll();
  f.client.PackAll();
  Client reader(f.world, f.servers, "reader");
  reader.ExpectAll();
  f.Wait(hours(3));
  f.client.PackAll();  // anew
  CHECK(f.client.Collect().dropped > 0);
  f.Wait(seconds(5));
  reader.ExpectAll();
  // Its parity moves, and then its data.
  const std::string pack = f.client.PackOf(KeyOf(0));
  REQUIRE(
      f.client.Wait(f.client.store->Transition(pack, {Width::kWide, {}}, {})));
  reader.ExpectAll();
  const TransitionTarget rs{{}, Scheme{SchemeKind::kRs, 3, 1, 3}};
  REQUIRE(f.client.Wait(f.client.store->Transition(pack, rs, {})));
  reader.ExpectAll();
}

TEST_CASE("values of a pack that is lost are misses, and stay so") {
  Fixture f;
  f.client.PutAll();
  f.client.PackAll();
  // Two blocks are lost, one of which has the first value.
  const store::KeyHash hash = store::HashKey(f.client.PackOf(KeyOf(0)));
  int lost = 0;
  for (const auto& server : f.world.servers()) {
    for (const std::string& key : server->items().LiveKeys()) {
      const auto block = store::ParseBlockKey(key);
      if (!block || block->hash != hash || block->number > 1) continue;
      if (server->items().Erase(key)) ++lost;
    }
  }
  REQUIRE(lost == 2);
  Value value;
  const auto got = f.client.Wait(f.client.store->Get(KeyOf(0), value));
  REQUIRE_FALSE(got.has_value());
  CHECK(got.error().code() == StatusCode::kNotFound);
  VerifyOptions all;
  store::Verifier verifier(*f.client.session, all);
  const auto report = f.client.Wait(verifier.Run());
  REQUIRE(report.has_value());
  CHECK(report->unreadable == 1);  // the pack
  // Without it each value is ended by the first read.
  const std::string pack = f.client.PackOf(KeyOf(0));
  for (const auto& server : f.world.servers()) {
    server->items().Erase(store::ManifestKey(pack));
  }
  store::Verifier again(*f.client.session, all);
  CHECK(f.client.Wait(again.Run())->unreadable == kValues);
  Client other(f.world, f.servers, "other");
  for (int i = 0; i < kValues; ++i) CHECK(other.Read(KeyOf(i)).empty());
  const auto touched = other.Wait(other.store->Touch(KeyOf(0), 2'000'000'000));
  CHECK(touched.error().code() == StatusCode::kNotFound);
  REQUIRE(other.Put(KeyOf(0), ValueOf(0)).has_value());
  CHECK(other.Read(KeyOf(0)) == ValueOf(0));
}

TEST_CASE("a flush ends packed values, and their pack goes once it is old") {
  Fixture f;
  f.client.PutAll();
  f.client.PackAll();
  REQUIRE(f.client.Wait(f.client.store->Flush(store::kAtOnce)).ok());
  for (int i = 0; i < kValues; ++i) CHECK(f.client.Read(KeyOf(i)).empty());
  CHECK(f.client.Collect().packs == 0);
  f.Wait(hours(3));
  CHECK(f.client.Collect().packs == 1);
  f.Wait(seconds(5));
  CHECK(f.Blocks() == 0);
}

// What a real collection would do, with a write at no server.
GarbageReport ExpectForeseen(Fixture& f, Client& by,
                             const store::GarbageTerms& terms = {}) {
  std::string written;
  for (const auto& server : f.world.servers()) {
    server->on_applied = [&written](const SimConnection&,
                                    const AppliedCommand& command) {
      if (command.key == store::kBootKey) return;
      written += fmt::format("{} {}, ", command.verb, command.key);
    };
  }
  const GarbageReport dry = by.Collect(terms, true);
  CAPTURE(written);
  CHECK(written.empty());
  for (const auto& server : f.world.servers()) server->on_applied = nullptr;
  const GarbageReport real = f.client.Collect(terms);
  CHECK(dry.packs == real.packs);
  CHECK(dry.listed == real.listed);
  CHECK(dry.live == real.live);
  CHECK(dry.young == real.young);
  CHECK(dry.dropped == real.dropped);
  CHECK(dry.dropped_bytes == real.dropped_bytes);
  CHECK(dry.flushed == real.flushed);
  CHECK(dry.skipped == real.skipped);
  return real;
}

TEST_CASE("a dry run counts packs as a collection does, and writes nothing") {
  // So that the first block of the pack is gone, too: it is decoded.
  const bool one_lost = GENERATE(false, true);
  Fixture f;
  f.client.PutAll();
  f.client.PackAll();
  // Knows no view yet, and remembers no pack.
  Client other(f.world, f.servers, "other");
  CHECK(ExpectForeseen(f, other).packs == 0);  // it is young
  f.Wait(hours(3));
  CHECK(ExpectForeseen(f, other).packs == 0);  // all values name it
  for (int i = 1; i < kValues; ++i) {
    REQUIRE(f.client.Put(KeyOf(i), "new").has_value());
  }
  CHECK(ExpectForeseen(f, other).packs == 0);  // one does
  if (one_lost) {
    const store::KeyHash hash = store::HashKey(f.client.PackOf(KeyOf(0)));
    for (const auto& server : f.world.servers()) {
      for (const std::string& key : server->items().LiveKeys()) {
        const auto block = store::ParseBlockKey(key);
        if (!block || block->hash != hash || block->number != 0) continue;
        REQUIRE(server->items().Erase(key));
      }
    }
  }
  REQUIRE(f.client.Put(KeyOf(0), "new").has_value());
  const GarbageReport dropped = ExpectForeseen(f, other);
  CHECK(dropped.packs == 1);
  CHECK(dropped.dropped >= 24);
  CHECK(dropped.dropped_bytes > kValues * 500 * 5 / 4);
  f.Wait(seconds(5));  // its blocks are dropped in the background
  CHECK(ExpectForeseen(f, other).dropped == 0);
}

TEST_CASE("a dry run knows that values which have ended hold no pack") {
  const bool flushed = GENERATE(false, true);
  const bool piecemeal = GENERATE(false, true);
  Fixture f;
  f.client.PutAll();
  f.client.PackAll();
  f.Wait(hours(3));
  if (flushed) {
    REQUIRE(f.client.Wait(f.client.store->Flush(store::kAtOnce)).ok());
  } else {
    for (int i = 0; i < kValues; ++i) {
      REQUIRE(f.client.Wait(f.client.store->Delete(KeyOf(i))).ok());
    }
  }
  Client other(f.world, f.servers, "other");
  store::GarbageTerms terms;
  // Little at a time: some values come later than their pack.
  if (piecemeal) terms.names_bytes = 1000;
  const bool dropped = ExpectForeseen(f, other, terms).packs == 1;
  CHECK((dropped || piecemeal));
  f.Wait(seconds(5));
  if (!dropped) CHECK(ExpectForeseen(f, other, terms).packs == 1);
  f.Wait(seconds(5));
  CHECK(f.Blocks() == 0);
}

TEST_CASE("clients change no pack, and no listing shows one") {
  Fixture f;
  f.client.PutAll();
  f.client.PackAll();
  const std::string pack = f.client.PackOf(KeyOf(0));
  store::Store& store = *f.client.store;
  const auto refused = [](const auto& result) {
    return !result && result.error().code() == StatusCode::kInvalidArgument;
  };
  CHECK(refused(f.client.Put(pack, "mine")));
  CHECK(refused(f.client.Wait(store.Touch(pack, 2'000'000'000))));
  CHECK(f.client.Wait(store.Delete(pack)).code() ==
        StatusCode::kInvalidArgument);
  CHECK(refused(f.client.Wait(store.Export(pack, ExportMode::kExport))));
  f.client.ExpectAll();
  int listed = 0;
  REQUIRE(f.client
              .Wait(store.List([&](std::string_view key, const ObjectInfo&) {
                CHECK_FALSE(store::IsPackKey(key));
                ++listed;
                return true;
              }))
              .ok());
  CHECK(listed == kValues);
}

TEST_CASE("a pack is packed only where it would be half full, and worth it") {
  Fixture f;
  f.client.PutAll();
  const auto few = f.client.Wait(f.client.store->Pack(f.client.Manifests()));
  REQUIRE(few.has_value());
  CHECK(few->values == 0);
  const auto manifest = *f.client.Manifests().front();
  CHECK(store::IsWorthPacking(*f.client.session, manifest));
  Manifest tiny = manifest;
  tiny.length = 100;
  CHECK_FALSE(store::IsWorthPacking(*f.client.session, tiny));
  Manifest brief = manifest;
  brief.expiry = f.client.store->WallMicros() / 1'000'000 + 3600;
  CHECK_FALSE(store::IsWorthPacking(*f.client.session, brief));
  brief.expiry += 3600 * 2;
  CHECK(store::IsWorthPacking(*f.client.session, brief));
  Manifest copies = manifest;
  copies.scheme = {SchemeKind::kRep, 1, 1, 1};
  CHECK_FALSE(store::IsWorthPacking(*f.client.session, copies));
}

}  // namespace
}  // namespace ers::sim
