// Streams to servers that are made through an HTTP proxy, by CONNECT (RFC 9110,
// 9.3.6).
#ifndef ERS_NET_TUNNEL_STREAM_H_
#define ERS_NET_TUNNEL_STREAM_H_

#include <functional>
#include <memory>
#include <string>

#include "net/endpoint.h"
#include "net/runtime.h"

namespace ers::net {

struct HttpProxy {
  Endpoint at;
  std::string token;  // that it wants; empty: none
};

// Makes a connection to the proxy; as Runtime::Connect.
using ConnectToProxy = std::function<std::unique_ptr<Stream>(StreamHandler&)>;

// See Runtime::Connect: OnConnected comes once the proxy is connected to
// `server`, whose name it resolves. `handler` outlives the stream.
std::unique_ptr<Stream> NewTunnelStream(const HttpProxy& proxy,
                                        const Endpoint& server,
                                        StreamHandler& handler,
                                        const ConnectToProxy& connect);

// A stream that is made by way of something else than its server.
class ByWay {
 public:
  virtual ~ByWay() = default;
  // What is missing of the way yet: "no answer of ...". Empty: nothing is, and
  // what is missing is the server's.
  [[nodiscard]] virtual std::string Obstacle() const = 0;
};

}  // namespace ers::net

#endif  // ERS_NET_TUNNEL_STREAM_H_
