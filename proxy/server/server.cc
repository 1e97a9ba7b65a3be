#include "server/server.h"

#include <fmt/format.h>

#include <utility>

namespace ers::proxy {

Server::Server(ServerOptions options)
    : options_(std::move(options)), stats_(options_, shared_) {}

Result<std::unique_ptr<Server>> Server::Open(ServerOptions options) {
  options.cluster.binary_keys = true;
  options.cluster.adopt_plain_items = true;
  std::unique_ptr<Server> server(new Server(std::move(options)));
  Result<std::shared_ptr<store::ClusterState>> cluster =
      store::OpenClusterState(server->options_.cluster);
  if (!cluster) return Fail(cluster.error());
  Status scheme = ValidateStoredScheme(server->options_.client.scheme);
  if (!scheme.ok()) return Fail(std::move(scheme));
  const int needed = NodeCount(server->options_.client.scheme);
  const auto members = static_cast<int>((*cluster)->endpoints.size());
  if (members < needed) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("scheme {} needs {} servers and {} are listed: "
                            "list more servers or choose a narrower scheme",
                            FormatScheme(server->options_.client.scheme),
                            needed, members));
  }
  server->cluster_ = std::move(*cluster);
  for (const std::string& address : server->options_.listen) {
    Result<Listener> listener = Listen(address, server->options_.threads);
    if (!listener) return Fail(listener.error());
    server->listeners_.push_back(std::move(*listener));
  }
  return server;
}

void Server::Start() {
  for (int i = 0; i < options_.threads; ++i) {
    std::vector<int> sockets;
    for (const Listener& listener : listeners_) {
      const auto own = static_cast<std::size_t>(i) % listener.sockets.size();
      sockets.push_back(listener.sockets[own].get());
    }
    workers_.push_back(std::make_unique<Worker>(
        options_, cluster_, std::move(sockets), shared_,
        [this](const std::string& argument, const Stats::Visit& stat) {
          return stats_.Answer(argument, stat);
        }));
  }
  stats_.Watch(workers_);
  for (const auto& worker : workers_) worker->Start();
}

void Server::Stop() {
  for (const auto& worker : workers_) worker->Stop();
}

void Server::Join() {
  for (const auto& worker : workers_) worker->Join();
}

std::vector<std::string> Server::listener_names() const {
  std::vector<std::string> names;
  for (const Listener& listener : listeners_) names.push_back(listener.name);
  return names;
}

}  // namespace ers::proxy
