// What the servers were asked just now, as JSON.
#ifndef ERS_PROXY_SHARED_SERVERS_JSON_H_
#define ERS_PROXY_SHARED_SERVERS_JSON_H_

#include <nlohmann/json.hpp>

#include "ers/object_info.h"

namespace ers::proxy {

inline nlohmann::ordered_json ServersJson(const ClusterInfo& info) {
  nlohmann::ordered_json json = {{"epoch", info.epoch},
                                 {"max_failures", info.max_failures}};
  json["servers"] = nlohmann::ordered_json::array();
  for (const ServerInfo& server : info.servers) {
    json["servers"].push_back({{"name", server.name},
                               {"slot", server.slot},
                               {"weight", server.weight},
                               {"state", MemberStateName(server.state)},
                               {"incarnation", server.incarnation},
                               {"since", server.since},
                               {"answers", server.answers},
                               {"reachable", server.reachable},
                               {"version", server.version},
                               {"item_size_max", server.item_size_max},
                               {"evictions", server.evictions},
                               {"last_error", server.last_error},
                               // A handful of requests says nothing of it.
                               {"latency", nullptr}});
  }
  return json;
}

}  // namespace ers::proxy

#endif  // ERS_PROXY_SHARED_SERVERS_JSON_H_
