#include "server/descriptors.h"

#include <catch2/catch.hpp>

namespace ers::proxy {
namespace {

TEST_CASE("what is beside clients grows with servers and threads") {
  ServerOptions options;
  options.cluster.servers = "a:1,b:1,c:1";
  options.threads = 2;
  const int few = DescriptorsBesideClients(options);
  // A connection to each server, from each thread and from jobs.
  CHECK(few >= 3 * 3);
  options.threads = 4;
  const int more_threads = DescriptorsBesideClients(options);
  CHECK(more_threads >= few + 2 * 3);
  options.cluster.servers += ",d:1";
  CHECK(DescriptorsBesideClients(options) >= more_threads + 5);
}

TEST_CASE("clients leave what is beside them, or half of few") {
  CHECK(EndOfClients(10'000, 300) == 9'700);
  CHECK(EndOfClients(600, 300) == 300);
  CHECK(EndOfClients(128, 300) == 64);
  CHECK(AllowedDescriptors() > 0);
}

}  // namespace
}  // namespace ers::proxy
