// Configuration files: what they set, and what is said about wrong ones.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/machine.h"
#include "config/options.h"
#include "config/settings.h"
#include "shared/address.h"
#include "shared/token.h"
#include "unit/proxy/temporary_file.h"
#include "unit/proxy/temporary_folder.h"

using namespace ers;
using namespace ers::proxy;

namespace {

constexpr const char* kSix = "servers: [a:1, b:1, c:1, d:1, e:1, f:1]\n";

// Loaded and completed, without the file's name in messages.
Result<ServerOptions> Load(const std::string& text) {
  const TemporaryFile file(text);
  Result<ServerOptions> options = LoadOptions(file.name());
  Status status = options ? CompleteOptions(*options) : options.error();
  if (status.ok()) return options;
  std::string message = status.message();
  for (std::size_t at; (at = message.find(file.name())) != message.npos;) {
    message.replace(at, file.name().size(), "FILE");
  }
  return Fail(status.code(), std::move(message));
}

std::string ErrorOf(const std::string& text) {
  const Result<ServerOptions> options = Load(text);
  if (options) return "accepted";
  REQUIRE(options.error().code() == StatusCode::kInvalidArgument);
  return options.error().message();
}

std::string TextOf(const std::string& name) {
  std::ifstream file(name);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Sample() { return TextOf(ERS_SAMPLE_CONFIG); }

const std::string kToken = "a-token-of-twenty-5";

std::string ThisUser() { return getpwuid(geteuid())->pw_name; }

void Replace(std::string& text, std::string_view old_part,
             const std::string& new_part) {
  REQUIRE(text.find(old_part) != std::string::npos);
  text.replace(text.find(old_part), old_part.size(), new_part);
}

// With the settings that it only shows.
std::string WholeSample() {
  return std::regex_replace(
      Sample(), std::regex("(^|\n)#(?=[a-z]|  - |  [a-z_]+:|    [a-z])"), "$1");
}

}  // namespace

TEST_CASE("a file sets every setting") {
  const TemporaryFile token(kToken + "\n");
  const Result<ServerOptions> options =
      Load(R"(
listen: ["[::1]:0", /run/ers.sock]
servers: [a:1, "b:1:7", "[::1]:1", /run/m.sock, e:1, f:1]
max_failures: 3
state_file: /var/view
scheme: rs:3,2
inline_below: 17
column_below: 18
rules:
  - {prefix: x, scheme: rep:3, max_expiry_s: 9, inline_below: 5}
admin: ":7"
count_objects_s: 600
garbage: {grace_s: 3601, every_s: 11, objects_per_second: 12}
state_dir: /tmp
threads: 5
timeouts: {connect_ms: 1, request_ms: 2, operation_ms: 3}
limits: {max_connections: 4, max_value_bytes: 6, idle_timeout_s: 8,
         memory_in_flight_bytes: 377487360}
trace_export: http://otel:4318
trace_sample: 0.25
log: {level: error, format: json}
)"
           "user: " +
           ThisUser() + "\nadmin_token_file: " + token.name());
  REQUIRE(options);
  CHECK(options->listen ==
        std::vector<std::string>{"[::1]:0", "/run/ers.sock"});
  const ClusterOptions& cluster = options->cluster;
  CHECK(cluster.servers == "a:1,b:1:7,[::1]:1,/run/m.sock,e:1,f:1");
  CHECK(cluster.max_failures == 3);
  CHECK(cluster.state_file == "/var/view");
  CHECK(FormatScheme(options->client.scheme) == "rs:3,2");
  CHECK(options->client.inline_below == 17);
  CHECK(options->client.column_below == 18);
  CHECK(options->admin == ":7");
  CHECK(options->admin_token_file == token.name());
  CHECK(options->admin_token == kToken);
  CHECK(options->count_objects_every == std::chrono::minutes(10));
  CHECK(options->garbage.grace.count() == 3601);
  CHECK(options->garbage.every.count() == 11);
  CHECK(options->garbage.objects_per_second == 12);
  CHECK(options->state_dir == "/tmp");
  CHECK(options->threads == 5);
  CHECK(cluster.connect_timeout.count() == 1);
  CHECK(cluster.request_timeout.count() == 2);
  CHECK(cluster.operation_timeout.count() == 3);
  CHECK(options->max_connections == 4);
  CHECK(options->max_value_bytes == 6);
  CHECK(options->idle_timeout.count() == 8);
  CHECK(options->user == ThisUser());
  CHECK(options->memory_in_flight_bytes == 377487360);  // the least
  CHECK(options->trace_export == "http://otel:4318");
  CHECK(options->trace_sample == 0.25);
  CHECK(options->log_level == "error");
  CHECK(options->log_format == LogFormat::kJson);
  REQUIRE(options->rules->list.size() == 1);
  const Rule& rule = options->rules->list[0];
  CHECK(FormatScheme(*rule.scheme) == "rep:3");
  CHECK(rule.max_expiry_s == 9);
  CHECK(rule.inline_below == 5);
}

TEST_CASE("policies are read, each with its pace") {
  const Result<ServerOptions> loaded = Load(
      "servers: [a:1, b:1, c:1, d:1, e:1, f:1]\n"
      "policies:\n"
      "  widen: {idle_s: 61, every_s: 7, prefix: \"w:\", min_bytes: 9,\n"
      "          parallel: 3, bytes_per_second: 1000}\n"
      "  narrow: {hits: 5, within_s: 60, prefix: \"n:\", parallel: 2,\n"
      "           bytes_per_second: 2000}\n"
      "  pack: {idle_s: 62, every_s: 11, prefix: \"p:\", parallel: 5,\n"
      "         bytes_per_second: 3000}\n"
      "  leave_alone_s: 8\n");
  if (!loaded) FAIL(loaded.error().message());
  const WidenPolicy& widen = loaded->policies.widen;
  CHECK(widen.tiers == std::vector<Tier>{{61, "wide"}});
  CHECK(widen.every_seconds == 7);
  CHECK(widen.prefix == "w:");
  CHECK(widen.min_bytes == 9);
  CHECK(widen.parallel == 3);
  CHECK(widen.bytes_per_second == 1000);
  const NarrowPolicy& narrow = loaded->policies.narrow;
  CHECK(narrow.tiers == std::vector<Tier>{{5, "narrow"}});
  CHECK(narrow.within_seconds == 60);
  CHECK(narrow.prefix == "n:");
  CHECK(narrow.parallel == 2);
  CHECK(narrow.bytes_per_second == 2000);
  const PackPolicy& pack = loaded->policies.pack;
  CHECK(pack.idle_seconds == 62);
  CHECK(pack.every_seconds == 11);
  CHECK(pack.prefix == "p:");
  CHECK(pack.parallel == 5);
  CHECK(pack.bytes_per_second == 3000);
  CHECK(loaded->policies.leave_alone_seconds == 8);
}

TEST_CASE("a pack policy needs its idle time") {
  const Result<ServerOptions> loaded = Load(
      "servers: [a:1, b:1, c:1, d:1, e:1, f:1]\n"
      "policies: {pack: {every_s: 60}}\n");
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().message().find("idle_s is missing") !=
        std::string::npos);
}

TEST_CASE("packing under a scheme of a small m is warned of") {
  const std::string with_m_of_1 =
      "servers: [a:1, b:1, c:1, d:1, e:1, f:1]\n"
      "max_failures: 2\n"
      "scheme: rs:3,2\n"
      "rules: [{prefix: \"x\", scheme: \"ers2:4,1,5\"}]\n";
  const std::string packs = "policies: {pack: {idle_s: 60}}\n";
  CHECK(WarningsOf(*Load(with_m_of_1)).empty());
  CHECK(WarningsOf(*Load(kSix + packs)).empty());
  const std::vector<std::string> warned =
      WarningsOf(*Load(with_m_of_1 + packs));
  REQUIRE(warned.size() == 1);
  CHECK_THAT(warned.front(),
             Catch::Contains(":4: rules[0]: ") &&
                 Catch::Contains("ers2:4,1,5 outlive the loss of m = 1"));
  CHECK(WarningsOf(*Load(std::string(kSix) + "max_failures: 3\n" + packs))
            .size() == 1);
}

TEST_CASE("policies take tiers in place of one number") {
  const Result<ServerOptions> loaded = Load(
      "servers: [a:1, b:1, c:1, d:1, e:1, f:1]\n"
      "max_failures: 2\n"
      "policies:\n"
      "  widen: {tiers: [{idle_s: 61, width: 4}, {width: wide, idle_s: 90,\n"
      "    m: 2}]}\n"
      "  narrow: {within_s: 60, tiers: [{hits: 5, width: 6},\n"
      "    {hits: 6, width: 4}, {hits: 70, width: narrow, m: 1}]}\n");
  if (!loaded) FAIL(loaded.error().message());
  CHECK(loaded->policies.widen.tiers ==
        std::vector<Tier>{{61, "4"}, {90, "wide", 2}});
  CHECK(loaded->policies.narrow.tiers ==
        std::vector<Tier>{{5, "6"}, {6, "4"}, {70, "narrow", 1}});
}

TEST_CASE("wrong tiers are refused where they stand") {
  struct Case {
    const char* policy;
    const char* error;
  };
  const Case test = GENERATE(values<Case>({
      {"widen: {idle_s: 5, tiers: [{idle_s: 6, width: wide}]}",
       "FILE:1: policies.widen: idle_s and tiers are both given: idle_s alone "
       "is one tier, so give one of them"},
      {"narrow: {within_s: 5, tiers: [{hits: 6, width: narrow}], hits: 5}",
       "FILE:1: policies.narrow: hits and tiers are both given: hits alone is "
       "one tier, so give one of them"},
      {"widen: {tiers: []}",
       "FILE:1: policies.widen.tiers: name at least one tier"},
      {"widen: {tiers: 5}",
       "FILE:1: policies.widen.tiers: expected a list, found \"5\""},
      {"widen: {tiers: [{hits: 5, width: wide}]}",
       "FILE:1: policies.widen.tiers[0]: unknown key \"hits\": allowed are "
       "idle_s, width, m"},
      {"widen: {tiers: [{idle_s: 5, width: 6, m: 0}]}",
       "FILE:1: policies.widen.tiers[0].m: expected a whole number from 1 to "
       "253, found \"0\""},
      {"widen: {tiers: [{idle_s: 5, width: 6, m: 2}]}",
       "FILE:1: policies.widen.tiers: width 6 has m = 2: max_failures is 1; "
       "choose a smaller m"},
      {"widen: {tiers: [{idle_s: 5}]}",
       "FILE:1: policies.widen.tiers[0]: idle_s and width are both needed"},
      {"narrow: {tiers: [{width: 4}]}",
       "FILE:1: policies.narrow.tiers[0]: hits and width are both needed"},
      {"widen: {tiers: [{idle_s: 0, width: wide}]}",
       "FILE:1: policies.widen.tiers[0].idle_s: expected a whole number from 1 "
       "to 31536000, found \"0\""},
      {"widen: {tiers: [{idle_s: 5, width: narrow}]}",
       "FILE:1: policies.widen.tiers[0].width: expected wide or a whole number "
       "from 2 to 254, found \"narrow\""},
      {"narrow: {tiers: [{hits: 5, width: 255}]}",
       "FILE:1: policies.narrow.tiers[0].width: expected narrow or a whole "
       "number from 2 to 254, found \"255\""},
      {"widen: {tiers: [{idle_s: 5, width: 4}, {idle_s: 5, width: 6}]}",
       "FILE:1: policies.widen.tiers[1]: idle_s 5: it must be more than that "
       "of the tier before, 5"},
      {"widen: {tiers: [{idle_s: 5, width: wide}, {idle_s: 6, width: 6}]}",
       "FILE:1: policies.widen.tiers[1]: width 6: it must be wider than that "
       "of the tier before, wide"},
      {"widen: {tiers: [{idle_s: 5, width: 12}, {idle_s: 6, width: 6}]}",
       "FILE:1: policies.widen.tiers[1]: width 6: it must be wider than that "
       "of the tier before, 12"},
      {"narrow: {tiers: [{hits: 5, width: 6}, {hits: 6, width: 12}]}",
       "FILE:1: policies.narrow.tiers[1]: width 12: it must be narrower than "
       "that of the tier before, 6"},
      {"narrow: {tiers: [{hits: 5, width: 6}]}",
       "FILE:1: policies.narrow: hits (or tiers) and within_s are both needed: "
       "so many reads within so many seconds make an object narrow"},
      {"widen: {tiers: [{idle_s: 60, width: 4}, {idle_s: 90, width: wide}]}, "
       "narrow: {hits: 5, within_s: 60}",
       "FILE:1: policies.widen.tiers: the first idle_s is 60: it must be more "
       "than narrow.within_s, 60"},
  }));
  CAPTURE(test.policy);
  CHECK(ErrorOf(fmt::format("policies: {{{}}}\nservers: [a:1, b:1, c:1, d:1, "
                            "e:1, f:1]\n",
                            test.policy)) == test.error);
}

TEST_CASE("how servers are backfilled is read") {
  const Result<ServerOptions> loaded = Load(
      "servers: [a:1, b:1, c:1, d:1, e:1, f:1]\n"
      "backfill: {parallel: 3, slice_keys: 1000, bytes_per_second: 2000}\n");
  if (!loaded) FAIL(loaded.error().message());
  CHECK(loaded->backfill.parallel == 3);
  CHECK(loaded->backfill.slice_keys == 1000);
  CHECK(loaded->backfill.bytes_per_second == 2000);
}

TEST_CASE("wrong files are refused with file, line and what is allowed") {
  struct Case {
    const char* text;
    const char* error;
  };
  const Case test = GENERATE(values<Case>({
      {"max_parity: 1\n",
       "FILE:1: \"max_parity\" is called \"max_failures\" now"},
      {"least_redundancy: 1\n",
       "FILE:1: \"least_redundancy\" is called \"min_redundancy\" now"},
      {"fill:\n  parallel: 3\n", "FILE:1: \"fill\" is called \"backfill\" now"},
      {"hedge_percent: 101\n",
       "FILE:1: hedge_percent: expected a whole number from 0 to 100, found "
       "\"101\""},
      {"count_objects_s: 2592001\n",
       "FILE:1: count_objects_s: expected a whole number from 0 to 2592000, "
       "found \"2592001\""},
      {"garbage: {grace_s: 3599}\n",
       "FILE:1: garbage.grace_s: expected a whole number from 3600 to "
       "31536000, found \"3599\""},
      {"policies:\n  widen:\n    every_s: 5\n",
       "FILE:2: policies.widen: idle_s or tiers is missing: after so many "
       "seconds without a read or change an object is made wide"},
      {"policies: {narrow: {hits: 5}}\n",
       "FILE:1: policies.narrow: hits (or tiers) and within_s are both "
       "needed: so many reads within so many seconds make an object narrow"},
      {"policies: {widen: {idle_s: 0}}\n",
       "FILE:1: policies.widen.idle_s: expected a whole number from 1 to "
       "31536000, found \"0\""},
      {"policies: {narrow: {hits: 5, within_s: 5, parallel: 65}}\n",
       "FILE:1: policies.narrow.parallel: expected a whole number from 1 to "
       "64, found \"65\""},
      {"backfill: {slice_keys: 999}\n",
       "FILE:1: backfill.slice_keys: expected a whole number from 1000 to "
       "100000000, found \"999\""},
      {"servers: [a:1, b:1, c:1, d:1, e:1, f:1]\n"
       "policies:\n  widen: {idle_s: 60}\n"
       "  narrow: {hits: 5, within_s: 60}\n",
       "FILE:3: policies.widen.idle_s: 60: it must be more than "
       "narrow.within_s, 60"},
      {"limits:\n  connections: 3\n",
       "FILE:2: limits: unknown key \"connections\": allowed are "
       "max_connections, idle_timeout_s, max_value_bytes, "
       "memory_in_flight_bytes"},
      {"timeouts: {ping_ms: 3}\n",
       "FILE:1: timeouts: unknown key \"ping_ms\": allowed are connect_ms, "
       "request_ms, operation_ms"},
      {"trace_export: https://otel:4318\n",
       "FILE:1: trace_export: \"https://otel:4318\": https is not spoken "
       "here: send to a collector beside this process by http://, which sends "
       "on"},
      {"trace_export: otel:4318\n",
       "FILE:1: trace_export: \"otel:4318\": give http://host:port, as "
       "http://[::1]:4318"},
      {"trace_export: [a]\n",
       "FILE:1: trace_export: expected a text that is not empty, found a list"},
      {"trace_sample: 1.01\n",
       "FILE:1: trace_sample: expected a number from 0 to 1, found \"1.01\""},
      {"trace_sample: -0.1\n",
       "FILE:1: trace_sample: expected a number from 0 to 1, found \"-0.1\""},
      {"trace_sample: nan\n",
       "FILE:1: trace_sample: expected a number from 0 to 1, found \"nan\""},
      {"trace_sample: 1%\n",
       "FILE:1: trace_sample: expected a number from 0 to 1, found \"1%\""},
      {"trace_sample: \"0.1\"\n",
       "FILE:1: trace_sample: expected a number from 0 to 1, found \"0.1\""},
      {"trace_sample: [0.1]\n",
       "FILE:1: trace_sample: expected a number from 0 to 1, found a list"},
      {"log:\n  level: loud\n",
       "FILE:2: log.level: expected debug or info or warning or error, found "
       "\"loud\""},
      {"log: {format: xml}\n",
       "FILE:1: log.format: expected text or json, found \"xml\""},
      {"log: text\n",
       "FILE:1: log: expected a mapping with keys of level, format, found "
       "\"text\""},
      {"threads: 2\n\nthreads: 2\n",
       "FILE:3: \"threads\" is given twice, first in line 1"},
      {"threads: two\n",
       "FILE:1: threads: expected a whole number from 1 to 256, found \"two\""},
      {"threads: 0\n",
       "FILE:1: threads: expected a whole number from 1 to 256, found \"0\""},
      {"threads: 257\n",
       "FILE:1: threads: expected a whole number from 1 to 256, found "
       "\"257\""},
      {"threads: -1\n",
       "FILE:1: threads: expected a whole number from 1 to 256, found \"-1\""},
      {"threads: 2.5\n",
       "FILE:1: threads: expected a whole number from 1 to 256, found "
       "\"2.5\""},
      {"threads: \"2\"\n",
       "FILE:1: threads: expected a whole number from 1 to 256, found \"2\""},
      {"threads: [2]\n",
       "FILE:1: threads: expected a whole number from 1 to 256, found a list"},
      {"threads: {a: 2}\n",
       "FILE:1: threads: expected a whole number from 1 to 256, found a "
       "mapping"},
      {"threads: ~\n",
       "FILE:1: threads: expected a whole number from 1 to 256, found "
       "nothing"},
      {"threads:\nlog: {}\n",
       "FILE:1: threads: expected a whole number from 1 to 256, found "
       "nothing"},
      {"max_failures: 255\n",
       "FILE:1: max_failures: expected a whole number from 1 to 254, found "
       "\"255\""},
      {"inline_below: 1048577\n",
       "FILE:1: inline_below: expected auto or a whole number from 0 to "
       "1048576, "
       "found \"1048577\""},
      {"timeouts:\n  connect_ms: 0\n",
       "FILE:2: timeouts.connect_ms: expected a whole number from 1 to "
       "3600000, found \"0\""},
      {"timeouts:\n  request_ms: 3600001\n",
       "FILE:2: timeouts.request_ms: expected a whole number from 1 to "
       "3600000, found \"3600001\""},
      {"timeouts:\n  operation_ms: 1s\n",
       "FILE:2: timeouts.operation_ms: expected a whole number from 1 to "
       "3600000, found \"1s\""},
      {"limits:\n  max_connections: 0\n",
       "FILE:2: limits.max_connections: expected a whole number from 1 to "
       "1048576, found \"0\""},
      {"limits:\n  max_value_bytes: 268435457\n",
       "FILE:2: limits.max_value_bytes: expected a whole number from 1 to "
       "268435456, found \"268435457\""},
      {"limits:\n  memory_in_flight_bytes: 0\n",
       "FILE:2: limits.memory_in_flight_bytes: expected a whole number from 1 "
       "to 1125899906842624, found \"0\""},
      {"limits:\n  memory_in_flight_bytes: 100663295\n",
       "FILE:2: limits.memory_in_flight_bytes: 100663295: with 2 threads and "
       "these schemes it must be at least 100663296; or lower threads"},
      {"limits:\n  memory_in_flight_bytes: 150994943\n"
       "rules: [{scheme: rep:3}]\n",
       "FILE:2: limits.memory_in_flight_bytes: 150994943: with 2 threads and "
       "these schemes it must be at least 150994944; or lower threads"},
      {"state_file: \"\"\n",
       "FILE:1: state_file: expected a text that is not empty, found \"\""},
      {"state_file: [a]\n",
       "FILE:1: state_file: expected a text that is not empty, found a list"},
      {"listen: here:1\n", "FILE:1: listen: expected a list, found \"here:1\""},
      {"listen: []\n", "FILE:1: listen: name at least one address"},
      {"listen: [[a]]\n",
       "FILE:1: listen[0]: expected a text that is not empty, found a list"},
      {"listen:\n  - a:1\n  - here\n",
       "FILE:3: listen[1]: \"here\": give host:port, [IPv6]:port or "
       "/unix/path"},
      {"listen: [a:99999]\n",
       "FILE:1: listen[0]: \"a:99999\": the port must be a number from 0 to "
       "65535"},
      {"listen: [\"::1:11\"]\n",
       "FILE:1: listen[0]: \"::1:11\": write an IPv6 address in brackets, as "
       "[::1]:11211"},
      {"listen:\n  - a:1\n  - a:1\n",
       "FILE:3: listen[1]: \"a:1\" is listed twice"},
      {"admin: /unix/path\n",
       "FILE:1: admin: \"/unix/path\": give host:port or [IPv6]:port"},
      {"admin: [a]\n",
       "FILE:1: admin: expected a text that is not empty, found a list"},
      {"state_dir: /not/there/at/all\n",
       "FILE:1: state_dir: \"/not/there/at/all\": neither it nor the folder "
       "above it is there: make one"},
      {"state_dir: /dev/null\n",
       "FILE:1: state_dir: \"/dev/null\": it is no folder"},
      {"state_dir: [a]\n",
       "FILE:1: state_dir: expected a text that is not empty, found a list"},
      {"admin: here\n",
       "FILE:1: admin: \"here\": give host:port or [IPv6]:port"},
      {"servers: a:1,b:1\n",
       "FILE:1: servers: expected a list, found \"a:1,b:1\""},
      {"servers: []\n", "FILE:1: servers: name at least one server"},
      {"servers:\n  - a:1\n  - b\n",
       "FILE:3: servers[1]: server \"b\": the port is missing, as in b:11211"},
      {"servers: [\"a:1 \"]\n",
       "FILE:1: servers[0]: server \"a:1 \": a blank is in it: servers stand "
       "apart by commas alone"},
      {"servers: [\"http://a:1\"]\n",
       "FILE:1: servers[0]: server \"http://a:1\": give host:port alone, "
       "without \"http://\""},
      {"listen: [\"http://a:1\"]\n",
       "FILE:1: listen[0]: \"http://a:1\": give host:port alone, without "
       "\"http://\""},
      {"listen: [\"a:1 b:2\"]\n",
       "FILE:1: listen[0]: \"a:1 b:2\": a blank is in it: give one address"},
      {"servers: [a:1:1001]\n",
       "FILE:1: servers[0]: server \"a:1:1001\": the weight must be a number "
       "from 1 to 1000"},
      {"servers: [\"/a,b\"]\n",
       "FILE:1: servers[0]: \"/a,b\": a comma is in it: give one server each"},
      {"servers: [{host: a}]\n",
       "FILE:1: servers[0]: expected a text that is not empty, found a "
       "mapping"},
      {"servers:\n  - a:1\n  - a:1:2\n",
       "FILE:3: servers[1]: \"a:1\" is listed twice"},
      {"threads: 2\n",
       "FILE: servers: missing: list every memcached server of the cluster, "
       "there or by --servers"},
      {"",
       "FILE: servers: missing: list every memcached server of the "
       "cluster, there or by --servers"},
      {"threads: 1\n---\nthreads: 1\n",
       "FILE:2: a second document begins: give one"},
      {"{threads: 1}\n,\n", "FILE:2: a second document begins: give one"},
      {"threads: 1\n  listen: [\n", "FILE:2: not YAML: "},
  }));
  CAPTURE(test.text);
  const std::string error = ErrorOf(test.text);
  if (std::string_view(test.error).ends_with("not YAML: ")) {
    CHECK_THAT(error, Catch::StartsWith(test.error));
  } else {
    CHECK(error == test.error);
  }
}

TEST_CASE("what is no key is refused with all that are allowed") {
  std::vector<std::string> keys;
  for (const Setting& setting : Settings()) {
    std::string key(setting.name.substr(0, setting.name.find('.')));
    if (keys.empty() || keys.back() != key) keys.push_back(std::move(key));
  }
  const std::string all = fmt::format("{}", fmt::join(keys, ", "));
  CHECK(ErrorOf("\nthread: 3\n") ==
        "FILE:2: unknown key \"thread\": allowed are " + all);
  CHECK(ErrorOf("[1]: 3\n") == "FILE:1: unknown key \"\": allowed are " + all);
  CHECK(ErrorOf("[a, b]\n") ==
        "FILE:1: expected a mapping with keys of " + all + ", found a list");
}

TEST_CASE("schemes that the servers cannot hold are refused where they stand") {
  struct Case {
    const char* text;
    const char* error;
  };
  const Case test = GENERATE(values<Case>({
      {"scheme: ers2:4,1,6\n",
       "FILE:2: scheme: scheme ers2:4,1,6 needs 7 servers and 6 are listed: "
       "choose a narrower scheme, or, for a new cluster, list more servers"},
      {"rules:\n  - scheme: rep:2\n  - prefix: a\n    scheme: rs:6,2\n",
       "FILE:4: rules[1]: scheme rs:6,2 needs 8 servers and 6 are listed: "
       "choose a narrower scheme, or, for a new cluster, list more servers"},
      {"max_failures: 1\nrules:\n  - scheme: rs:4,2\n",
       "FILE:4: rules[0]: scheme rs:4,2 has m = 2: max_failures is 1; "
       "choose a scheme of a smaller m, or, for a new cluster, a larger "
       "max_failures"},
      {"max_failures: 6\n",
       "FILE:2: max_failures: 6 with 6 servers: it must be from 1 to 5"},
  }));
  CAPTURE(test.text);
  CHECK(ErrorOf(std::string(kSix) + test.text) == test.error);
}

TEST_CASE("schemes that do not exist are refused where they stand") {
  CHECK_THAT(ErrorOf("threads: 1\nscheme: rs:4\n"),
             Catch::StartsWith("FILE:2: scheme: ") && Catch::Contains("rs:4"));
  CHECK_THAT(ErrorOf("rules:\n  - scheme: rs:1,1\n"),
             Catch::StartsWith("FILE:2: rules[0].scheme: "));
  CHECK_THAT(ErrorOf("scheme: [rs]\n"), Catch::StartsWith("FILE:1: scheme: "));
}

TEST_CASE("wrong rules are refused where they stand") {
  struct Case {
    const char* rule;
    const char* error;
  };
  const Case test = GENERATE(values<Case>({
      {"{key: a}",
       "FILE:2: rules[0]: unknown key \"key\": allowed are prefix, glob, "
       "regex, min_value_bytes, max_value_bytes, client_flags, scheme, "
       "inline_below, max_expiry_s"},
      {"{prefix: a, prefix: b}",
       "FILE:2: rules[0]: \"prefix\" is given twice, first in line 2"},
      {"{prefix: a, glob: b}",
       "FILE:2: rules[0].glob: give one of prefix, glob and regex"},
      {"{prefix: \"\"}",
       "FILE:2: rules[0].prefix: expected a text that is not empty, found "
       "\"\""},
      {"{glob: 'a\\'}",
       "FILE:2: rules[0].glob: nothing stands behind the last \"\\\""},
      {"{regex: 'a('}",
       "FILE:2: rules[0].regex: no regular expression (RE2): missing ): a("},
      {"{regex: '(a)\\1'}",
       "FILE:2: rules[0].regex: no regular expression (RE2): invalid escape "
       "sequence: "
       "\\1"},
      {"{client_flags: 4294967296}",
       "FILE:2: rules[0].client_flags: expected a whole number from 0 to "
       "4294967295, found \"4294967296\""},
      {"{min_value_bytes: 3, max_value_bytes: 2}",
       "FILE:2: rules[0]: never matches: min_value_bytes 3 is over "
       "max_value_bytes 2"},
      {"{min_value_bytes: x}",
       "FILE:2: rules[0].min_value_bytes: expected a whole number from 0 to "
       "268435456, found \"x\""},
      {"{max_value_bytes: 268435457}",
       "FILE:2: rules[0].max_value_bytes: expected a whole number from 0 to "
       "268435456, found \"268435457\""},
      {"{inline_below: 1048577}",
       "FILE:2: rules[0].inline_below: expected auto or a whole number from 0 "
       "to "
       "1048576, found \"1048577\""},
      {"{max_expiry_s: 0}",
       "FILE:2: rules[0].max_expiry_s: expected a whole number from 1 to "
       "3153600000, found \"0\""},
      {"{prefix: a}\n  - {prefix: a, scheme: rep:2}",
       "FILE:3: rules[1]: never matches: FILE:2: rules[0] has the same "
       "conditions"},
      {"a",
       "FILE:2: rules[0]: expected a mapping with keys of prefix, glob, "
       "regex, min_value_bytes, max_value_bytes, client_flags, scheme, "
       "inline_below, max_expiry_s, found \"a\""},
  }));
  CAPTURE(test.rule);
  CHECK(ErrorOf("rules:\n  - " + std::string(test.rule) + "\n") == test.error);
}

TEST_CASE("a file that cannot be read is refused") {
  const Result<ServerOptions> none = LoadOptions("/nowhere/at/all");
  REQUIRE_FALSE(none);
  CHECK(none.error().message() ==
        "/nowhere/at/all: cannot be read: No such file or directory");
  const Result<ServerOptions> folder = LoadOptions("/tmp");
  REQUIRE_FALSE(folder);
  CHECK(folder.error().message() == "/tmp: cannot be read: Is a directory");
}

TEST_CASE("max_failures is the largest m where it is not set") {
  const Result<ServerOptions> options =
      Load(std::string(kSix) + "rules: [{scheme: rep:4}, {prefix: a}]\n");
  REQUIRE(options);
  CHECK(options->cluster.max_failures == 3);
}

TEST_CASE("the sample documents the defaults") {
  Result<ServerOptions> sample = Load(Sample());
  REQUIRE(sample);
  ServerOptions defaults;
  defaults.cluster.servers = sample->cluster.servers;
  REQUIRE(CompleteOptions(defaults).ok());
  for (const Setting& setting : Settings()) {
    CAPTURE(setting.name);
    if (setting.shown == nullptr) continue;
    CHECK(setting.shown(*sample) == setting.shown(defaults));
  }
  CHECK(sample->rules->list.empty());
  CHECK(sample->policies.widen.tiers.empty());
  CHECK(sample->policies.narrow.tiers.empty());
}

TEST_CASE("the sample shows every key") {
  std::string text = WholeSample();
  // What is here.
  const TemporaryFile token(kToken);
  Replace(text, "/var/lib/ersproxy/state", "/tmp");
  Replace(text, "/etc/ersproxy.token", token.name());
  Replace(text, "user: ersproxy", "user: " + ThisUser());
  const Result<ServerOptions> whole = Load(text);
  if (!whole) FAIL(whole.error().message());
  CHECK(whole->rules->list.size() == 3);
  CHECK(whole->cluster.max_failures == 2);
  CHECK(whole->cluster.state_file == "/var/lib/ersproxy/view");
  // Those of a rule, as the message names them.
  std::string names = ErrorOf("rules: [{x: 1}]\n");
  names.erase(0, names.find("are ") + 4);
  std::istringstream words(names);
  for (std::string name; words >> name;) {
    if (name.ends_with(',')) name.pop_back();
    CAPTURE(name);
    CHECK(std::regex_search(
        text, std::regex("\n[- ]*(#    # )?" + name + ":( [^ ]|\n  )")));
  }
}

namespace {

// The lines of a file from that key on, up to the next one at its depth.
std::string SectionOf(const std::string& text, const std::string& key,
                      std::size_t depth) {
  const std::string line = "\n" + std::string(2 * depth, ' ');
  const std::size_t begin = text.find(line + key + ":");
  if (begin == text.npos) return "";
  std::size_t end = begin;
  do {
    end = text.find(line, end + 1);
  } while (end != text.npos && std::islower(text[end + line.size()]) == 0);
  return text.substr(begin, end - begin);
}

bool IsInSample(const std::string& sample, const std::string& name) {
  std::string section = "\n" + sample;
  std::size_t depth = 0;
  std::size_t begin = 0;
  for (std::size_t dot; (dot = name.find('.', begin)) != name.npos;
       begin = dot + 1) {
    section = SectionOf(section, name.substr(begin, dot - begin), depth++);
  }
  // What stands in place of another key is in a comment.
  const std::string indent(2 * depth, ' ');
  return std::regex_search(
      section, std::regex("\n(" + indent + "|#    # )" + name.substr(begin) +
                          ":( [^ ]|\n)"));
}

// A row of its own, or a word in the row of its mapping, or in a table that the
// row refers to.
bool IsOnPage(const std::string& page, const std::string& name) {
  if (page.find("\n| `" + name + "` |") != page.npos) return true;
  const std::size_t dot = name.rfind('.');
  if (dot == name.npos) return false;
  const std::size_t begin = page.find("\n| `" + name.substr(0, dot) + "` |");
  if (begin == page.npos) return false;
  const std::string row =
      page.substr(begin, page.find('\n', begin + 1) - begin);
  const std::string key = "`" + name.substr(dot + 1) + "`";
  const bool refers = row.find("[below]") != row.npos;
  return row.find(key) != row.npos ||
         (refers &&
          std::regex_search(page, std::regex("\n\\| (`\\w+`, )*" + key)));
}

}  // namespace

TEST_CASE("each setting is where people read of it") {
  const std::string top = ERS_SOURCE_DIR;
  const std::string page = TextOf(top + "/docs/reference/settings.md");
  const std::string manual = TextOf(top + "/proxy/man/ersproxy.8");
  const std::string words = TextOf(top + "/tests/fuzz/config.dict");
  const std::string corpus = TextOf(top + "/tests/fuzz/config-corpus/full") +
                             TextOf(top + "/tests/fuzz/config-corpus/tiers");
  const std::string shown = WholeSample();
  for (const Setting& setting : Settings()) {
    CAPTURE(setting.name);
    const std::string name(setting.name);
    CHECK(IsOnPage(page, name));
    CHECK(IsInSample(shown, name));
    const std::string key = name.substr(name.rfind('.') + 1);
    CHECK(words.find("\"" + key + ":\\x20\"\n") != std::string::npos);
    CHECK(std::regex_search(corpus, std::regex("(^|[\n{ ])" + key + ":")));
    const std::string option(setting.option.name);
    if (option.empty()) continue;
    const std::string word = option.substr(option.find("--"));
    CHECK(std::regex_search(page, std::regex(word + "[ `]")));
    const std::string bold =
        "\\fB" + std::regex_replace(word, std::regex("-"), "\\-") + "\\fR";
    CHECK(manual.find(bold) != std::string::npos);
  }
}

TEST_CASE("without a word only this machine is served") {
  for (const std::string& address : ServerOptions().listen) {
    CHECK(IsLoopback(*ParseAddress(address)));
  }
  CHECK(IsLoopback(*ParseAddress(*AdminAddress(":7"))));
  for (const char* near : {"localhost:7", "127.9.9.9:7", "[::1]:7", "/a"}) {
    CAPTURE(near);
    CHECK(IsLoopback(*ParseAddress(near)));
  }
  for (const char* far :
       {":7", "0.0.0.0:7", "[::]:7", "10.0.0.1:7", "128.0.0.1:7", "name:7",
        "[::ffff:127.0.0.1]:7", "[fe80::1]:7", "127.0.0.1.name:7"}) {
    CAPTURE(far);
    CHECK_FALSE(IsLoopback(*ParseAddress(far)));
  }
}

TEST_CASE("a token file is read, also where there is no admin port") {
  CHECK(ErrorOf(std::string(kSix) + "admin_token_file: /nonexistent/token\n")
            .find("admin_token_file: \"/nonexistent/token\"") !=
        std::string::npos);
}

TEST_CASE("a token is no other token") {
  CHECK(SameToken(kToken, kToken));
  for (std::size_t size = 0; size < kToken.size(); ++size) {
    CHECK_FALSE(SameToken(kToken, kToken.substr(0, size)));
    CHECK_FALSE(SameToken(kToken.substr(0, size), kToken));
    std::string other = kToken;
    other[size] = static_cast<char>(other[size] ^ 1);
    CHECK_FALSE(SameToken(kToken, other));
  }
  CHECK_FALSE(SameToken(kToken, kToken + kToken));
  CHECK_FALSE(SameToken("", ""));
}

TEST_CASE("a reload may change rules, limits and the log's level only") {
  const std::string base = kSix;
  const auto reload = [&base](const std::string& old_text,
                              const std::string& new_text) {
    const Result<ServerOptions> running = Load(base + old_text);
    const Result<ServerOptions> fresh = Load(base + new_text);
    REQUIRE(running);
    REQUIRE(fresh);
    const Status status = CheckReload(*running, *fresh);
    const std::string message = status.message();
    return status.ok() ? "ok" : message.substr(message.find_last_of('/') + 1);
  };
  CHECK(reload("",
               "rules: [{scheme: rep:2}]\nlimits: {max_connections: 1, "
               "max_value_bytes: 1, memory_in_flight_bytes: 999999999}\n"
               "trace_sample: 1\nlog: {level: error}\n") == "ok");
  struct Case {
    const char* text;
    const char* error;
  };
  const Case test = GENERATE(values<Case>({
      {"listen: [a:1]\n",
       ":2: listen: changed from 127.0.0.1:11211 to a:1, which needs a "
       "restart"},
      {"max_failures: 2\n",
       ":2: max_failures: changed from 1 to 2: a cluster keeps the f that it "
       "was "
       "set up with, over a restart, too; put the old one back"},
      {"state_file: x\n",
       ":2: state_file: changed from nothing to x, which needs a restart"},
      {"scheme: rs:4,1\n",
       ":2: scheme: changed from ers2:4,1,5 to rs:4,1, which needs a restart"},
      {"inline_below: 1\n",
       ":2: inline_below: changed from auto to 1, which needs a restart"},
      {"state_dir: .\n",
       ":2: state_dir: changed from nothing to ., which needs a restart"},
      {"admin: \":7\"\n",
       ":2: admin: changed from nothing to :7, which needs a restart"},
      {"threads: 1\n",
       ":2: threads: changed from 2 to 1, which needs a restart"},
      {"timeouts: {connect_ms: 1}\n",
       ":2: timeouts.connect_ms: changed from 500 to 1, which needs a "
       "restart"},
      {"timeouts: {request_ms: 1}\n",
       ":2: timeouts.request_ms: changed from 1000 to 1, which needs a "
       "restart"},
      {"timeouts: {operation_ms: 1}\n",
       ":2: timeouts.operation_ms: changed from 30000 to 1, which needs a "
       "restart"},
      {"trace_export: http://a:1\n",
       "a:1, which needs a restart"},  // behind the slashes
      {"log: {format: json}\n",
       ":2: log.format: changed from text to json, which needs a restart"},
  }));
  CHECK_THAT(reload("", test.text), Catch::EndsWith(test.error));
  const std::string back = reload(test.text, "");
  CHECK_THAT(back, Catch::EndsWith("needs a restart") ||
                       Catch::EndsWith("put the old one back"));
}

TEST_CASE("the order of servers may change in a reload, their list may not") {
  Result<ServerOptions> running = Load(
      "servers: [a:1, b:1, c:1, d:1, e:1, "
      "f:1]\n");
  Result<ServerOptions> turned = Load(
      "servers: [f:1, b:1, c:1, d:1, e:1, "
      "a:1]\n");
  Result<ServerOptions> heavier = Load(
      "servers: [a:1:2, b:1, c:1, d:1, e:1, "
      "f:1]\n");
  REQUIRE(running);
  REQUIRE(turned);
  REQUIRE(heavier);
  CHECK(CheckReload(*running, *turned).ok());
  CHECK_THAT(CheckReload(*running, *heavier).message(),
             Catch::Contains(":1: servers: changed from a:1:1,b:1:1") &&
                 Catch::Contains("to a:1:2,b:1:1") &&
                 Catch::EndsWith(": a cluster keeps its servers and their "
                                 "weights, over a restart, too; put the old "
                                 "list back (one at another address comes in "
                                 "by `ersctl replace OLD NEW`)"));
}

TEST_CASE("folders that are not there are found before a start") {
  const TemporaryFolder folder;
  const std::string none = folder.Of("none");
  const auto said = [](const std::string& setting) {
    const Result<ServerOptions> options = Load(kSix + setting);
    REQUIRE(options);
    const std::string message = CheckFolders(*options).message();
    return message.empty() ? "" : message.substr(message.find(": ") + 2);
  };
  const std::string why =
      "\": there is no folder " + none + ": make it, or choose another path";
  CHECK(said("state_file: " + none + "/view\n") ==
        "state_file: \"" + none + "/view" + why);
  CHECK(said("listen: [a:1, " + none + "/s]\n") ==
        "listen: \"" + none + "/s" + why);
  CHECK_THAT(said("state_file: /dev/null\n"),
             Catch::EndsWith(": \"/dev/null\": it is no file: name another"));
  CHECK(said("state_file: " + folder.Of("view") + "\nlisten: [" +
             folder.Of("s") + "]\n")
            .empty());
}

TEST_CASE("names that have no address are found where one asks for it") {
  const auto said = [](const std::string& text) {
    const Result<ServerOptions> options = Load("scheme: rep:2\n" + text);
    REQUIRE(options);
    const std::string message = CheckNames(*options).message();
    return message.empty() ? "" : message.substr(message.find(": ") + 2);
  };
  CHECK(said("servers: [127.0.0.1:1, \"[::1]:1\", /s, 127.0.0.2:1]\n"
             "listen: [localhost:0]\nadmin: \":7\"\n")
            .empty());
  CHECK_THAT(said("servers: [127.0.0.1:1, x.invalid:1]\n"),
             Catch::StartsWith("servers: \"x.invalid:1\": the name x.invalid "
                               "is not found: "));
  CHECK_THAT(said("servers: [127.0.0.1:1, 127.0.0.2:1]\nlisten: "
                  "[\"x.invalid:1\"]\n"),
             Catch::StartsWith("listen: \"x.invalid:1\": the name "));
}
