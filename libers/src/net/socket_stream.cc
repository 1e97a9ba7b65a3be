#include "net/socket_stream.h"

#include <event2/event.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "net/errno_text.h"

namespace ers::net {
namespace {

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Address UnixAddress(const std::string& path) {
  Address address;
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  assert(path.size() < sizeof local.sun_path);
  std::memcpy(local.sun_path, path.data(), path.size());
  std::memcpy(&address.storage, &local, sizeof local);
  address.size = sizeof local;
  return address;
}

// Empty, with `reason`, if the name means nothing.
std::vector<Address> Resolve(const Endpoint& endpoint, std::string* reason) {
  if (endpoint.is_unix()) return {UnixAddress(endpoint.path)};
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(),
                  &hints, &found);
  if (error != 0) {
    *reason = "cannot resolve the host name: ";
    reason->append(gai_strerror(error));
    return {};
  }
  std::vector<Address> addresses;
  for (const addrinfo* i = found; i != nullptr; i = i->ai_next) {
    Address address;
    std::memcpy(&address.storage, i->ai_addr, i->ai_addrlen);
    address.size = i->ai_addrlen;
    addresses.push_back(address);
  }
  freeaddrinfo(found);
  return addresses;
}

class SocketStream final : public AcceptedStream {
 public:
  SocketStream(event_base* base, const Endpoint& endpoint,
               StreamHandler& handler)
      : base_(base),
        handler_(handler),
        failure_event_(event_new(base, -1, 0, OnFailure, this)),
        addresses_(Resolve(endpoint, &reason_)) {
    ConnectNext();
  }
  SocketStream(event_base* base, int socket, StreamHandler& handler)
      : base_(base),
        handler_(handler),
        failure_event_(event_new(base, -1, 0, OnFailure, this)),
        connected_(true),
        fd_(socket) {
    SetNoDelay();
    MakeEvents();
    event_add(read_event_, nullptr);
  }
  ~SocketStream() override {
    CloseSocket();
    event_free(failure_event_);
  }

  ssize_t ReadV(const iovec* pieces, int count) override;
  ssize_t WriteV(const iovec* pieces, int count) override;
  void WantWrite(bool want) override;
  void WantRead(bool want) override;
  std::size_t Unread() const override;

 private:
  static void OnFailure(int, short, void* self);
  static void OnReadEvent(int, short, void* self);
  static void OnWriteEvent(int, short, void* self);

  void ConnectNext();
  bool StartConnect(const Address& address);
  void OnConnectEnd();
  void CloseSocket();
  void SetNoDelay();
  void MakeEvents();

  event_base* base_;
  StreamHandler& handler_;
  event* failure_event_;
  std::string reason_;
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

void SocketStream::ConnectNext() {
  while (next_address_ < addresses_.size()) {
    if (StartConnect(addresses_[next_address_++])) return;
    CloseSocket();
  }
  // The handler is never called from inside Connect.
  const timeval now{};
  event_add(failure_event_, &now);
}

bool SocketStream::StartConnect(const Address& address) {
  const int family = address.storage.ss_family;
  fd_ = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) {
    reason_ = ErrnoText(errno);
    return false;
  }
  if (family != AF_UNIX) SetNoDelay();
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
    CloseSocket();
    ConnectNext();
    return;
  }
  connected_ = true;
  event_del(write_event_);
  event_add(read_event_, nullptr);
  handler_.OnConnected();  // may destroy this
}

void SocketStream::OnFailure(int, short, void* self) {
  auto& stream = *static_cast<SocketStream*>(self);
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

std::unique_ptr<AcceptedStream> AdoptSocket(event_base* base, int socket,
                                            StreamHandler& handler) {
  return std::make_unique<SocketStream>(base, socket, handler);
}

std::unique_ptr<Stream> NewSocketStream(event_base* base,
                                        const Endpoint& endpoint,
                                        StreamHandler& handler) {
  return std::make_unique<SocketStream>(base, endpoint, handler);
}

}  // namespace ers::net
