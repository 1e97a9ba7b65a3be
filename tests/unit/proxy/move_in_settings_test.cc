// Settings of a cluster that comes from another proxy: placement, warm_from.
#include <catch2/catch.hpp>
#include <string>

#include "config/load.h"
#include "config/options.h"
#include "unit/proxy/temporary_file.h"

using namespace ers;
using namespace ers::proxy;

namespace {

constexpr const char* kServers =
    "servers: [\"a:1:2=x\", b:1, c:1, d:1, e:1, f:1]\n";

Result<ServerOptions> Load(const std::string& text) {
  const TemporaryFile file(kServers + text);
  Result<ServerOptions> options = LoadOptions(file.name());
  Status status = options ? CompleteOptions(*options) : options.error();
  if (status.ok()) return options;
  return Fail(std::move(status));
}

std::string ErrorOf(const std::string& text) {
  const Result<ServerOptions> options = Load(text);
  return options ? "accepted" : options.error().message();
}

}  // namespace

TEST_CASE("a placement and labels are read") {
  const Result<ServerOptions> options = Load(
      "placement: {distribution: modula, hash: fnv1a_64, hash_tag: \"{}\"}\n");
  REQUIRE(options);
  CHECK(options->cluster.servers == "a:1:2=x,b:1,c:1,d:1,e:1,f:1");
  CHECK(options->cluster.distribution == "modula");
  CHECK(options->cluster.hash == "fnv1a_64");
  CHECK(options->cluster.hash_tag == "{}");
  CHECK(Load("").value().cluster.distribution.empty());
}

TEST_CASE("a placement that is none is refused where it stands") {
  using Catch::Contains;
  CHECK_THAT(ErrorOf("placement: {hash: sha1}\n"),
             Contains(":2: placement: hash \"sha1\""));
  CHECK_THAT(ErrorOf("placement:\n  distribution: random\n"),
             Contains(": placement: distribution random"));
  CHECK_THAT(ErrorOf("placement: {weights: 1}\n"),
             Contains("allowed are distribution, hash, hash_tag"));
}

TEST_CASE("a reload changes neither placement nor labels nor the old pool") {
  const Result<ServerOptions> old_one =
      Load("placement: {hash: fnv1a_64}\nwarm_from: {servers: [z:1]}\n");
  REQUIRE(old_one);
  CHECK(CheckReload(*old_one, *old_one).ok());
  ServerOptions fresh = *old_one;
  fresh.cluster.hash = "md5";
  CHECK(CheckReload(*old_one, fresh).message().find("placement.hash") !=
        std::string::npos);
  fresh = *old_one;
  fresh.cluster.servers = "a:1:2=y,b:1,c:1,d:1,e:1,f:1";
  CHECK_FALSE(CheckReload(*old_one, fresh).ok());
  fresh = *old_one;
  fresh.warm_from.servers = "y:1";
  CHECK_FALSE(CheckReload(*old_one, fresh).ok());
}

TEST_CASE("an old pool is read, with its placement and its time") {
  const Result<ServerOptions> options = Load(
      "warm_from:\n  servers: [z:1, \"y:1:3\"]\n  distribution: ketama\n"
      "  hash: crc32a\n  hash_tag: \"{}\"\n  timeout_ms: 77\n");
  REQUIRE(options);
  CHECK(options->warm_from.servers == "z:1,y:1:3");
  CHECK(options->warm_from.hash == "crc32a");
  CHECK(options->warm_from.timeout.count() == 77);
  CHECK(Load("").value().warm_from.servers.empty());
}

TEST_CASE("an old pool that cannot be is refused where it stands") {
  using Catch::Contains;
  CHECK_THAT(ErrorOf("warm_from: {timeout_ms: 5}\n"),
             Contains(":2: warm_from: servers is missing"));
  CHECK_THAT(ErrorOf("warm_from: {servers: [z:1], hash: x}\n"),
             Contains("hash \"x\""));
  // Our own values would be deleted with those of the old pool.
  CHECK_THAT(ErrorOf("warm_from: {servers: [z:1, \"b:1:5\"]}\n"),
             Contains("b:1 is a server of the cluster, too"));
}
