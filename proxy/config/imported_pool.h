// ImportedPool: a pool of another proxy, in this one's words.
#ifndef ERS_PROXY_CONFIG_IMPORTED_POOL_H_
#define ERS_PROXY_CONFIG_IMPORTED_POOL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ers/status.h"

namespace ers::proxy {

// A plain value.
struct ImportedPool {
  std::string name;
  std::string listen;                // empty: the file names none
  std::vector<std::string> servers;  // "host:port:weight=label", in its order
  std::string distribution;
  std::string hash;      // empty: the distribution has one
  std::string hash_tag;  // empty: none
  std::optional<std::uint64_t> timeout_ms;
  std::optional<std::uint64_t> max_connections;
  // "field: why it was not carried over".
  std::vector<std::string> left_out;
  Status taken;  // why it cannot be imported; of the file's others no matter
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_IMPORTED_POOL_H_
