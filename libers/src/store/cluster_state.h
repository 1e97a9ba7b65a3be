// ClusterState: what all loops of one process share about one cluster.
#ifndef ERS_STORE_CLUSTER_STATE_H_
#define ERS_STORE_CLUSTER_STATE_H_

#include <memory>
#include <string_view>
#include <vector>

#include "ers/options.h"
#include "ers/status.h"
#include "net/endpoint.h"
#include "net/ring.h"
#include "store/view_keeper.h"

namespace ers::store {

// Constant after construction, but for the keeper, which locks. Any thread.
struct ClusterState {
  ClusterOptions options;
  std::vector<net::Endpoint> endpoints;  // sorted by name: member numbers
  net::Ring ring;
  ViewKeeper keeper;

  ClusterState(ClusterOptions cluster_options,
               std::vector<net::Endpoint> sorted_endpoints);

  void Log(LogLevel level, std::string_view line) const {
    if (options.log) options.log(level, line);
  }
};

// Parses and checks the options. kInvalidArgument names the one at fault.
Result<std::shared_ptr<ClusterState>> OpenClusterState(ClusterOptions options);

}  // namespace ers::store

#endif  // ERS_STORE_CLUSTER_STATE_H_
