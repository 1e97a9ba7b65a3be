// Tunnels: those of the admin port, on a thread of their own, so that a backup
// through them holds up no probe of /readyz.
#ifndef ERS_PROXY_ADMIN_TUNNELS_H_
#define ERS_PROXY_ADMIN_TUNNELS_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "admin/http_server.h"
#include "admin/tunnel.h"
#include "ers/status.h"
#include "jobs/replacement.h"
#include "net/endpoint.h"

namespace ers::proxy {

// Any thread, but for the end.
class Tunnels {
 public:
  struct Terms {
    std::function<std::size_t()> most;  // asked as `find` is
    net::Duration connect_timeout;      // a server's
    // The server that CONNECT names so; nothing: there is none. Called on the
    // tunnels' thread.
    std::function<std::optional<net::Endpoint>(std::string_view)> find;
    // Without a byte either way; its client connects anew when it needs to.
    net::Duration idle = std::chrono::minutes(10);
  };

  explicit Tunnels(Terms terms);
  // Closes all.
  ~Tunnels();
  Tunnels(const Tunnels&) = delete;
  Tunnels& operator=(const Tunnels&) = delete;

  // A tunnel to the server of that name (Endpoint::authority): `answer` is
  // called with what takes the client over, or with a refusal.
  void Ask(std::string authority, HttpServer::Answer answer);
  // From now on there are tunnels to the new one, too, which is to have the
  // place of one that Terms::find knows. kInvalidArgument: it knows none, or
  // that is no address. `done` is called on the tunnels' thread.
  void Admit(Replacement successor, std::function<void(const Status&)> done);
  [[nodiscard]] const TunnelCounts& counts() const;

  // Takes no more.
  void Drain();
  // Takes no more, and closes each that has nothing to carry, all after some
  // seconds; the second time all at once.
  void Stop();
  // After Drain or Stop: until none is open.
  void Join();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_TUNNELS_H_
