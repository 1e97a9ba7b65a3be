// Endpoint: where a memcached server listens.
#ifndef ERS_NET_ENDPOINT_H_
#define ERS_NET_ENDPOINT_H_

#include <string>
#include <string_view>
#include <vector>

#include "ers/status.h"

namespace ers::net {

// A value type; compares by text. Immutable after parsing; any thread.
struct Endpoint {
  // host and port for TCP (`host` without brackets); path for a unix socket.
  std::string host;
  int port = 0;
  std::string path;
  int weight = 1;
  // Its name on the ring of a proxy that gave it one; empty: its address.
  std::string label;
  int position = 0;  // in the list that it came from

  [[nodiscard]] bool is_unix() const { return !path.empty(); }
  // The canonical text without the weight: "host:port", "[v6]:port" or
  // "/path": the member's name in views, errors and on the ring.
  [[nodiscard]] std::string name() const;
  // As HTTP's CONNECT names it: its name. A unix socket's path, and an address
  // with a zone, is the host, with %XX for what a name may not have; the port
  // of the former is 0.
  [[nodiscard]] std::string authority() const;
  bool operator==(const Endpoint&) const = default;
};

// May a server have this label? One word of printable characters.
bool IsLabel(std::string_view text);

// Parses "host:port", "[IPv6]:port" or "/path" (or "unix:/path"), each with an
// optional ":weight" (1..1000) behind, and "=label" behind that.
// kInvalidArgument quotes the text.
Result<Endpoint> ParseEndpoint(std::string_view text);
// Comma-separated; refuses an empty list and duplicates, naming the culprit.
Result<std::vector<Endpoint>> ParseEndpoints(std::string_view text);

}  // namespace ers::net

#endif  // ERS_NET_ENDPOINT_H_
