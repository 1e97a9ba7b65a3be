#include "sim/store/client_process.h"

#include <utility>

#include "store/format/change_age.h"

namespace ers::sim {

ClientProcess::ClientProcess(SimRuntime& runtime, std::string servers,
                             const Scenario& scenario)
    : runtime_(runtime) {
  ClusterOptions options;
  options.servers = std::move(servers);
  options.max_failures = scenario.max_failures;
  options.adopt_plain_items = scenario.adopts;
  store::change_timeout =
      scenario.grace.count() > 0 ? scenario.grace : store::kChangeTimeout;
  cluster_ = store::OpenClusterState(options, runtime.name()).value();
  ClientOptions client;
  client.scheme = scenario.schemes.front();
  client.inline_below = scenario.inline_below;
  client.column_below = scenario.column_below;
  for (int i = 0; i < scenario.sessions; ++i) {
    sessions_.push_back(std::make_unique<store::Session>(
        runtime_, cluster_, client.cached_manifests));
    stores_.push_back(
        std::make_unique<store::Store>(*sessions_.back(), client));
  }
}

bool ClientProcess::KeepsAll() const {
  if (runtime_.paused_until() > runtime_.Now()) return false;
  if (!cluster_->keeper.AtRest([] {})) return false;
  for (const auto& session : sessions_) {
    for (int i = 0; i < session->members(); ++i) {
      const net::ServerLink::State state = session->link(i).state();
      if (state == net::ServerLink::State::kFailed ||
          state == net::ServerLink::State::kRefused ||
          session->link(i).silence().IsSilent()) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace ers::sim
