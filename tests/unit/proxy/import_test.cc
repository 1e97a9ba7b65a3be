// Files of twemproxy and mcrouter as settings of ersproxy.
#include "config/import.h"

#include <catch2/catch.hpp>
#include <string>

#include "config/load.h"
#include "config/options.h"
#include "unit/proxy/temporary_file.h"

using namespace ers;
using namespace ers::proxy;
using Catch::Contains;

namespace {

constexpr const char* kSix =
    "  servers:\n   - 10.0.0.1:11211:1 one\n   - 10.0.0.2:11211:2\n"
    "   - 10.0.0.3:1:1\n   - 10.0.0.4:1:1\n   - /run/m:3\n"
    "   - ::1:11211:1\n";

std::string Imported(const std::string& text, const std::string& pool = "") {
  const TemporaryFile file(text);
  const Result<std::string> settings = ImportSettings(file.name(), pool);
  if (!settings) FAIL(settings.error().message());
  return *settings;
}

std::string ErrorOf(const std::string& text, const std::string& pool = "") {
  const TemporaryFile file(text);
  const Result<std::string> settings = ImportSettings(file.name(), pool);
  if (settings) return "accepted";
  CHECK(settings.error().code() == StatusCode::kInvalidArgument);
  CHECK_THAT(settings.error().message(), Catch::StartsWith(file.name()));
  return settings.error().message();
}

// What the settings mean to a daemon.
ServerOptions OptionsOf(const std::string& settings) {
  const TemporaryFile file(settings);
  Result<ServerOptions> options = LoadOptions(file.name());
  if (!options) FAIL(options.error().message());
  const Status complete = CompleteOptions(*options);
  if (!complete.ok()) FAIL(complete.message());
  return std::move(*options);
}

std::string Mcrouter(const std::string& route, const std::string& more = "") {
  return R"({"pools": {"A": {"servers": ["10.0.0.1:11211", "[::1]:5:ascii",
    "10.0.0.3:1"])" +
         more + R"(}, "B": {"servers": ["b:1", "b:2"]}},
    /* as mcrouter's files may have */ "route": )" +
         route + "}";
}

}  // namespace

TEST_CASE("a pool of twemproxy becomes the same settings") {
  const std::string settings =
      Imported(std::string("alpha:\n  listen: 127.0.0.1:22121\n  hash: murmur\n"
                           "  distribution: modula\n  hash_tag: \"{}\"\n"
                           "  timeout: 400\n  client_connections: 100\n"
                           "  auto_eject_hosts: true\n  redis: false\n"
                           "  server_retry_timeout: 2000\n  backlog: 1024\n") +
               kSix);
  const ServerOptions options = OptionsOf(settings);
  CHECK(options.listen == std::vector<std::string>{"127.0.0.1:22121"});
  CHECK(options.cluster.servers ==
        // As twemproxy counts them: by name, shorter ones first.
        "[::1]:11211:1=::1,10.0.0.1:11211:1=one,/run/m:3=/run/m,"
        "10.0.0.2:11211:2,10.0.0.3:1:1,10.0.0.4:1:1");
  CHECK(options.cluster.distribution == "modula");
  CHECK(options.cluster.hash == "murmur");
  CHECK(options.cluster.hash_tag == "{}");
  CHECK(options.cluster.request_timeout.count() == 400);
  CHECK(options.cluster.connect_timeout.count() == 400);
  CHECK(options.max_connections == 100);
  for (const char* field : {"#   auto_eject_hosts: ",
                            "#   server_retry_timeout: ", "#   backlog: "}) {
    CHECK_THAT(settings, Contains(field));
  }
  CHECK_THAT(settings, !Contains("redis"));
}

TEST_CASE("what a pool of twemproxy leaves out is twemproxy's default") {
  const ServerOptions options = OptionsOf(Imported(
      std::string("alpha:\n  listen: /run/a 0666\n  timeout: -1\n") + kSix));
  CHECK(options.listen == std::vector<std::string>{"/run/a"});
  CHECK(options.cluster.servers.starts_with("10.0.0.1:11211:1=one,10.0.0.2:"));
  CHECK(options.cluster.distribution == "ketama");
  CHECK(options.cluster.hash == "fnv1a_64");
  CHECK(options.cluster.hash_tag.empty());
  CHECK(options.cluster.request_timeout ==
        ServerOptions().cluster.request_timeout);
}

TEST_CASE("few servers get a scheme that they have room for") {
  const auto with = [](int servers) {
    std::string text = "a:\n  listen: a:1\n  servers:\n";
    for (int i = 0; i < servers; ++i) {
      text += "   - m" + std::to_string(i) + ":1:1\n";
    }
    return FormatScheme(OptionsOf(Imported(text)).client.scheme);
  };
  CHECK(with(2) == "rep:2");
  CHECK(with(3) == "rs:2,1");
  CHECK(with(4) == "ers2:2,1,3");
  CHECK(with(5) == "ers2:2,1,3");
  CHECK(with(6) == "ers2:4,1,5");
}

TEST_CASE("of several pools one must be named") {
  const std::string two =
      std::string("a:\n  listen: a:1\n") + kSix + "b:\n  listen: b:1\n" + kSix;
  CHECK_THAT(ErrorOf(two), Contains("--pool, one of a, b"));
  CHECK_THAT(ErrorOf(two, "c"), Contains("no pool c, but a, b"));
  CHECK(OptionsOf(Imported(two, "b")).listen ==
        std::vector<std::string>{"b:1"});
}

TEST_CASE("a pool of twemproxy is taken whatever the others are") {
  const std::string file = std::string("a:\n  listen: a:1\n") + kSix +
                           "b:\n  redis: true\n  hash: fnv1a_64\nc: 1\n";
  CHECK(OptionsOf(Imported(file, "a")).listen ==
        std::vector<std::string>{"a:1"});
  CHECK_THAT(ErrorOf(file, "b"), Contains("b.redis"));
  CHECK_THAT(ErrorOf(file, "c"), Contains("expected a mapping"));
  CHECK_THAT(ErrorOf(file), Contains("--pool, one of a, b, c"));
}

TEST_CASE("what of twemproxy cannot be, is refused with its line") {
  const std::string start = "a:\n  listen: a:1\n";
  CHECK_THAT(ErrorOf(start + "  distribution: random\n" + kSix),
             Contains("warm_from"));
  CHECK_THAT(ErrorOf(start + "  redis: true\n" + kSix),
             Contains(":3: a.redis"));
  CHECK_THAT(ErrorOf(start + "  hash: sha1\n" + kSix), Contains("\"sha1\""));
  CHECK_THAT(ErrorOf(start + "  hash_tag: x\n" + kSix), Contains("hash_tag"));
  CHECK_THAT(ErrorOf(start + "  colour: red\n" + kSix),
             Contains("no setting of twemproxy's"));
  CHECK_THAT(ErrorOf(start + "  servers: [a:1:1]\n"), Contains("one server"));
  CHECK_THAT(ErrorOf(start + "  servers: [a:1, b:1:1]\n"),
             Contains("host:port:weight"));
  CHECK_THAT(ErrorOf(start + "  servers: [a:1:2000, b:1:1]\n"),
             Contains("weight"));
  CHECK_THAT(ErrorOf("a: 1\n"), Contains("expected a mapping"));
  CHECK_THAT(ErrorOf("{}\n"), Contains("no JSON") || Contains("no pool"));
  CHECK_THAT(ErrorOf(""), Contains("no pool"));
}

TEST_CASE("a pool of mcrouter becomes the same settings") {
  const std::string settings = Imported(
      Mcrouter(R"("PoolRoute|A")", R"(, "server_timeout": 300, "colour": 1)"));
  const ServerOptions options = OptionsOf(settings);
  CHECK(options.cluster.servers == "10.0.0.1:11211,[::1]:5,10.0.0.3:1");
  CHECK(options.cluster.distribution == "ch3");
  CHECK(options.cluster.hash.empty());
  CHECK(options.cluster.request_timeout.count() == 300);
  CHECK_THAT(settings, Contains("#   colour: "));
  CHECK_THAT(settings, Contains("#   listen: mcrouter has its port"));
}

TEST_CASE("mcrouter's hashes are taken where its values can be found") {
  const auto route = [](const std::string& hash) {
    return Mcrouter(R"({"type": "PoolRoute", "pool": "A", "hash": )" + hash +
                    "}");
  };
  CHECK(OptionsOf(Imported(route("\"Ch3\""))).cluster.distribution == "ch3");
  const ServerOptions crc =
      OptionsOf(Imported(route(R"({"hash_func": "Crc32"})")));
  CHECK(crc.cluster.distribution == "modula");
  CHECK(crc.cluster.hash == "crc32a_31");
  CHECK(
      OptionsOf(Imported(route(
                    R"({"hash_func": "WeightedCh3", "weights": [1, 1.0, 1]})")))
          .cluster.distribution == "ch3");
  CHECK_THAT(
      ErrorOf(route(R"({"hash_func": "WeightedCh3", "weights": [1, 1]})")),
      Contains("WeightedCh3"));
  CHECK_THAT(ErrorOf(route(R"({"hash_func": "Ch3", "salt": "x"})")),
             Contains("salt"));
  CHECK_THAT(ErrorOf(route("\"Latest\"")), Contains("\"Latest\""));
}

TEST_CASE("mcrouter's routes lead to their pools") {
  const std::string both = R"({"type": "FailoverRoute",
      "children": ["PoolRoute|A", "PoolRoute|B", "NullRoute"]})";
  CHECK_THAT(ErrorOf(Mcrouter(both)), Contains("--pool, one of A, B"));
  const std::string settings = Imported(Mcrouter(both), "A");
  CHECK_THAT(settings, Contains("#   FailoverRoute: "));
  // Once, however many there are.
  const std::string twice = Imported(
      Mcrouter(R"({"type": "FailoverRoute", "child": )" + both + "}"), "A");
  CHECK(twice.find("FailoverRoute") == twice.rfind("FailoverRoute"));
  // Whatever the other one is.
  const std::string other = R"(, "protocol": "caret")";
  CHECK_THAT(ErrorOf(Mcrouter(both, other), "A"), Contains("another protocol"));
  CHECK(OptionsOf(Imported(Mcrouter(both, other), "B")).cluster.servers ==
        "b:1,b:2");
  CHECK_THAT(ErrorOf(Mcrouter(R"("PoolRoute|C")")), Contains("no pool \"C\""));
  CHECK_THAT(ErrorOf(Mcrouter("\"NullRoute\"")), Contains("no pool"));
  CHECK_THAT(ErrorOf(Mcrouter(R"("PoolRoute|A")", R"(, "protocol": "caret")")),
             Contains("another protocol"));
  CHECK_THAT(ErrorOf("{\"pools\": "), Contains("not JSON"));
}

TEST_CASE("no text of a file comes out as a setting of its own") {
  // A name with a line end would end the comment that it stands in.
  const std::string settings = Imported(
      Mcrouter(R"({"type": "Evil\nthreads: 200", "child": "PoolRoute|A"})"));
  CHECK(OptionsOf(settings).threads == 2);
}
