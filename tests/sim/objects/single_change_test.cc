// Changes that the proxy's commands need: conditions, touch, rewrite, flush.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/micros.h"
#include "net/task.h"
#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"
#include "store/support/content.h"

namespace ers::sim {
namespace {

using std::chrono::seconds;
using store::PutCondition;

constexpr int kServers = 4;

std::shared_ptr<store::ClusterState> OpenCluster(World& world) {
  ClusterOptions options;
  options.servers = world.AddServers(kServers, {.item_size_max = 2048});
  return store::OpenClusterState(options).value();
}

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

struct Fixture {
  explicit Fixture(std::size_t inline_below = 64)
      : store(session, {.scheme = {SchemeKind::kErs2, 2, 1, 3},
                        .inline_below = inline_below}) {}

  Result<ObjectInfo> Put(std::string_view key, std::string_view value,
                         const PutOptions& options = {},
                         PutCondition condition = PutCondition::kNone) {
    store::MemoryContent content(Bytes(value));
    store::PutTerms terms;
    terms.condition = condition;
    return net::SyncWait(process,
                         store.PutContent(key, content, options, terms));
  }
  // The value, or "-" where there is none.
  std::string Get(std::string_view key) {
    Value value;
    last = net::SyncWait(process, store.Get(key, value));
    if (last) return std::string(value.text());
    return last.error().code() == StatusCode::kNotFound
               ? "-"
               : last.error().message();
  }
  std::string store_version(std::string_view key) {
    Get(key);
    return last ? last->version : "";
  }
  void Sleep(Duration time) {
    world.RunUntil([] { return false; }, time);
  }
  std::int64_t UnixSeconds() { return process.WallMicros() / kMicrosPerSecond; }

  World world{1};
  SimRuntime& process = world.AddProcess("client");
  store::Session session{process, OpenCluster(world), 16};
  store::Store store;
  Result<GetInfo> last = Fail(StatusCode::kNotFound, "nothing read yet");
};

StatusCode CodeOf(const Result<ObjectInfo>& result) {
  return result ? StatusCode::kOk : result.error().code();
}

TEST_CASE("a put may ask that there is an object, or that there is none") {
  // In the manifest and as blocks.
  const std::string value(GENERATE(10, 5000), 'v');
  Fixture f;
  CHECK(CodeOf(f.Put("k", value, {}, PutCondition::kPresent)) ==
        StatusCode::kNotFound);
  CHECK(f.Get("k") == "-");
  CHECK(CodeOf(f.Put("k", value, {}, PutCondition::kAbsent)) ==
        StatusCode::kOk);
  CHECK(CodeOf(f.Put("k", "other", {}, PutCondition::kAbsent)) ==
        StatusCode::kConflict);
  CHECK(f.Get("k") == value);
  CHECK(CodeOf(f.Put("k", "other", {}, PutCondition::kPresent)) ==
        StatusCode::kOk);
  CHECK(f.Get("k") == "other");
  REQUIRE(net::SyncWait(f.process, f.store.Delete("k")).ok());
  CHECK(CodeOf(f.Put("k", value, {}, PutCondition::kPresent)) ==
        StatusCode::kNotFound);
  CHECK(CodeOf(f.Put("k", value, {}, PutCondition::kAbsent)) ==
        StatusCode::kOk);
}

// Comes when the test lets it.
struct LateContent final : store::Content {
  LateContent(SimRuntime& process, std::string_view text)
      : latch(process, 1), bytes(Bytes(text)) {}
  Result<std::span<const std::byte>> Open(std::size_t) override {
    return bytes;
  }
  net::Task<Result<std::size_t>> Fill() override {
    co_await latch;
    co_return bytes.size();
  }
  void Release() override {}
  std::optional<std::uint64_t> Left() const override { return bytes.size(); }

  net::Latch latch;
  const std::span<const std::byte> bytes;
};

TEST_CASE("two puts that began together show two CAS, whatever was lost") {
  const std::string value(GENERATE(10, 5000), 'v');
  Fixture f;
  REQUIRE(f.Get("k") == "-");
  LateContent late(f.process, value);
  store::MemoryContent prompt(Bytes(value));
  const PutOptions options;
  std::uint64_t late_cas = 0;
  std::uint64_t prompt_cas = 0;
  const auto put = [&](store::Content& content,
                       std::uint64_t& cas) -> net::Task<void> {
    const Result<ObjectInfo> stored =
        co_await f.store.PutContent("k", content, options, {});
    REQUIRE(stored.has_value());
    cas = stored->cas;
  };
  net::Spawn(put(late, late_cas));
  net::Spawn(put(prompt, prompt_cas));
  REQUIRE(f.world.RunUntil([&] { return prompt_cas != 0; }, seconds(9)));
  for (const auto& server : f.world.servers()) server->Evict("k");
  REQUIRE(f.Get("k") == "-");
  late.latch.CountDown();
  REQUIRE(f.world.RunUntil([&] { return late_cas != 0; }, seconds(9)));
  CHECK(late_cas > prompt_cas);
}

TEST_CASE("a delete may ask for the object's CAS") {
  Fixture f;
  const std::uint64_t cas = f.Put("k", "v")->cas;
  CHECK(net::SyncWait(f.process, f.store.Delete("k", cas + 1)).code() ==
        StatusCode::kConflict);
  CHECK(f.Get("k") == "v");
  CHECK(net::SyncWait(f.process, f.store.Delete("k", cas)).ok());
  CHECK(f.Get("k") == "-");
  CHECK(net::SyncWait(f.process, f.store.Delete("k", cas)).code() ==
        StatusCode::kNotFound);
}

TEST_CASE("touch moves the expiry of manifest and blocks, and nothing else") {
  const std::string value(GENERATE(10, 5000), 'v');
  Fixture f;
  PutOptions options;
  options.expiry = f.UnixSeconds() + 100;
  options.client_flags = 77;
  const std::uint64_t cas = f.Put("k", value, options)->cas;
  const auto touch = [&f](std::int64_t expiry) {
    return net::SyncWait(f.process, f.store.Touch("k", expiry));
  };
  SECTION("longer: also the blocks outlive their first time") {
    REQUIRE(touch(f.UnixSeconds() + 1000).has_value());
    f.Sleep(seconds(900));
    CHECK(f.Get("k") == value);
    REQUIRE(f.last.has_value());
    CHECK_FALSE(f.last->degraded);
    CHECK(f.last->cas == cas);
    CHECK(f.last->client_flags == 77);
    f.Sleep(seconds(101));
    CHECK(f.Get("k") == "-");
  }
  SECTION("for ever") {
    REQUIRE(touch(0).has_value());
    f.Sleep(seconds(100'000));
    CHECK(f.Get("k") == value);
  }
  SECTION("shorter") {
    REQUIRE(touch(f.UnixSeconds() + 10).has_value());
    f.Sleep(seconds(11));
    CHECK(f.Get("k") == "-");
    CHECK(CodeOf(touch(0)) == StatusCode::kNotFound);
  }
}

TEST_CASE("a rewrite replaces what it saw, and is asked again if overtaken") {
  const std::string value(GENERATE(10, 5000), 'v');
  Fixture f;
  PutOptions options;
  options.client_flags = 5;
  options.width = Width::kWide;
  REQUIRE(f.Put("k", value, options).has_value());
  // Another process: those of this one wait.
  ClusterOptions same;
  same.servers = f.session.cluster().options.servers;
  store::Session session(f.process, store::OpenClusterState(same).value(), 16);
  store::Store rival(session, {.scheme = {SchemeKind::kErs2, 2, 1, 3}});
  int asked = 0;
  // In the middle of the first try.
  const auto prepend = [&](const ObjectInfo& info,
                           std::span<const std::byte> old) {
    CHECK(info.client_flags == 5);
    if (++asked == 1) {
      const auto put =
          net::SyncWait(f.process, rival.Put("k", Bytes("rival"), options));
      CHECK(put.has_value());
    }
    store::Rewritten rewritten;
    rewritten.value = "new ";
    rewritten.value.append(reinterpret_cast<const char*>(old.data()),
                           old.size());
    return rewritten;
  };
  const auto info = net::SyncWait(f.process, f.store.Rewrite("k", prepend));
  REQUIRE(info.has_value());
  CHECK(asked == 2);
  CHECK(f.Get("k") == "new rival");
  CHECK(f.last->width == Width::kWide);
  CHECK(f.last->client_flags == 5);
  CHECK(f.last->cas == info->cas);
}

TEST_CASE("a rewriter's refusal changes nothing") {
  Fixture f;
  REQUIRE(f.Put("k", "value").has_value());
  const auto refuse = [](const ObjectInfo&, std::span<const std::byte>) {
    store::Rewritten rewritten;
    rewritten.status = Status(StatusCode::kInvalidArgument, "not a number");
    return rewritten;
  };
  const auto info = net::SyncWait(f.process, f.store.Rewrite("k", refuse));
  REQUIRE_FALSE(info.has_value());
  CHECK(info.error().message() == "not a number");
  CHECK(f.Get("k") == "value");
  CHECK(CodeOf(net::SyncWait(f.process, f.store.Rewrite("none", refuse))) ==
        StatusCode::kNotFound);
}

TEST_CASE("marks stay with an object until a put") {
  const std::string value(GENERATE(10, 5000), 'v');
  Fixture f;
  const std::uint64_t cas = f.Put("k", value)->cas;
  const auto update = [&f](const store::MetadataUpdate& change) {
    const auto updater = [&](const ObjectInfo&) { return change; };
    return net::SyncWait(f.process, f.store.UpdateMetadata("k", updater));
  };
  store::MetadataUpdate nothing;
  CHECK(update(nothing)->version == f.store_version("k"));
  store::MetadataUpdate invalidate;
  invalidate.stale = true;
  invalidate.new_cas = true;
  const auto stale = update(invalidate);
  REQUIRE(stale.has_value());
  CHECK(stale->stale);
  CHECK(stale->cas > cas);
  store::MetadataUpdate win;
  win.won = true;
  win.expiry = f.UnixSeconds() + 1000;
  CHECK(update(win)->cas == stale->cas);
  TransitionTarget wide;
  wide.width = Width::kWide;
  REQUIRE(net::SyncWait(f.process, f.store.Transition(
                                       "k", wide, TransitionVariant::kOptimal))
              .has_value());
  CHECK(f.Get("k") == value);
  CHECK(f.last->stale);
  CHECK(f.last->won);

  // A put that knows an older CAS is taken as stale, if it asks for that, and
  // puts the value alone.
  const std::string late(value.size(), 'l');
  PutOptions options;
  options.expected_cas = cas;
  options.expiry = f.UnixSeconds() + 1;
  CHECK(CodeOf(f.Put("k", late, options)) == StatusCode::kConflict);
  store::MemoryContent content(Bytes(late));
  store::PutTerms terms;
  terms.stale_if_newer = true;
  REQUIRE(
      net::SyncWait(f.process, f.store.PutContent("k", content, options, terms))
          .has_value());
  CHECK(f.Get("k") == late);
  CHECK(f.last->stale);
  CHECK(f.last->won);
  CHECK(f.last->expiry == *win.expiry);
  // Its blocks were to end long before that.
  f.Sleep(seconds(500));
  CHECK(f.Get("k") == late);
  REQUIRE(f.Put("k", "new").has_value());
  CHECK(f.Get("k") == "new");
  CHECK_FALSE(f.last->stale);
}

TEST_CASE("marks end with a value that is rewritten, unless it keeps them") {
  const std::string value(GENERATE(10, 5000), 'v');
  Fixture f;
  REQUIRE(f.Put("k", value).has_value());
  const auto mark = [&f] {
    const auto both = [](const ObjectInfo&) {
      store::MetadataUpdate marks;
      marks.stale = marks.won = true;
      return marks;
    };
    REQUIRE(net::SyncWait(f.process, f.store.UpdateMetadata("k", both))
                .has_value());
  };
  const auto rewrite = [&f](bool keeps_marks) {
    const auto rewriter = [=](const ObjectInfo&,
                              std::span<const std::byte> old) {
      store::Rewritten rewritten;
      rewritten.value.assign(old.size(), 'w');
      rewritten.keeps_marks = keeps_marks;
      return rewritten;
    };
    return net::SyncWait(f.process, f.store.Rewrite("k", rewriter));
  };
  mark();
  auto info = rewrite(true);
  REQUIRE(info.has_value());
  CHECK(info->stale);
  CHECK(info->won);
  info = rewrite(false);
  REQUIRE(info.has_value());
  CHECK_FALSE(info->stale);
  CHECK_FALSE(info->won);
  mark();
  const auto nothing = [](std::span<std::byte>) {
    return Result<std::size_t>(0);
  };
  info = net::SyncWait(f.process, f.store.Append("k", nothing));
  REQUIRE(info.has_value());
  CHECK_FALSE(info->stale);
  CHECK_FALSE(info->won);
}

TEST_CASE("a put may choose the object's CAS") {
  Fixture f;
  store::MemoryContent content(Bytes("v"));
  store::PutTerms terms;
  terms.new_cas = 42;
  CHECK(net::SyncWait(f.process, f.store.PutContent("k", content, {}, terms))
            ->cas == 42);
  CHECK(f.Get("k") == "v");
  CHECK(f.last->cas == 42);
}

TEST_CASE("a flush makes older objects absent, at its time") {
  const std::string value(GENERATE(10, 5000), 'v');
  Fixture f;
  CHECK(net::SyncWait(f.process, f.store.Flush(1)).ok());  // never used
  REQUIRE(f.Put("old", value).has_value());
  const auto now = [&f] {
    return static_cast<std::uint64_t>(f.process.WallMicros());
  };
  SECTION("now") {
    f.Sleep(std::chrono::milliseconds(1));
    REQUIRE(net::SyncWait(f.process, f.store.Flush(now())).ok());
    CHECK(f.Get("old") == "-");
    CHECK(CodeOf(f.Put("old", value, {}, PutCondition::kPresent)) ==
          StatusCode::kNotFound);
    REQUIRE(f.Put("old", "new").has_value());
    CHECK(f.Get("old") == "new");
  }
  SECTION("later") {
    REQUIRE(
        net::SyncWait(f.process, f.store.Flush(now() + 10 * kMicrosPerSecond))
            .ok());
    REQUIRE(f.Put("before", value).has_value());
    CHECK(f.Get("old") == value);
    f.Sleep(seconds(11));
    REQUIRE(f.Put("after", value).has_value());
    CHECK(f.Get("old") == "-");
    CHECK(f.Get("before") == "-");
    CHECK(f.Get("after") == value);
  }
  SECTION("a process that starts afterwards knows") {
    f.Sleep(std::chrono::milliseconds(1));
    REQUIRE(net::SyncWait(f.process, f.store.Flush(now())).ok());
    SimRuntime& other = f.world.AddProcess("other");
    ClusterOptions options;
    options.servers = f.session.cluster().options.servers;
    store::Session session(other, store::OpenClusterState(options).value(), 16);
    store::Store store(session, {});
    Value read;
    const auto got = net::SyncWait(other, store.Get("old", read));
    REQUIRE_FALSE(got.has_value());
    CHECK(got.error().code() == StatusCode::kNotFound);
  }
}

}  // namespace
}  // namespace ers::sim
