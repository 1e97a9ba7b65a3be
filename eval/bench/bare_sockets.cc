#include "bench/bare_sockets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>

#include "net/endpoint.h"
#include "net/errno_text.h"
#include "net/resolver.h"

namespace ers::bench {
namespace {

constexpr int kSilenceMs = 5000;
constexpr std::string_view kItemEnd = "\r\n";

iovec Piece(std::string_view text) {
  return {const_cast<char*>(text.data()), text.size()};
}

std::size_t Bytes(const std::vector<iovec>& pieces) {
  std::size_t bytes = 0;
  for (const iovec& piece : pieces) bytes += piece.iov_len;
  return bytes;
}

// Pieces of which the first ones are done, the next one maybe in part.
class Pieces {
 public:
  void Clear() {
    pieces_.clear();
    at_ = 0;
  }
  void Add(iovec piece) { pieces_.push_back(piece); }
  [[nodiscard]] bool done() const { return at_ == pieces_.size(); }

  // The next call's message.
  msghdr Message() {
    msghdr message{};
    message.msg_iov = pieces_.data() + at_;
    message.msg_iovlen = std::min<std::size_t>(pieces_.size() - at_, IOV_MAX);
    return message;
  }

  void Advance(std::size_t bytes) {
    while (at_ < pieces_.size() && bytes >= pieces_[at_].iov_len) {
      bytes -= pieces_[at_].iov_len;
      ++at_;
    }
    if (bytes == 0) return;
    iovec& piece = pieces_[at_];
    piece.iov_base = static_cast<char*>(piece.iov_base) + bytes;
    piece.iov_len -= bytes;
  }

 private:
  std::vector<iovec> pieces_;
  std::size_t at_ = 0;
};

}  // namespace

// With what is asked of its server, and what comes back.
class BareSockets::Connection {
 public:
  explicit Connection(net::Endpoint server) : server_(std::move(server)) {}
  ~Connection() { Close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  Status Connect();
  void Begin();
  void Ask(Verb verb, const BareItem& item);
  // Sends and reads what can be without waiting.
  Status Step();
  // What was answered, once nothing is left.
  [[nodiscard]] Status Outcome() const;

  [[nodiscard]] bool idle() const { return out_.done() && in_.done(); }
  [[nodiscard]] pollfd Waited() const {
    return {fd_, static_cast<short>(out_.done() ? POLLIN : POLLIN | POLLOUT),
            0};
  }
  [[nodiscard]] Status Failure(std::string_view what) const {
    return {StatusCode::kUnavailable,
            fmt::format("bare sockets: {}: {}", server_.name(), what)};
  }

 private:
  void Expect(std::string line, const BareItem* with_bytes);

  struct Line {
    std::string expected;
    std::string seen;  // as long
  };

  net::Endpoint server_;
  int fd_ = -1;
  Pieces out_;
  Pieces in_;
  std::deque<std::string> heads_;  // of requests
  std::deque<Line> lines_;         // of replies
};

Status BareSockets::Connection::Connect() {
  if (fd_ >= 0) return {};
  const auto addresses = net::PlainAddresses(server_);
  if (addresses.empty()) {
    return Failure("write its address in numbers, or a unix socket");
  }
  const net::Address& to = addresses.front();
  fd_ = socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return Failure(net::ErrnoText(errno));
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&to.storage), to.size) !=
      0) {
    return Failure(net::ErrnoText(errno));
  }
  const int on = 1;
  if (!server_.is_unix()) {
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  fcntl(fd_, F_SETFL, O_NONBLOCK);
  return {};
}

void BareSockets::Connection::Begin() {
  out_.Clear();
  in_.Clear();
  heads_.clear();
  lines_.clear();
}

void BareSockets::Connection::Expect(std::string line,
                                     const BareItem* with_bytes) {
  const std::size_t size = line.size();
  lines_.push_back({std::move(line), std::string(size, '\0')});
  in_.Add({lines_.back().seen.data(), size});
  if (with_bytes == nullptr) return;
  for (const iovec& piece : with_bytes->pieces) in_.Add(piece);
  Expect(std::string(kItemEnd), nullptr);
}

void BareSockets::Connection::Ask(Verb verb, const BareItem& item) {
  const std::size_t bytes = Bytes(item.pieces);
  switch (verb) {
    case Verb::kSet:
      heads_.push_back(fmt::format("ms {} {}\r\n", item.key, bytes));
      out_.Add(Piece(heads_.back()));
      for (const iovec& piece : item.pieces) out_.Add(piece);
      out_.Add(Piece(kItemEnd));
      Expect("HD\r\n", nullptr);
      break;
    case Verb::kGet:
      heads_.push_back(fmt::format("mg {} v\r\n", item.key));
      out_.Add(Piece(heads_.back()));
      Expect(fmt::format("VA {}\r\n", bytes), &item);
      break;
    case Verb::kDelete:
      heads_.push_back(fmt::format("md {}\r\n", item.key));
      out_.Add(Piece(heads_.back()));
      Expect("HD\r\n", nullptr);
      break;
  }
}

Status BareSockets::Connection::Step() {
  while (!out_.done()) {
    const msghdr message = out_.Message();
    const ssize_t sent = sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) return Failure(net::ErrnoText(errno));
    out_.Advance(static_cast<std::size_t>(sent));
  }
  while (!in_.done()) {
    msghdr message = in_.Message();
    const ssize_t read = recvmsg(fd_, &message, 0);
    if (read < 0 && errno == EAGAIN) break;
    if (read < 0) return Failure(net::ErrnoText(errno));
    if (read == 0) return Failure("the connection ended");
    in_.Advance(static_cast<std::size_t>(read));
    // A miss is shorter than what is waited for.
    for (const Line& line : lines_) {
      const bool miss =
          line.seen.starts_with("EN\r\n") || line.seen.starts_with("NF\r\n");
      if (miss) return {StatusCode::kNotFound, "bare sockets: no such item"};
    }
  }
  return {};
}

Status BareSockets::Connection::Outcome() const {
  for (const Line& line : lines_) {
    if (line.seen != line.expected) {
      return Failure("it answered something else");
    }
  }
  return {};
}

BareSockets::BareSockets() = default;
BareSockets::~BareSockets() = default;

Result<std::unique_ptr<BareSockets>> BareSockets::Open(
    std::string_view servers) {
  auto endpoints = net::ParseEndpoints(servers);
  if (!endpoints.has_value()) return Fail(endpoints.error());
  std::unique_ptr<BareSockets> sockets(new BareSockets);
  for (net::Endpoint& server : *endpoints) {
    sockets->connections_.push_back(
        std::make_unique<Connection>(std::move(server)));
  }
  return sockets;
}

std::size_t BareSockets::server_count() const { return connections_.size(); }

Status BareSockets::Set(const std::vector<BareItem>& items) {
  return Exchange(Verb::kSet, items);
}

Status BareSockets::Get(const std::vector<BareItem>& items) {
  return Exchange(Verb::kGet, items);
}

Status BareSockets::Delete(const std::vector<BareItem>& items) {
  return Exchange(Verb::kDelete, items);
}

Status BareSockets::Exchange(Verb verb, const std::vector<BareItem>& items) {
  Status status;
  for (const auto& connection : connections_) connection->Begin();
  for (const BareItem& item : items) {
    connections_[item.server]->Ask(verb, item);
  }
  for (const auto& connection : connections_) {
    if (status.ok() && !connection->idle()) status = connection->Connect();
  }
  if (status.ok()) status = Carry();
  for (const auto& connection : connections_) {
    if (status.ok()) status = connection->Outcome();
  }
  if (status.ok()) return {};
  for (const auto& connection : connections_) connection->Close();
  return status;
}

Status BareSockets::Carry() {
  std::vector<pollfd> waited;
  std::vector<Connection*> busy;
  for (const auto& connection : connections_) {
    if (!connection->idle()) busy.push_back(connection.get());
  }
  while (true) {
    for (Connection* connection : busy) {
      Status stepped = connection->Step();
      if (!stepped.ok()) return stepped;
    }
    std::erase_if(busy, [](const Connection* each) { return each->idle(); });
    if (busy.empty()) return {};
    waited.clear();
    for (const Connection* each : busy) waited.push_back(each->Waited());
    const int ready = poll(waited.data(), waited.size(), kSilenceMs);
    if (ready == 0) return busy.front()->Failure("silent for 5 s");
  }
}

}  // namespace ers::bench
