#include "store/membership/listing_check.h"

#include <fmt/format.h>

#include <deque>
#include <string_view>

#include "store/membership/batch.h"

namespace ers::store {
namespace {

// -X, or no crawler.
bool CannotList(std::string_view settings) {
  return settings.find("STAT dump_enabled no") != std::string_view::npos ||
         settings.find("STAT lru_crawler no") != std::string_view::npos;
}

}  // namespace

net::Task<void> LogServersWithoutListing(Session& session) {
  if (!session.cluster().options.log) co_return;
  std::deque<net::Request> requests;  // they do not move
  std::deque<int> members;
  Batch batch(session.runtime());
  for (int i = 0; i < session.members(); ++i) {
    if (session.link(i).state() != net::ServerLink::State::kUp) continue;
    members.push_back(i);
    net::Request& request = requests.emplace_back();
    request.verb = net::Verb::kStats;
    request.key = "settings";
    batch.Send(SendStep::kServerStats, session.link(i), request);
  }
  co_await batch;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const bool answered = requests[i].outcome == net::Outcome::kOk;
    if (!answered || !CannotList(requests[i].value)) continue;
    session.cluster().Log(
        LogLevel::kWarning,
        fmt::format(
            "{} cannot list its keys: for listings, and when a server "
            "that was out is to be backfilled, it counts as one that is "
            "out; start it without -X and with its lru_crawler",
            session.member_name(members[i])));
  }
}

}  // namespace ers::store
