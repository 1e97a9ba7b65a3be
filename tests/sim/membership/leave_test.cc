// What a process that ends leaves behind in the registry: nothing
// that others would have to wait for.
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "sim/world/sim_client.h"
#include "sim/world/sim_connection.h"
#include "sim/world/sim_server.h"
#include "sim/world/sim_world.h"
#include "store/format/keys.h"
#include "store/format/participant.h"

namespace ers::sim {
namespace {

using std::chrono::milliseconds;

constexpr int kServers = 6;

std::vector<std::string> Lines(SimServer& server) {
  std::vector<std::string> labels;
  const ModelItem* item = server.items().Find(store::kParticipantsKey);
  if (item == nullptr) return labels;
  const Result<store::Registry> registry = store::DecodeRegistry(item->value);
  for (const store::Participant& participant : registry->participants)
    labels.push_back(participant.label);
  return labels;
}

struct Fixture {
  void CheckNoLines() {
    for (const auto& server : world.servers()) {
      CAPTURE(server->name());
      CHECK(Lines(*server).empty());
      for (const std::string& key : server->items().LiveKeys()) {
        CHECK_FALSE(key.starts_with(store::kEntryPrefix));
      }
    }
  }

  World world{3};
  const std::string servers = world.AddServers(kServers);
};

TEST_CASE("a process that ends takes its line off all servers") {
  Fixture f;
  {
    SimClient client(f.world, f.servers, "client");
    REQUIRE(client.Put().ok());
    CHECK(Lines(*f.world.servers()[0]).size() == 1);
  }
  f.CheckNoLines();
}

// It connects before it knows the view, and so to servers, too, that have lost
// their memory: these are left alone from then on.
TEST_CASE("no line is left on a server that was found to be restarted") {
  Fixture f;
  const ClientOptions options = {.scheme = {SchemeKind::kErs2, 2, 2, 4}};
  {
    SimClient first(f.world, f.servers, "first", options, 2);
    REQUIRE(first.Put().ok());
  }
  for (const std::size_t number : {1, 2}) {
    f.world.servers()[number]->Crash();
    f.world.servers()[number]->Restart();
  }
  {
    SimClient client(f.world, f.servers, "client", options, 2);
    REQUIRE(client.Begin().ok());
    // It connects again, and is refused.
    (void)client.Put();
    f.world.RunUntil([] { return false; }, milliseconds(100));
    CHECK(client.session.link(2).state() == net::ServerLink::State::kRefused);
  }
  f.CheckNoLines();
}

}  // namespace
}  // namespace ers::sim
