// The C interface over a Client whose answers are set.
#include "client/c_api.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <new>
#include <stdexcept>

#include "unit/client/fake_client.h"

namespace ers {
namespace {

// An open ers_client over a fake.
struct Fixture {
  Fixture() {
    auto owned = std::make_unique<FakeClient>();
    fake = owned.get();
    c.client = std::move(owned);
    fake->info.scheme = {SchemeKind::kErs2, 4, 1, 5};
    fake->info.width = Width::kWide;
    fake->info.length = 11;
    fake->info.client_flags = 7;
    fake->info.version = "0123456789abcdef0123456789abcdef";
    fake->info.degraded = true;
    fake->info.repaired_blocks = 2;
  }
  std::string error() const { return ers_last_error(&c); }

  FakeClient* fake;
  ers_client c;
};

TEST_CASE("The C header and the library have one version") {
  CHECK(std::string(ers_version()) == ERS_VERSION);
  CHECK(std::string(ERS_VERSION) == std::to_string(ERS_VERSION_MAJOR) + "." +
                                        std::to_string(ERS_VERSION_MINOR) +
                                        "." +
                                        std::to_string(ERS_VERSION_PATCH));
}

TEST_CASE("Every status has its name in C") {
  for (int code = 0; code <= ERS_INCOMPATIBLE; ++code) {
    CAPTURE(code);
    CHECK(ers_status_name(static_cast<ers_status>(code)) ==
          StatusCodeName(static_cast<StatusCode>(code)));
  }
}

TEST_CASE_METHOD(Fixture, "ers_put hands over value and options") {
  ers_put_options options;
  ers_put_options_init(&options);
  options.scheme = "rs:4,2";
  options.width = ERS_WIDE;
  options.client_flags = 9;
  options.expiry = 77;
  options.expected_cas = 5;
  options.only_if_absent = 1;
  ers_object_info info;
  REQUIRE(ers_put(&c, "keyX", 3, "value", 5, &options, &info) == ERS_OK);
  CHECK(fake->key == "key");
  CHECK(fake->bytes == "value");
  CHECK(fake->put_options.scheme == Scheme{SchemeKind::kRs, 4, 2, 4});
  CHECK(fake->put_options.width == Width::kWide);
  CHECK(fake->put_options.client_flags == 9);
  CHECK(fake->put_options.expiry == 77);
  CHECK(fake->put_options.expected_cas == 5);
  CHECK(fake->put_options.only_if_absent);
  CHECK(std::string(info.scheme) == "ers2:4,1,5");
  CHECK(info.width == ERS_WIDE);
  CHECK(info.length == 11);
  CHECK(info.client_flags == 7);
  CHECK(info.version == fake->info.version);
  CHECK(error().empty());
}

TEST_CASE_METHOD(Fixture, "a width that is none is refused") {
  ers_put_options options;
  ers_put_options_init(&options);
  for (const unsigned none : {4U, 256U, 257U}) {
    // As C code can: here such an enum has no such value.
    static_assert(sizeof(options.width) == sizeof(none));
    std::memcpy(&options.width, &none, sizeof(none));
    CHECK(ers_put(&c, "k", 1, "v", 1, &options, nullptr) ==
          ERS_INVALID_ARGUMENT);
    CHECK(error() == "there is no width " + std::to_string(none));
  }
}

TEST_CASE_METHOD(Fixture, "C has every width of a chain") {
  ers_put_options options;
  ers_put_options_init(&options);
  options.scheme = "ers:4-6-8-12,1";
  for (const auto& [in_c, width] : {std::pair(ERS_NARROW, Width::kNarrow),
                                    {ERS_SECOND, Width::kSecond},
                                    {ERS_THIRD, Width::kThird},
                                    {ERS_WIDE, Width::kWide}}) {
    options.width = in_c;
    fake->info.width = width;
    ers_object_info info;
    REQUIRE(ers_put(&c, "key", 3, "value", 5, &options, &info) == ERS_OK);
    CHECK(fake->put_options.width == width);
    CHECK(info.width == in_c);
  }
}

TEST_CASE("A width has its name in C, and is found by it") {
  const char* const chain = "ers:4-6-8-12,1";
  ers_width width;
  char name[ERS_SCHEME_BYTES];
  for (const auto& [text, expected] : {std::pair("4", ERS_NARROW),
                                       {"6", ERS_SECOND},
                                       {"8", ERS_THIRD},
                                       {"12", ERS_WIDE}}) {
    CAPTURE(text);
    REQUIRE(ers_width_named(chain, text, &width) == ERS_OK);
    CHECK(width == expected);
    REQUIRE(ers_width_name(chain, width, name, sizeof name) == ERS_OK);
    CHECK(std::string(name) == text);
  }
  REQUIRE(ers_width_named(nullptr, "5", &width) == ERS_OK);
  CHECK(width == ERS_WIDE);
  REQUIRE(ers_width_name(nullptr, ERS_WIDE, name, 3) == ERS_OK);
  CHECK(std::string(name) == "wi");

  CHECK(ers_width_named("rs:4,2", "wide", &width) == ERS_INVALID_ARGUMENT);
  CHECK(ers_width_named("nope", "wide", &width) == ERS_INVALID_ARGUMENT);
  CHECK(ers_width_named(nullptr, nullptr, &width) == ERS_INVALID_ARGUMENT);
  CHECK(ers_width_named(nullptr, "wide", nullptr) == ERS_INVALID_ARGUMENT);
  CHECK(ers_width_name("rs:4,2", ERS_WIDE, name, 9) == ERS_INVALID_ARGUMENT);
  CHECK(ers_width_name(nullptr, ERS_WIDE, name, 0) == ERS_INVALID_ARGUMENT);
  CHECK(ers_width_name(nullptr, ERS_WIDE, nullptr, 9) == ERS_INVALID_ARGUMENT);
}

TEST_CASE("A target is a width, by word or by number, m, both, or a scheme") {
  CHECK(ParseTransitionTarget("narrow")->width == Width::kNarrow);
  CHECK(ParseTransitionTarget("wide")->width == Width::kWide);
  CHECK(ParseTransitionTarget("12")->data_blocks == 12);
  CHECK_FALSE(ParseTransitionTarget("12")->width.has_value());
  CHECK(ParseTransitionTarget("ers:4-6-12,1")->scheme ==
        Scheme{SchemeKind::kChain, 4, 1, 12, {6}});
  for (const char* one : {"narrow", "wide", "12", "ers:4-6-12,1"}) {
    CHECK_FALSE(ParseTransitionTarget(one)->parity_blocks.has_value());
  }
  CHECK(ParseTransitionTarget("wide,2")->width == Width::kWide);
  CHECK(ParseTransitionTarget("wide,2")->parity_blocks == 2);
  CHECK(ParseTransitionTarget("12,3")->data_blocks == 12);
  CHECK(ParseTransitionTarget("12,3")->parity_blocks == 3);
  CHECK(ParseTransitionTarget("same,1")->parity_blocks == 1);
  CHECK_FALSE(ParseTransitionTarget("same,1")->width.has_value());
  CHECK_FALSE(ParseTransitionTarget("same,1")->scheme.has_value());
  for (const char* none :
       {"", "06", "6 ", "+6", "99999999999", "second", "same", "wide,", "6,0",
        "6,-1", "6,01", "6,2,3", ",2", "same,x", "rs:4,1,2"}) {
    CAPTURE(none);
    CHECK_FALSE(ParseTransitionTarget(none).has_value());
  }
}

TEST_CASE_METHOD(Fixture, "Options and info may be NULL") {
  CHECK(ers_put(&c, "k", 1, nullptr, 0, nullptr, nullptr) == ERS_OK);
  CHECK_FALSE(fake->put_options.scheme.has_value());
  CHECK(ers_update(&c, "k", 1, 4, "v", 1, nullptr) == ERS_OK);
  CHECK(fake->offset == 4);
}

TEST_CASE_METHOD(Fixture, "A bad scheme reaches no server") {
  ers_put_options options;
  ers_put_options_init(&options);
  options.scheme = "rs:0,0";
  CHECK(ers_put(&c, "k", 1, "v", 1, &options, nullptr) == ERS_INVALID_ARGUMENT);
  CHECK_FALSE(error().empty());
  CHECK(fake->calls == 0);
}

TEST_CASE_METHOD(Fixture, "Null arguments are reported, not followed") {
  const ers_object_detail* detail;
  CHECK(ers_put(&c, nullptr, 1, "v", 1, nullptr, nullptr) ==
        ERS_INVALID_ARGUMENT);
  CHECK(error() == "key must not be NULL");
  CHECK(ers_put(&c, "k", 1, nullptr, 1, nullptr, nullptr) ==
        ERS_INVALID_ARGUMENT);
  CHECK(error() == "value must not be NULL");
  CHECK(ers_put_from(&c, "k", 1, nullptr, nullptr, nullptr, nullptr) ==
        ERS_INVALID_ARGUMENT);
  CHECK(ers_update(&c, "k", 1, 0, nullptr, 1, nullptr) == ERS_INVALID_ARGUMENT);
  CHECK(ers_append(&c, "k", 1, nullptr, 1, nullptr) == ERS_INVALID_ARGUMENT);
  CHECK(ers_append_from(&c, "k", 1, nullptr, nullptr, nullptr) ==
        ERS_INVALID_ARGUMENT);
  CHECK(ers_get(&c, "k", 1, nullptr, nullptr) == ERS_INVALID_ARGUMENT);
  CHECK(ers_get_to(&c, "k", 1, nullptr, nullptr, nullptr, nullptr) ==
        ERS_INVALID_ARGUMENT);
  CHECK(ers_delete(&c, nullptr, 0) == ERS_INVALID_ARGUMENT);
  CHECK(ers_transition(&c, "k", 1, nullptr, ERS_OPTIMAL, nullptr) ==
        ERS_INVALID_ARGUMENT);
  CHECK(ers_stat(&c, "k", 1, nullptr) == ERS_INVALID_ARGUMENT);
  CHECK(ers_stat(&c, nullptr, 1, &detail) == ERS_INVALID_ARGUMENT);
  CHECK(detail == nullptr);
  CHECK(ers_list(&c, nullptr, nullptr) == ERS_INVALID_ARGUMENT);
  CHECK(ers_servers(&c, nullptr) == ERS_INVALID_ARGUMENT);
  CHECK(ers_delete(nullptr, "k", 1) == ERS_INVALID_ARGUMENT);
  CHECK(std::string(ers_last_error(nullptr)) == "client must not be NULL");
  CHECK(fake->calls == 0);
}

TEST_CASE_METHOD(Fixture, "Sources feed a put and an append to their end") {
  std::string rest = "eleven bytes";
  const ers_source source = [](void* context, void* into, std::size_t bytes) {
    auto& text = *static_cast<std::string*>(context);
    const std::size_t size = std::min(bytes, text.size());
    std::memcpy(into, text.data(), size);
    text.erase(0, size);
    return static_cast<std::ptrdiff_t>(size);
  };
  REQUIRE(ers_put_from(&c, "k", 1, source, &rest, nullptr, nullptr) == ERS_OK);
  CHECK(fake->bytes == "eleven bytes");
  rest = "more";
  REQUIRE(ers_append_from(&c, "k", 1, source, &rest, nullptr) == ERS_OK);
  CHECK(fake->bytes == "more");
  REQUIRE(ers_append(&c, "k", 1, "and more", 8, nullptr) == ERS_OK);
  CHECK(fake->bytes == "and more");
}

TEST_CASE_METHOD(Fixture, "A source that gives up or lies ends its put") {
  // -1, and one byte more than there is room for.
  const ers_source gives_up = [](void*, void*, std::size_t) {
    return std::ptrdiff_t{-1};
  };
  const ers_source lies = [](void*, void*, std::size_t bytes) {
    return static_cast<std::ptrdiff_t>(bytes + 1);
  };
  CHECK(ers_put_from(&c, "k", 1, gives_up, nullptr, nullptr, nullptr) ==
        ERS_INVALID_ARGUMENT);
  CHECK(ers_append_from(&c, "k", 1, lies, nullptr, nullptr) ==
        ERS_INVALID_ARGUMENT);
  CHECK(fake->calls == 0);
}

TEST_CASE_METHOD(Fixture, "A get makes a value and the next one reuses it") {
  fake->bytes = "hello";
  ers_value* value = nullptr;
  ers_object_info info;
  REQUIRE(ers_get(&c, "k", 1, &value, &info) == ERS_OK);
  REQUIRE(ers_value_bytes(value) == 5);
  CHECK(std::memcmp(ers_value_data(value), "hello", 5) == 0);
  CHECK(info.degraded == 1);
  CHECK(info.repaired_blocks == 2);

  ers_value* const first = value;
  fake->bytes = "ell";
  REQUIRE(ers_get_range(&c, "k", 1, 1, 3, &value, nullptr) == ERS_OK);
  CHECK(value == first);
  CHECK(ers_value_bytes(value) == 3);
  CHECK(fake->offset == 1);
  CHECK(fake->length == 3);

  fake->outcome = Status(StatusCode::kNotFound, "k: no such object");
  CHECK(ers_get(&c, "k", 1, &value, nullptr) == ERS_NOT_FOUND);
  CHECK(ers_value_bytes(value) == 0);
  CHECK(error() == "k: no such object");
  ers_value_free(value);
  CHECK(ers_value_bytes(nullptr) == 0);
  CHECK(ers_value_data(nullptr) == nullptr);
}

TEST_CASE_METHOD(Fixture, "ers_get_into reads into the caller's memory") {
  fake->bytes = "hello";
  char memory[] = "........";
  std::size_t bytes = 99;
  ers_object_info info;
  REQUIRE(ers_get_into(&c, "k", 1, memory, 5, &bytes, &info) == ERS_OK);
  CHECK(std::string(memory) == "hello...");
  CHECK(bytes == 5);
  CHECK(info.repaired_blocks == 2);

  CHECK(ers_get_into(&c, "k", 1, memory, 4, &bytes, &info) == ERS_TOO_LARGE);
  CHECK_FALSE(error().empty());
  CHECK(bytes == 5);

  REQUIRE(ers_get_range_into(&c, "k", 1, 7, memory + 1, 6, nullptr, nullptr) ==
          ERS_OK);
  CHECK(std::string(memory) == "hhello..");
  CHECK(fake->offset == 7);
  CHECK(fake->length == 6);
  fake->bytes = "";
  REQUIRE(ers_get_into(&c, "k", 1, nullptr, 0, &bytes, nullptr) == ERS_OK);
  CHECK(bytes == 0);
}

TEST_CASE_METHOD(Fixture, "ers_get_by asks for memory of the value's length") {
  struct Memory {
    std::string bytes;
    bool refuses = false;
  } given;
  const ers_memory memory = [](void* context, std::size_t bytes) -> void* {
    auto& to = *static_cast<Memory*>(context);
    if (to.refuses) return nullptr;
    to.bytes.resize(bytes);
    return to.bytes.data();
  };
  fake->bytes = "hello";
  std::size_t bytes = 0;
  REQUIRE(ers_get_by(&c, "k", 1, 3, 9, memory, &given, &bytes, nullptr) ==
          ERS_OK);
  CHECK(given.bytes == "hello");
  CHECK(bytes == 5);
  CHECK(fake->offset == 3);
  CHECK(fake->length == 9);

  given.refuses = true;
  CHECK(ers_get_by(&c, "k", 1, 0, 9, memory, &given, &bytes, nullptr) ==
        ERS_TOO_LARGE);
  CHECK(ers_get_by(&c, "k", 1, 0, 9, nullptr, nullptr, &bytes, nullptr) ==
        ERS_INVALID_ARGUMENT);
}

TEST_CASE_METHOD(Fixture, "ers_get_to announces, streams and can be stopped") {
  struct Seen {
    std::string bytes;
    std::uint64_t length = 0;
    std::size_t stop_at = 100;
  } seen;
  const ers_begin begin = [](void* context, const ers_object_info* info) {
    static_cast<Seen*>(context)->length = info->length;
  };
  const ers_sink sink = [](void* context, const void* bytes, std::size_t size) {
    auto& to = *static_cast<Seen*>(context);
    to.bytes.append(static_cast<const char*>(bytes), size);
    return to.bytes.size() < to.stop_at ? 0 : 1;
  };
  fake->bytes = "stream";
  REQUIRE(ers_get_to(&c, "k", 1, begin, sink, &seen, nullptr) == ERS_OK);
  CHECK(seen.bytes == "stream");
  CHECK(seen.length == 11);

  seen = {};
  seen.stop_at = 2;
  CHECK(ers_get_to(&c, "k", 1, nullptr, sink, &seen, nullptr) ==
        ERS_INVALID_ARGUMENT);
  CHECK(seen.bytes == "st");
}

TEST_CASE_METHOD(Fixture, "Nothing thrown gets out; a change is unknown") {
  const auto thrower = GENERATE(0, 1);
  CAPTURE(thrower);
  if (thrower == 0) {
    fake->raise = [] { throw std::bad_alloc(); };
  } else {
    fake->raise = [] { throw std::runtime_error("odd"); };
  }
  ers_value* value = nullptr;
  CHECK(ers_get(&c, "k", 1, &value, nullptr) == ERS_NO_MEMORY);
  CHECK_FALSE(error().empty());
  ers_value_free(value);
  CHECK(ers_put(&c, "k", 1, "v", 1, nullptr, nullptr) == ERS_OUTCOME_UNKNOWN);
  CHECK_FALSE(error().empty());
  CHECK(ers_delete(&c, "k", 1) == ERS_OUTCOME_UNKNOWN);
  fake->raise = nullptr;
  CHECK(ers_delete(&c, "k", 1) == ERS_OK);
  CHECK(error().empty());
}

TEST_CASE_METHOD(Fixture, "ers_transition passes target, plan and counts") {
  fake->transition.path = TransitionPath::kReencode;
  fake->transition.data_reads = 1;
  fake->transition.parity_reads = 2;
  fake->transition.writes = 3;
  fake->transition.bytes_read = 4;
  fake->transition.bytes_written = 5;
  fake->transition.microseconds = 6;
  fake->transition.object = fake->info;
  ers_transition_info info;
  REQUIRE(ers_transition(&c, "k", 1, "wide", ERS_NO_ORDER, &info) == ERS_OK);
  CHECK(fake->target.width == Width::kWide);
  CHECK(fake->variant == TransitionVariant::kNoOrder);
  CHECK(info.path == ERS_BY_REENCODE);
  for (const auto& [path, expected] :
       {std::pair{TransitionPath::kPlan, ERS_BY_PLAN},
        {TransitionPath::kParity, ERS_BY_PARITY}}) {
    fake->transition.path = path;
    ers_transition_info other;
    REQUIRE(ers_transition(&c, "k", 1, "wide", ERS_OPTIMAL, &other) == ERS_OK);
    CHECK(other.path == expected);
  }
  CHECK(info.data_reads == 1);
  CHECK(info.parity_reads == 2);
  CHECK(info.writes == 3);
  CHECK(info.bytes_read == 4);
  CHECK(info.bytes_written == 5);
  CHECK(info.microseconds == 6);
  CHECK(std::string(info.object.scheme) == "ers2:4,1,5");

  fake->calls = 0;
  CHECK(ers_transition(&c, "k", 1, "sideways", ERS_OPTIMAL, &info) ==
        ERS_INVALID_ARGUMENT);
  CHECK(ers_transition(&c, "k", 1, "wide", static_cast<ers_variant>(3),
                       &info) == ERS_INVALID_ARGUMENT);
  CHECK(fake->calls == 0);
}

TEST_CASE_METHOD(Fixture, "ers_export passes its mode") {
  ers_object_info info;
  REQUIRE(ers_export(&c, "k", 1, ERS_CHECK_ONLY, &info) == ERS_OK);
  CHECK(fake->mode == ExportMode::kCheckOnly);
  CHECK(std::string(info.scheme) == "ers2:4,1,5");
  REQUIRE(ers_export(&c, "k", 1, ERS_EXPORT, nullptr) == ERS_OK);
  CHECK(fake->mode == ExportMode::kExport);
  fake->calls = 0;
  CHECK(ers_export(&c, "k", 1, 2, nullptr) == ERS_INVALID_ARGUMENT);
  CHECK(fake->calls == 0);
}

TEST_CASE_METHOD(Fixture, "ers_collect_garbage passes its terms and counts") {
  const Status silent(StatusCode::kUnavailable, "a:1 does not list its keys");
  fake->garbage = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, silent};
  ers_garbage_options options;
  ers_garbage_options_init(&options);
  CHECK(options.grace_ms == 3600000);
  CHECK(options.objects_per_second == 0);
  CHECK(options.dry_run == 0);
  options = {1500, 70, 1};
  ers_garbage_report report;
  REQUIRE(ers_collect_garbage(&c, &options, &report) == ERS_OK);
  CHECK(fake->garbage_options.grace.count() == 1500);
  CHECK(fake->garbage_options.objects_per_second == 70);
  CHECK(fake->garbage_options.dry_run);
  CHECK(report.listed == 1);
  CHECK(report.live == 2);
  CHECK(report.young == 3);
  CHECK(report.expiring == 4);
  CHECK(report.dropped == 5);
  CHECK(report.dropped_bytes == 6);
  CHECK(report.skipped == 7);
  CHECK(report.flushed == 8);
  CHECK(report.packs == 9);
  CHECK(report.silent == 10);
  CHECK(report.why == std::string("a:1 does not list its keys"));
  fake->garbage.why = Status(StatusCode::kUnavailable, std::string(9999, 'y'));
  REQUIRE(ers_collect_garbage(&c, nullptr, &report) == ERS_OK);
  CHECK(report.why == std::string(ERS_ERROR_BYTES - 1, 'y'));
  CHECK_FALSE(fake->garbage_options.dry_run);
  CHECK(fake->garbage_options.grace == GarbageOptions().grace);
  REQUIRE(ers_collect_garbage(&c, nullptr, nullptr) == ERS_OK);
  fake->calls = 0;
  options.grace_ms = -1;
  CHECK(ers_collect_garbage(&c, &options, nullptr) == ERS_INVALID_ARGUMENT);
  CHECK(fake->calls == 0);
}

TEST_CASE_METHOD(Fixture, "ers_stat owns what it points to") {
  static_cast<ObjectInfo&>(fake->detail) = fake->info;
  fake->detail.replicas = {"a:1", "b:2"};
  fake->detail.blocks = {
      {0, 3, StoredBlockKind::kData, 1, 2, "a:1", 100, true},
      {1, 4, StoredBlockKind::kParity, 5, 6, "b:2", 200, false}};
  const ers_object_detail* detail;
  REQUIRE(ers_stat(&c, "k", 1, &detail) == ERS_OK);
  fake->detail = {};
  REQUIRE(detail->replica_count == 2);
  CHECK(std::string(detail->replicas[1]) == "b:2");
  REQUIRE(detail->block_count == 2);
  CHECK(detail->blocks[0].is_parity == 0);
  CHECK(detail->blocks[0].present == 1);
  CHECK(detail->blocks[1].group == 1);
  CHECK(detail->blocks[1].block == 4);
  CHECK(detail->blocks[1].is_parity == 1);
  CHECK(detail->blocks[1].stripe == 5);
  CHECK(detail->blocks[1].node == 6);
  CHECK(std::string(detail->blocks[1].server) == "b:2");
  CHECK(detail->blocks[1].bytes == 200);
  CHECK(detail->blocks[1].present == 0);
  CHECK(detail->object.length == 11);
  ers_object_detail_free(detail);
  ers_object_detail_free(nullptr);

  fake->outcome = Status(StatusCode::kUnavailable, "b:2 is silent");
  CHECK(ers_stat(&c, "k", 1, &detail) == ERS_UNAVAILABLE);
  CHECK(detail == nullptr);
}

TEST_CASE_METHOD(Fixture, "ers_list visits until the callback stops it") {
  fake->objects = {{"one", fake->info}, {"two", fake->info}, {"three", {}}};
  std::vector<std::string> seen;
  const ers_visit visit = [](void* context, const char* key, std::size_t size,
                             const ers_object_info* info) {
    auto& names = *static_cast<std::vector<std::string>*>(context);
    names.emplace_back(key, size);
    names.back() += info->width == ERS_WIDE ? " wide" : " narrow";
    return names.size() == 2 ? 1 : 0;
  };
  REQUIRE(ers_list(&c, visit, &seen) == ERS_OK);
  CHECK(seen == std::vector<std::string>{"one wide", "two wide"});
}

TEST_CASE_METHOD(Fixture, "ers_servers owns what it points to") {
  fake->cluster.epoch = 8;
  fake->cluster.max_failures = 2;
  fake->cluster.time = 9;
  ServerInfo server;
  server.name = "a:1";
  server.weight = 3;
  server.state = MemberState::kDown;
  server.incarnation = 4;
  server.since = 5;
  server.reachable = true;
  server.version = "1.6.18";
  server.item_size_max = 6;
  server.evictions = true;
  server.last_error = "timed out";
  fake->cluster.servers = {server, ServerInfo{}};
  fake->cluster.servers[1].state = MemberState::kBackfilling;
  const ers_cluster_info* info;
  REQUIRE(ers_servers(&c, &info) == ERS_OK);
  fake->cluster = {};
  CHECK(info->epoch == 8);
  CHECK(info->max_failures == 2);
  CHECK(info->time == 9);
  REQUIRE(info->server_count == 2);
  CHECK(std::string(info->servers[0].name) == "a:1");
  CHECK(info->servers[0].weight == 3);
  CHECK(info->servers[0].state == ERS_DOWN);
  CHECK(info->servers[0].incarnation == 4);
  CHECK(info->servers[0].since == 5);
  CHECK(info->servers[0].reachable == 1);
  CHECK(std::string(info->servers[0].version) == "1.6.18");
  CHECK(info->servers[0].item_size_max == 6);
  CHECK(info->servers[0].evictions == 1);
  CHECK(std::string(info->servers[0].last_error) == "timed out");
  CHECK(info->servers[1].state == ERS_BACKFILLING);
  ers_cluster_info_free(info);
  ers_cluster_info_free(nullptr);
}

}  // namespace
}  // namespace ers
