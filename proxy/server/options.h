// What ersproxy is told at its start.
#ifndef ERS_PROXY_SERVER_OPTIONS_H_
#define ERS_PROXY_SERVER_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ers/options.h"

namespace ers::proxy {

struct ServerOptions {
  std::vector<std::string> listen = {"127.0.0.1:11211"};
  ClusterOptions cluster;
  ClientOptions client;  // scheme and inline limit of new objects
  int threads = 2;
  std::uint64_t max_value_bytes = kMaxValueBytes;
  int max_connections = 16384;  // of all threads
  std::string port_file;        // gets the names of the listeners; empty: none
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_OPTIONS_H_
