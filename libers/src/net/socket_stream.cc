#include "net/socket_stream.h"

#include <event2/event.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "net/errno_text.h"

namespace ers::net {
namespace {

// So long an address is waited for while there are others to be tried.
constexpr timeval kTurn = {0, 150'000};

class SocketStream final : public PacedStream, public AwaitsName {
 public:
  SocketStream(event_base* base, Runtime& runtime, Resolver& resolver,
               Endpoint endpoint, StreamHandler& handler)
      : base_(base),
        handler_(handler),
        timer_event_(event_new(base, -1, 0, OnTimer, this)),
        resolver_(&resolver),
        endpoint_(std::move(endpoint)),
        addresses_(PlainAddresses(endpoint_)) {
    if (!addresses_.empty()) {
      ConnectNext();
      return;
    }
    query_ = resolver.Ask(runtime, endpoint_,
                          [this](const Resolved& found) { OnResolved(found); });
  }
  SocketStream(event_base* base, int socket, StreamHandler& handler)
      : base_(base),
        handler_(handler),
        timer_event_(event_new(base, -1, 0, OnTimer, this)),
        connected_(true),
        fd_(socket) {
    SetNoDelay();
    MakeEvents();
    event_add(read_event_, nullptr);
  }
  ~SocketStream() override {
    CloseSocket();
    event_free(timer_event_);
  }

  ssize_t ReadV(const iovec* pieces, int count) override;
  ssize_t WriteV(const iovec* pieces, int count) override;
  void WantWrite(bool want) override;
  [[nodiscard]] bool Resolving() const override {
    return query_ && addresses_.empty();
  }
  void WantRead(bool want) override;
  std::size_t Unread() const override;
  void EndWriting() override { shutdown(fd_, SHUT_WR); }

 private:
  static void OnTimer(int, short, void* self);
  static void OnReadEvent(int, short, void* self);
  static void OnWriteEvent(int, short, void* self);

  void OnResolved(const Resolved& found);
  void ConnectNext();
  bool StartConnect(const Address& address);
  void GiveUpAddress();
  void OnConnectEnd();
  void CloseSocket();
  void SetNoDelay();
  void ForgetWhenClosed();
  void MakeEvents();

  event_base* base_;
  StreamHandler& handler_;
  // While an address is tried: the end of its turn. Without one: reports that
  // there is none left.
  event* timer_event_;
  std::string reason_;
  Resolver* resolver_ = nullptr;
  Endpoint endpoint_;
  std::unique_ptr<Resolver::Query> query_;  // null where there is no name
  std::vector<Address> addresses_;
  std::size_t next_address_ = 0;
  bool connected_ = false;
  int fd_ = -1;
  event* read_event_ = nullptr;
  event* write_event_ = nullptr;
};

void SocketStream::CloseSocket() {
  if (read_event_ != nullptr) event_free(read_event_);
  if (write_event_ != nullptr) event_free(write_event_);
  read_event_ = write_event_ = nullptr;
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void SocketStream::OnResolved(const Resolved& found) {
  addresses_ = found.addresses;
  if (addresses_.empty()) {
    reason_ = "cannot resolve the host name: " + found.error;
  }
  ConnectNext();
}

void SocketStream::ConnectNext() {
  while (next_address_ < addresses_.size()) {
    if (StartConnect(addresses_[next_address_++])) {
      if (next_address_ < addresses_.size()) event_add(timer_event_, &kTurn);
      return;
    }
    GiveUpAddress();
  }
  // The handler is never called from inside Connect.
  const timeval now{};
  event_add(timer_event_, &now);
}

void SocketStream::GiveUpAddress() {
  CloseSocket();
  event_del(timer_event_);
  if (query_) resolver_->PutLast(endpoint_, addresses_[next_address_ - 1]);
}

bool SocketStream::StartConnect(const Address& address) {
  const int family = address.storage.ss_family;
  fd_ = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) {
    reason_ = ErrnoText(errno);
    return false;
  }
  if (family != AF_UNIX) {
    SetNoDelay();
    ForgetWhenClosed();
  }
  const auto* target = reinterpret_cast<const sockaddr*>(&address.storage);
  if (connect(fd_, target, address.size) != 0 && errno != EINPROGRESS) {
    reason_ = ErrnoText(errno);
    return false;
  }
  MakeEvents();
  event_add(write_event_, nullptr);
  return true;
}

// A stream without it still works, only slower; a unix socket has none.
void SocketStream::SetNoDelay() {
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// The kernel does not go on sending what the peer has not got when the socket
// is closed, or the process is killed: others act by then as if it had arrived
// or never would (docs/internals/view.md, What is assumed).
void SocketStream::ForgetWhenClosed() {
  const linger at_once{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void SocketStream::MakeEvents() {
  read_event_ = event_new(base_, fd_, EV_READ | EV_PERSIST, OnReadEvent, this);
  write_event_ =
      event_new(base_, fd_, EV_WRITE | EV_PERSIST, OnWriteEvent, this);
}

void SocketStream::OnConnectEnd() {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) {
    reason_ = ErrnoText(error);
    GiveUpAddress();
    ConnectNext();
    return;
  }
  connected_ = true;
  event_del(timer_event_);
  event_del(write_event_);
  event_add(read_event_, nullptr);
  handler_.OnConnected();  // may destroy this
}

void SocketStream::OnTimer(int, short, void* self) {
  auto& stream = *static_cast<SocketStream*>(self);
  if (stream.fd_ >= 0) {
    stream.reason_ = ErrnoText(ETIMEDOUT);
    stream.GiveUpAddress();
    stream.ConnectNext();
    return;
  }
  // A copy: the handler destroys the stream.
  const std::string reason = stream.reason_;
  stream.handler_.OnFailed(reason);
}

void SocketStream::OnReadEvent(int, short, void* self) {
  auto& stream = *static_cast<SocketStream*>(self);
  stream.handler_.OnReadable();
}

void SocketStream::OnWriteEvent(int, short, void* self) {
  auto& stream = *static_cast<SocketStream*>(self);
  if (stream.connected_) {
    stream.handler_.OnWritable();
  } else {
    stream.OnConnectEnd();
  }
}

ssize_t SocketStream::ReadV(const iovec* pieces, int count) {
  ssize_t moved = 0;
  do {
    // One piece needs no list, and the kernel no time to check one.
    moved = count == 1 ? recv(fd_, pieces->iov_base, pieces->iov_len, 0)
                       : readv(fd_, pieces, std::min(count, IOV_MAX));
  } while (moved < 0 && errno == EINTR);
  return moved;
}

ssize_t SocketStream::WriteV(const iovec* pieces, int count) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces);
  message.msg_iovlen = static_cast<std::size_t>(std::min(count, IOV_MAX));
  ssize_t moved = 0;
  do {
    // Not writev: a peer that is gone must not raise SIGPIPE.
    moved = count == 1
                ? send(fd_, pieces->iov_base, pieces->iov_len, MSG_NOSIGNAL)
                : sendmsg(fd_, &message, MSG_NOSIGNAL);
  } while (moved < 0 && errno == EINTR);
  return moved;
}

void SocketStream::WantWrite(bool want) {
  if (want) {
    event_add(write_event_, nullptr);
  } else {
    event_del(write_event_);
  }
}

void SocketStream::WantRead(bool want) {
  if (want) {
    event_add(read_event_, nullptr);
  } else {
    event_del(read_event_);
  }
}

std::size_t SocketStream::Unread() const {
  int bytes = 0;
  return ioctl(fd_, FIONREAD, &bytes) == 0 ? static_cast<std::size_t>(bytes)
                                           : 0;
}

}  // namespace

std::unique_ptr<PacedStream> AdoptSocket(event_base* base, int socket,
                                         StreamHandler& handler) {
  return std::make_unique<SocketStream>(base, socket, handler);
}

std::unique_ptr<PacedStream> NewSocketStream(event_base* base, Runtime& runtime,
                                             Resolver& resolver,
                                             const Endpoint& endpoint,
                                             StreamHandler& handler) {
  return std::make_unique<SocketStream>(base, runtime, resolver, endpoint,
                                        handler);
}

}  // namespace ers::net
