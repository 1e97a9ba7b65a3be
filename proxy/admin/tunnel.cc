#include "admin/tunnel.h"

#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "net/errno_text.h"

namespace ers::proxy {
namespace {

constexpr std::string_view kConnected =
    "HTTP/1.1 200 Connection established\r\n\r\n";
// Reads in a row: other tunnels want their turn.
constexpr int kReadsPerTurn = 8;

}  // namespace

Tunnel::Tunnel(net::EventLoop& loop, const net::Endpoint& server, Owner& owner,
               std::span<char> buffer, TunnelCounts& counts)
    : loop_(loop),
      owner_(owner),
      buffer_(buffer),
      counts_(counts),
      moved_at_(loop.Now()) {
  server_.stream = loop.ConnectPaced(server, server_);
}

Tunnel::~Tunnel() {
  if (is_open()) counts_.open.Subtract();
}

void Tunnel::Open(Socket client) {
  moved_at_ = loop_.Now();
  client_.stream = loop_.Adopt(client.Release(), client_);
  counts_.opened.Add();
  counts_.open.Add();
  if (!Send(client_, kConnected)) return;
  if (client_.unsent.empty()) server_.stream->WantRead(true);
}

bool Tunnel::HoldsForServer() const {
  return !server_.unsent.empty() ||
         (is_open() && !client_.ended && client_.stream->Unread() > 0);
}

void Tunnel::Side::OnConnected() {
  stream->WantRead(false);  // until there is a client
  tunnel.owner_.OnServer(tunnel, "");
}

void Tunnel::Side::OnFailed(const std::string& reason) {
  tunnel.owner_.OnServer(tunnel, reason);
}

void Tunnel::Side::OnReadable() {
  if (tunnel.owner_.StaysOpen(tunnel)) tunnel.Carry(*this);
}

void Tunnel::Side::OnWritable() {
  if (tunnel.owner_.StaysOpen(tunnel)) tunnel.SendRest(*this);
}

void Tunnel::Carry(Side& from) {
  Side& to = Other(from);
  for (int i = 0; i < kReadsPerTurn; ++i) {
    const iovec piece{buffer_.data(), buffer_.size()};
    const ssize_t moved = from.stream->ReadV(&piece, 1);
    if (moved < 0 && net::MustWait()) return;
    if (moved < 0) return End();
    if (moved == 0) {
      from.ended = true;
      from.stream->WantRead(false);
      if (to.unsent.empty()) (void)PassEnd(to);
      return;
    }
    const auto bytes = static_cast<std::size_t>(moved);
    (&to == &server_ ? counts_.sent : counts_.received).Add(bytes);
    if (!Send(to, {buffer_.data(), bytes})) return;
    if (!to.unsent.empty() || bytes < buffer_.size()) return;
  }
}

// False: this is gone.
bool Tunnel::Send(Side& to, std::string_view bytes) {
  moved_at_ = loop_.Now();
  const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
  const ssize_t moved = to.stream->WriteV(&piece, 1);
  if (moved < 0 && !net::MustWait()) {
    End();
    return false;
  }
  if (moved > 0) bytes.remove_prefix(static_cast<std::size_t>(moved));
  if (bytes.empty()) return true;
  // No more is read before it has left.
  to.unsent = bytes;
  to.since = moved_at_;
  to.stream->WantWrite(true);
  Other(to).stream->WantRead(false);
  return true;
}

void Tunnel::SendRest(Side& to) {
  const iovec piece{to.unsent.data(), to.unsent.size()};
  const ssize_t moved = to.stream->WriteV(&piece, 1);
  if (moved < 0 && net::MustWait()) return;
  if (moved < 0) return End();
  moved_at_ = loop_.Now();
  to.unsent.erase(0, static_cast<std::size_t>(moved));
  if (!to.unsent.empty()) return;
  to.stream->WantWrite(false);
  Side& from = Other(to);
  if (from.ended) {
    (void)PassEnd(to);
  } else {
    from.stream->WantRead(true);
  }
}

// False: this is gone, as both sides have ended.
bool Tunnel::PassEnd(Side& to) {
  to.hears_end = true;
  to.stream->EndWriting();
  if (!Other(to).hears_end) return true;
  End();
  return false;
}

}  // namespace ers::proxy
