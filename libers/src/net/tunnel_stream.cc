#include "net/tunnel_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>

#include "net/connect_reply.h"
#include "net/errno_text.h"

namespace ers::net {
namespace {

std::string RequestFor(const Endpoint& server, const std::string& token) {
  const std::string authority = server.authority();
  std::string text =
      fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", authority);
  if (!token.empty()) text += "Proxy-Authorization: Bearer " + token + "\r\n";
  return text + "\r\n";
}

class TunnelStream final : public Stream, public ByWay, private StreamHandler {
 public:
  TunnelStream(const HttpProxy& proxy, const Endpoint& server,
               StreamHandler& handler, const ConnectToProxy& connect)
      : proxy_(proxy.at.name()),
        handler_(handler),
        request_(RequestFor(server, proxy.token)),
        unsent_(request_),
        stream_(connect(*this)) {}

  ssize_t ReadV(const iovec* pieces, int count) override {
    return stream_->ReadV(pieces, count);
  }
  ssize_t WriteV(const iovec* pieces, int count) override {
    return stream_->WriteV(pieces, count);
  }
  void WantWrite(bool want) override { stream_->WantWrite(want); }
  [[nodiscard]] std::string Obstacle() const override;

 private:
  void OnConnected() override {
    connected_ = true;
    Ask();
  }
  void OnReadable() override {
    return IsOpen() ? handler_.OnReadable() : ReadReply();
  }
  void OnWritable() override {
    return IsOpen() ? handler_.OnWritable() : Ask();
  }
  void OnFailed(const std::string& reason) override {
    Fail("cannot be reached: " + reason);
  }

  [[nodiscard]] bool IsOpen() const {
    return reply_.state() == ConnectReply::State::kOpen;
  }
  void Ask();
  void ReadReply();
  void OnReplyEnd();
  void Fail(const std::string& why);

  const std::string proxy_;
  StreamHandler& handler_;
  const std::string request_;
  std::string_view unsent_;  // of it
  bool connected_ = false;
  ConnectReply reply_;
  std::unique_ptr<Stream> stream_;
};

void TunnelStream::Ask() {
  const iovec piece{const_cast<char*>(unsent_.data()), unsent_.size()};
  const ssize_t moved = stream_->WriteV(&piece, 1);
  if (moved < 0 && !MustWait()) {
    return Fail("cannot be asked: " + ErrnoText(errno));
  }
  unsent_.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(moved, 0)));
  stream_->WantWrite(!unsent_.empty());
}

void TunnelStream::ReadReply() {
  std::array<char, 1024> buffer;
  while (const std::size_t wanted = std::min(reply_.wanted(), buffer.size())) {
    const iovec piece{buffer.data(), wanted};
    const ssize_t moved = stream_->ReadV(&piece, 1);
    if (moved < 0 && MustWait()) return;
    if (moved < 0) return Fail("has gone: " + ErrnoText(errno));
    if (moved == 0) {
      reply_.End();
    } else {
      reply_.Take({buffer.data(), static_cast<std::size_t>(moved)});
    }
  }
  OnReplyEnd();
}

void TunnelStream::OnReplyEnd() {
  switch (reply_.state()) {
    case ConnectReply::State::kOpen:
      return handler_.OnConnected();
    case ConnectReply::State::kRefused:
      return Fail("says: " + reply_.why());
    case ConnectReply::State::kBroken:
      return Fail("is none: " + reply_.why() +
                  "; give the admin address of an ersproxy");
    case ConnectReply::State::kHead:
    case ConnectReply::State::kBody:
      return;
  }
}

// The handler destroys this.
void TunnelStream::Fail(const std::string& why) {
  handler_.OnFailed(fmt::format("the proxy at {} {}", proxy_, why));
}

std::string TunnelStream::Obstacle() const {
  if (!connected_)
    return fmt::format("no connection to the proxy at {}", proxy_);
  if (IsOpen()) return {};
  return fmt::format("no answer of the proxy at {}", proxy_);
}

}  // namespace

std::unique_ptr<Stream> NewTunnelStream(const HttpProxy& proxy,
                                        const Endpoint& server,
                                        StreamHandler& handler,
                                        const ConnectToProxy& connect) {
  return std::make_unique<TunnelStream>(proxy, server, handler, connect);
}

}  // namespace ers::net
