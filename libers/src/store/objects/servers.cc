#include <deque>
#include <memory>
#include <utility>

#include "base/micros.h"
#include "store/membership/batch.h"
#include "store/membership/view_loader.h"
#include "store/objects/store.h"

namespace ers::store {

net::Task<Result<ClusterInfo>> Store::Servers() {
  Status status = co_await EnsureView(session_, 0);
  if (!status.ok() && status.code() != StatusCode::kNotFound) {
    co_return Fail(std::move(status));
  }
  std::deque<net::Request> requests(
      static_cast<std::size_t>(session_.members()));
  Batch batch(session_.runtime());
  for (int i = 0; i < session_.members(); ++i) {
    net::Request& request = requests[static_cast<std::size_t>(i)];
    request.verb = net::Verb::kStats;
    batch.Send(SendStep::kServerStats, session_.link(i), request);
  }
  co_await batch;
  const std::shared_ptr<const View> view = session_.view();
  ClusterInfo info;
  info.time = session_.WallMicros() / kMicrosPerSecond;
  if (view) {
    info.epoch = view->epoch;
    info.max_failures = view->max_failures;
  }
  for (int i = 0; i < session_.members(); ++i) {
    const net::ServerLink& link = session_.link(i);
    ServerInfo server;
    server.name = session_.member_name(i);
    server.slot = server.name;
    server.weight = link.endpoint().weight;
    server.reachable =
        requests[static_cast<std::size_t>(i)].outcome == net::Outcome::kOk;
    server.last_error = link.last_error();
    if (server.reachable) {
      server.version = link.facts().version;
      server.item_size_max = link.facts().item_size_max;
      server.evictions = link.facts().evictions;
    }
    if (view) {
      const Member& member = view->members[i];
      server.slot = member.name;
      server.state = member.shown_state();
      server.incarnation = member.incarnation;
      server.since = member.since;
    }
    info.servers.push_back(std::move(server));
  }
  co_return info;
}

}  // namespace ers::store
