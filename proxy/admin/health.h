// Health: what a person wants to know of a cluster first.
#ifndef ERS_PROXY_ADMIN_HEALTH_H_
#define ERS_PROXY_ADMIN_HEALTH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/facts.h"
#include "metrics/server_latency.h"

namespace ers::proxy {

enum class HealthState : std::uint8_t {
  kHealthy,     // all servers are in sync
  kRebuilding,  // a server is backfilled; none is out
  kDegraded,    // a server is out
  kFailing,     // requests cannot be served, or are not any more
  kUnused,      // nothing was needed of the servers yet
};
inline constexpr std::string_view kHealthStates[] = {
    "healthy", "rebuilding", "degraded", "failing", "unused"};

struct Health {
  HealthState state = HealthState::kUnused;
  std::string because;  // sentences
};

// `latency`: of the servers, in their order.
Health HealthOf(const Facts& facts,
                const std::vector<std::optional<ServerLatency>>& latency);

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_HEALTH_H_
