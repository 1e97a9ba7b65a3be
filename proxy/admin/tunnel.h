// Tunnel: the bytes of one client of the admin port to one memcached server,
// and back (HTTP's CONNECT).
#ifndef ERS_PROXY_ADMIN_TUNNEL_H_
#define ERS_PROXY_ADMIN_TUNNEL_H_

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/count.h"
#include "net/event_loop.h"
#include "shared/listener.h"

namespace ers::proxy {

// Of all tunnels since the start. One thread writes, any reads.
struct TunnelCounts {
  Count opened;
  Count refused;
  Count open;      // goes down, too
  Count sent;      // bytes to servers
  Count received;  // bytes from servers
};

// What a client has sent must not reach its server late: once its lease is over
// others act as if it had arrived or never would (docs/internals/view.md, What
// is assumed). What a server has not taken within this time is dropped, and the
// tunnel closed.
inline constexpr net::Duration kLongestHeld = std::chrono::milliseconds(400);

// Loop thread only.
class Tunnel {
 public:
  // Called from the loop. Each may destroy the tunnel.
  class Owner {
   public:
    virtual ~Owner() = default;
    // The server is connected, or cannot be and why.
    virtual void OnServer(Tunnel& tunnel, const std::string& failure) = 0;
    virtual void OnEnd(Tunnel& tunnel) = 0;
    // The thread goes on. False: the tunnel is gone, as the thread was away for
    // too long.
    virtual bool StaysOpen(Tunnel& tunnel) = 0;
  };

  // Starts connecting to `server`. All outlive it; `buffer` is any tunnel's
  // while it is called.
  Tunnel(net::EventLoop& loop, const net::Endpoint& server, Owner& owner,
         std::span<char> buffer, TunnelCounts& counts);
  ~Tunnel();
  Tunnel(const Tunnel&) = delete;
  Tunnel& operator=(const Tunnel&) = delete;

  // After OnServer: the client that wanted it, which gets the answer that it is
  // connected.
  void Open(Socket client);
  [[nodiscard]] bool is_open() const { return client_.stream != nullptr; }

  // Is something on its way to the server?
  [[nodiscard]] bool HoldsForServer() const;
  // When that was read; never: nothing is.
  [[nodiscard]] net::TimePoint held_since() const {
    return server_.unsent.empty() ? net::TimePoint::max() : server_.since;
  }
  // Does a side send no more?
  [[nodiscard]] bool is_half() const { return client_.ended || server_.ended; }
  // When bytes moved last.
  [[nodiscard]] net::TimePoint moved_at() const { return moved_at_; }

 private:
  struct Side final : net::StreamHandler {
    explicit Side(Tunnel& its_tunnel) : tunnel(its_tunnel) {}
    void OnConnected() override;
    void OnReadable() override;
    void OnWritable() override;
    void OnFailed(const std::string& reason) override;

    Tunnel& tunnel;
    std::unique_ptr<net::PacedStream> stream;
    std::string unsent;  // to this side, of what the other one sent
    net::TimePoint since;
    bool ended = false;      // it sends no more
    bool hears_end = false;  // it has learned that the other one does not
  };

  Side& Other(const Side& side) {
    return &side == &client_ ? server_ : client_;
  }
  void Carry(Side& from);
  bool Send(Side& to, std::string_view bytes);
  void SendRest(Side& to);
  bool PassEnd(Side& to);
  void End() { owner_.OnEnd(*this); }

  net::EventLoop& loop_;
  Owner& owner_;
  const std::span<char> buffer_;
  TunnelCounts& counts_;
  net::TimePoint moved_at_;
  Side client_{*this};
  Side server_{*this};
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_TUNNEL_H_
