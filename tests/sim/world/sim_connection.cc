#include "sim/world/sim_connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include "sim/world/sim_runtime.h"
#include "sim/world/sim_server.h"

namespace ers::sim {
namespace {

constexpr Duration kPieceGapMin = std::chrono::microseconds(1);
constexpr Duration kPieceGapMax = std::chrono::microseconds(20);
// How soon a level-triggered event comes again.
constexpr Duration kAgain = std::chrono::microseconds(1);

}  // namespace

// One kind of event of a connection.
class SimConnection::Delivery : public SimEvent {
 public:
  Delivery(SimConnection& connection, void (SimConnection::*fire)())
      : SimEvent(connection.world_), connection_(connection), fire_(fire) {}

 protected:
  void Fire() override { (connection_.*fire_)(); }

 private:
  SimConnection& connection_;
  void (SimConnection::*fire_)();
};

SimConnection::SimConnection(World& world, SimRuntime& process,
                             SimServer* server, net::StreamHandler& handler)
    : world_(world),
      process_(process),
      server_(server),
      handler_(&handler),
      open_(std::make_unique<Delivery>(*this, &SimConnection::Open)),
      deliver_to_server_(
          std::make_unique<Delivery>(*this, &SimConnection::DeliverToServer)),
      deliver_to_client_(
          std::make_unique<Delivery>(*this, &SimConnection::DeliverToClient)),
      notify_client_(
          std::make_unique<Delivery>(*this, &SimConnection::NotifyClient)) {
  session_.id = world_.NextConnectionId();
  if (server_ != nullptr) server_->Meet(*this);
  const NetworkOptions& network = world_.network();
  open_->Schedule(
      world_.now() +
      2 * world_.random().Between(network.latency_min, network.latency_max));
}

SimConnection::~SimConnection() {
  if (stream_ != nullptr) stream_->connection_ = nullptr;
}

bool SimConnection::Blocked() const {
  return server_ != nullptr && !server_->ReachableFrom(process_);
}

void SimConnection::Open() {
  if (handler_ == nullptr) return;
  if (Blocked()) {
    to_server_.held = true;  // the SYN is sent again until it gets through
    return;
  }
  const bool accepted = server_ != nullptr && server_->up();
  server_open_ = accepted;
  opening_ = accepted ? Opening::kAccepted : Opening::kRefused;
  WakeClient();
}

void SimConnection::Send(Flow& flow, std::string_view bytes, Duration delay) {
  const NetworkOptions& network = world_.network();
  const TimePoint arrives =
      world_.now() + delay +
      world_.random().Between(network.latency_min, network.latency_max);
  flow.last_arrival = std::max(flow.last_arrival, arrives);
  flow.bytes += bytes;
  flow.pieces.push_back({bytes.size(), world_.now(), flow.last_arrival});
}

std::string_view SimConnection::Due(Flow& flow) {
  std::size_t due = 0;
  for (const Piece& piece : flow.pieces) {
    if (piece.arrives > world_.now()) break;
    due += piece.bytes;
  }
  SeededRandom& random = world_.random();
  std::size_t taken = due;
  if (due > 1 && random.Chance(world_.network().split_chance)) {
    const std::size_t most =
        random.Below(2) == 0 ? due - 1 : std::min<std::size_t>(due - 1, 8);
    taken = 1 + random.Below(most);
  }
  for (std::size_t left = taken; left > 0;) {
    Piece& piece = flow.pieces.front();
    const std::size_t moved = std::min(left, piece.bytes);
    piece.bytes -= moved;
    left -= moved;
    if (piece.bytes == 0) flow.pieces.pop_front();
  }
  if (taken < due) {
    flow.pieces.front().arrives =
        world_.now() + random.Between(kPieceGapMin, kPieceGapMax);
    flow.last_arrival =
        std::max(flow.last_arrival, flow.pieces.front().arrives);
  }
  const auto bytes = std::string_view(flow.bytes).substr(flow.head, taken);
  flow.head += taken;
  world_.Trace(std::hash<std::string_view>()(bytes));
  return bytes;
}

void SimConnection::Compact(Flow& flow) {
  constexpr std::size_t kCompactAt = 1 << 16;
  if (flow.head == flow.bytes.size()) {
    flow.bytes.clear();
    flow.head = 0;
  } else if (flow.head > kCompactAt && flow.head * 2 > flow.bytes.size()) {
    flow.bytes.erase(0, flow.head);
    flow.head = 0;
  }
}

void SimConnection::KeepOnly(Flow& flow, std::size_t bytes) {
  std::size_t kept = 0;
  std::deque<Piece> pieces;
  for (Piece piece : flow.pieces) {
    piece.bytes = std::min(piece.bytes, bytes - kept);
    kept += piece.bytes;
    if (piece.bytes > 0) pieces.push_back(piece);
  }
  flow.pieces = std::move(pieces);
  flow.bytes.resize(flow.head + kept);
}

void SimConnection::ScheduleNext(Flow& flow, SimEvent& event) {
  if (flow.held) return;
  if (!flow.pieces.empty()) {
    // Never earlier than a piece before it that was split.
    event.Schedule(flow.pieces.front().arrives);
  }
}

void SimConnection::Delay(TimePoint until) {
  const Duration late_max = world_.network().late_max;
  to_server_.last_arrival = std::max(to_server_.last_arrival, until);
  for (Piece& piece : to_server_.pieces) {
    piece.arrives =
        std::max(piece.arrives, std::min(until, piece.sent + late_max));
  }
}

void SimConnection::DeliverToServer() {
  if (Blocked()) {
    to_server_.held = true;
    return;
  }
  const std::string_view bytes = Due(to_server_);
  if (server_open_ && !bytes.empty()) server_->Receive(*this, bytes);
  Compact(to_server_);
  ScheduleNext(to_server_, *deliver_to_server_);
  if (to_server_.pieces.empty() &&
      (client_finished_ || ending_ != Ending::kNone)) {
    server_open_ = false;
  }
  if (want_write_) WakeClient();
}

void SimConnection::DeliverToClient() {
  if (Blocked()) {
    to_client_.held = true;
    return;
  }
  if (handler_ == nullptr) return;
  inbox_ += Due(to_client_);
  Compact(to_client_);
  ScheduleNext(to_client_, *deliver_to_client_);
  if (to_client_.pieces.empty() && ending_ != Ending::kNone) {
    ending_heard_ = ending_;
  }
  WakeClient();
}

void SimConnection::Reply(std::string_view bytes, Duration delay) {
  if (handler_ == nullptr || ending_ != Ending::kNone || bytes.empty()) return;
  Send(to_client_, bytes, delay);
  ScheduleNext(to_client_, *deliver_to_client_);
}

void SimConnection::EndClient(Ending ending) {
  if (handler_ == nullptr || ending_ != Ending::kNone) return;
  ending_ = ending;
  if (opening_ == Opening::kUnderWay || opening_ == Opening::kRefused) return;
  const NetworkOptions& network = world_.network();
  const TimePoint arrives =
      world_.now() +
      world_.random().Between(network.latency_min, network.latency_max);
  if (to_client_.held) return;
  deliver_to_client_->Schedule(
      to_client_.pieces.empty() ? arrives : to_client_.pieces.front().arrives);
}

void SimConnection::Cut(std::size_t reply_bytes_kept) {
  SeededRandom& random = world_.random();
  KeepOnly(to_client_, reply_bytes_kept);
  const auto under_way = bytes_to_server();
  if (under_way > 0) {
    KeepOnly(to_server_,
             random.Below(2) == 0 ? under_way : random.Below(under_way + 1));
  }
  if (to_server_.pieces.empty()) server_open_ = false;
  constexpr Ending kWays[] = {Ending::kEnd, Ending::kReset, Ending::kFailed};
  EndClient(kWays[random.Below(3)]);
}

void SimConnection::ServerGone() {
  server_open_ = false;
  KeepOnly(to_server_, 0);
  unread_.clear();
  if (opening_ == Opening::kUnderWay) return;  // it will be refused
  SeededRandom& random = world_.random();
  const std::size_t replies = to_client_.bytes.size() - to_client_.head;
  KeepOnly(to_client_, random.Below(replies + 1));
  constexpr Ending kWays[] = {Ending::kEnd, Ending::kReset, Ending::kFailed};
  EndClient(kWays[random.Below(3)]);
}

void SimConnection::ClientGone() {
  if (handler_ == nullptr) return;
  handler_ = nullptr;
  if (stream_ != nullptr) stream_->connection_ = nullptr;
  stream_ = nullptr;
  client_finished_ = true;
  notify_client_->Cancel();
  KeepOnly(to_client_, 0);
  inbox_.clear();
  SeededRandom& random = world_.random();
  const NetworkOptions& network = world_.network();
  const std::size_t under_way = bytes_to_server();
  constexpr std::uint64_t kCutShortOneIn = 8;
  if (under_way > 0 && random.Below(kCutShortOneIn) == 0) {
    KeepOnly(to_server_, random.Below(under_way + 1));
  }
  if (to_server_.pieces.empty()) {
    server_open_ = false;
    return;
  }
  if (random.Chance(network.linger_chance)) {
    Delay(world_.now() + random.Between(Duration{}, network.late_max));
    deliver_to_server_->Schedule(to_server_.pieces.front().arrives);
  }
}

void SimConnection::Unblock() {
  if (Blocked()) return;
  const NetworkOptions& network = world_.network();
  const auto soon = [&] {
    return world_.now() +
           world_.random().Between(network.latency_min, network.latency_max);
  };
  if (std::exchange(to_server_.held, false)) {
    (opening_ == Opening::kUnderWay ? open_ : deliver_to_server_)
        ->Schedule(soon());
  }
  if (std::exchange(to_client_.held, false)) {
    deliver_to_client_->Schedule(soon());
  }
}

bool SimConnection::Finished() const {
  return handler_ == nullptr && !firing_ && !server_open_ && unread_.empty();
}

void SimConnection::WakeClient() {
  if (handler_ != nullptr && !notify_client_->scheduled()) {
    notify_client_->Schedule(world_.now());
  }
}

bool SimConnection::Readable() const {
  return inbox_head_ < inbox_.size() || ending_heard_ == Ending::kEnd ||
         ending_heard_ == Ending::kReset;
}

bool SimConnection::Writable() const {
  return want_write_ &&
         bytes_to_server() + unread_.size() < world_.network().window_bytes;
}

void SimConnection::NotifyClient() {
  if (handler_ == nullptr || process_.killed()) return;
  if (process_.paused_until() > world_.now()) {
    notify_client_->Schedule(process_.paused_until());
    return;
  }
  firing_ = true;
  const auto notify = [this](auto&& call) {
    process_.RunTurn([&] { call(*handler_); });
  };
  if (opening_ == Opening::kRefused) {
    notify([](auto& handler) { handler.OnFailed("connection refused"); });
  } else if (opening_ == Opening::kAccepted) {
    opening_ = Opening::kConnected;
    notify([](auto& handler) { handler.OnConnected(); });
    if (handler_ != nullptr && ending_ != Ending::kNone) {
      deliver_to_client_->Schedule(world_.now() + kAgain);
    }
  } else {
    if (ending_heard_ == Ending::kFailed && inbox_head_ == inbox_.size()) {
      notify(
          [](auto& handler) { handler.OnFailed("connection reset by peer"); });
    } else if (Readable()) {
      notify([](auto& handler) { handler.OnReadable(); });
    }
    if (handler_ != nullptr && Writable() && ending_heard_ == Ending::kNone) {
      notify([](auto& handler) { handler.OnWritable(); });
    }
  }
  firing_ = false;
  if (handler_ == nullptr || opening_ == Opening::kRefused) return;
  if (Readable() || Writable() || ending_heard_ == Ending::kFailed) {
    notify_client_->Schedule(world_.now() + kAgain);
  }
}

ssize_t SimConnection::Read(const iovec* pieces, int count) {
  if (ending_heard_ == Ending::kReset) {
    errno = ECONNRESET;
    return -1;
  }
  std::size_t left = inbox_.size() - inbox_head_;
  if (left == 0) {
    if (ending_heard_ == Ending::kEnd) return 0;
    errno = EAGAIN;
    return -1;
  }
  if (left > 1 && world_.random().Chance(world_.network().split_chance)) {
    left = 1 + world_.random().Below(left - 1);
  }
  std::size_t moved = 0;
  for (int i = 0; i < count && left > 0; ++i) {
    const std::size_t now = std::min(left, pieces[i].iov_len);
    std::memcpy(pieces[i].iov_base, inbox_.data() + inbox_head_, now);
    inbox_head_ += now;
    left -= now;
    moved += now;
  }
  if (inbox_head_ == inbox_.size()) {
    inbox_.clear();
    inbox_head_ = 0;
  }
  return static_cast<ssize_t>(moved);
}

ssize_t SimConnection::Write(const iovec* pieces, int count) {
  if (ending_heard_ != Ending::kNone) {
    errno = EPIPE;
    return -1;
  }
  const std::size_t full = bytes_to_server() + unread_.size();
  const std::size_t window = world_.network().window_bytes;
  if (opening_ != Opening::kConnected || full >= window) {
    errno = EAGAIN;
    return -1;
  }
  std::size_t asked = 0;
  for (int i = 0; i < count; ++i) asked += pieces[i].iov_len;
  std::size_t left = std::min(asked, window - full);
  if (left > 1 && world_.random().Chance(world_.network().split_chance)) {
    left = 1 + world_.random().Below(left - 1);
  }
  const std::size_t moved = left;
  if (moved == 0) return 0;
  std::string bytes;
  bytes.reserve(left);
  for (int i = 0; i < count && left > 0; ++i) {
    const std::size_t now = std::min(left, pieces[i].iov_len);
    bytes.append(static_cast<const char*>(pieces[i].iov_base), now);
    left -= now;
  }
  if (!server_open_) return static_cast<ssize_t>(moved);  // to no server
  Send(to_server_, bytes, {});
  ScheduleNext(to_server_, *deliver_to_server_);
  return static_cast<ssize_t>(moved);
}

SimConnection::ClientStream::ClientStream(SimConnection& connection)
    : connection_(&connection) {
  connection.stream_ = this;
}

SimConnection::ClientStream::~ClientStream() {
  if (connection_ != nullptr) connection_->ClientGone();
}

ssize_t SimConnection::ClientStream::ReadV(const iovec* pieces, int count) {
  return connection_->Read(pieces, count);
}

ssize_t SimConnection::ClientStream::WriteV(const iovec* pieces, int count) {
  return connection_->Write(pieces, count);
}

void SimConnection::ClientStream::WantWrite(bool want) {
  connection_->want_write_ = want;
  if (want && connection_->Writable()) connection_->WakeClient();
}

}  // namespace ers::sim
