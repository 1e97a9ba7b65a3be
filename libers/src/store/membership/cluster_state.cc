#include "store/membership/cluster_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "store/membership/key_lines.h"
#include "store/membership/known_changes.h"

namespace ers::store {
namespace {

// Names go into the view record, which is JSON and so UTF-8.
bool IsUtf8(const std::string& name) {
  using nlohmann::json;
  const std::string text =
      json(name).dump(-1, ' ', false, json::error_handler_t::ignore);
  return json::parse(text) == name;
}

Result<std::optional<net::Placement>> PlacementOf(
    const ClusterOptions& options) {
  if (options.distribution.empty() && options.hash.empty() &&
      options.hash_tag.empty()) {
    return std::optional<net::Placement>();
  }
  Result<net::Placement> placement =
      net::ParsePlacement(options.distribution, options.hash, options.hash_tag);
  if (!placement) return Fail(placement.error());
  return std::optional(std::move(*placement));
}

}  // namespace

ClusterState::ClusterState(ClusterOptions cluster_options,
                           std::vector<net::Endpoint> sorted_endpoints,
                           std::string process_label)
    : options(std::move(cluster_options)),
      endpoints(std::move(sorted_endpoints)),
      state_file(options.state_file),
      lease(std::move(process_label)),
      clock(endpoints.size()),
      lines(std::make_unique<KeyLines>()),
      known(std::make_unique<KnownChanges>()) {}

ClusterState::~ClusterState() = default;

Result<StateFileDraft> ClusterState::DraftOnDisk(const View& view) {
  Result<StateFileDraft> draft = state_file.Draft(view);
  NoteOnDisk(draft ? Status() : draft.error());
  return draft;
}

Status ClusterState::KeepOnDisk(StateFileDraft draft) {
  Status status = draft.Adopt();
  if (!status.ok()) NoteOnDisk(status);
  return status;
}

void ClusterState::NoteOnDisk(const Status& status) {
  const bool failed_before = off_disk_.exchange(!status.ok());
  if (!status.ok() && !failed_before) {
    Log(LogLevel::kError,
        fmt::format("{}; until it can be, no server leaves the view or comes "
                    "back",
                    status.message()));
  } else if (status.ok() && failed_before) {
    Log(LogLevel::kInfo,
        fmt::format("the state file {} is written again", options.state_file));
  }
}

Result<std::shared_ptr<ClusterState>> OpenClusterState(
    ClusterOptions options, std::string process_label) {
  Result<std::vector<net::Endpoint>> endpoints =
      net::ParseEndpoints(options.servers);
  if (!endpoints) return Fail(endpoints.error());
  if (endpoints->size() > kMaxMembers) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("{} servers are listed: at most {} are allowed",
                            endpoints->size(), kMaxMembers));
  }
  for (const net::Endpoint& endpoint : *endpoints) {
    if (IsUtf8(endpoint.name())) continue;
    return Fail(StatusCode::kInvalidArgument,
                "servers: a unix socket's path is not UTF-8: rename it");
  }
  const int members = static_cast<int>(endpoints->size());
  if (options.max_failures < 0 || options.max_failures >= members) {
    return Fail(
        StatusCode::kInvalidArgument,
        fmt::format("max_failures is {}: with {} servers it must be from "
                    "1 to {}, or 0 to take it from the cluster",
                    options.max_failures, members, members - 1));
  }
  if (options.min_redundancy < 0) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("min_redundancy is {}: it must be 0 or more",
                            options.min_redundancy));
  }
  if (options.hedge_percent < 0 || options.hedge_percent > kMaxHedgePercent) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("hedge_percent is {}: it must be from 0 to {}",
                            options.hedge_percent, kMaxHedgePercent));
  }
  for (const auto& [name, timeout] :
       {std::pair{"connect_timeout", options.connect_timeout},
        std::pair{"request_timeout", options.request_timeout},
        std::pair{"operation_timeout", options.operation_timeout}}) {
    if (timeout.count() <= 0) {
      return Fail(StatusCode::kInvalidArgument,
                  fmt::format("{} must be above 0 ms", name));
    }
  }
  Result<std::optional<net::Placement>> placement = PlacementOf(options);
  if (!placement) return Fail(placement.error());
  std::sort(endpoints->begin(), endpoints->end(),
            [](const net::Endpoint& a, const net::Endpoint& b) {
              return a.name() < b.name();
            });
  auto state = std::make_shared<ClusterState>(
      std::move(options), std::move(*endpoints), std::move(process_label));
  state->placement = std::move(*placement);
  return state;
}

}  // namespace ers::store
