#include "tails/session.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

namespace ers::eval {
namespace {

// What a lane may hold before its sender has to wait: the queue of a slow
// link. A late reply has no limit: it would be a matter of bandwidth, too.
constexpr std::size_t kMaxQueued = 64 << 10;
constexpr std::size_t kMaxLate = 256 << 20;
// What a slow link carries at a time.
constexpr std::size_t kPacket = 1448;
constexpr double kRandomRange = 18446744073709551616.0;  // 2^64

}  // namespace

// One end of the connection, and what is on its way there.
struct Session::End final : net::StreamHandler {
  End(Session& of, net::EventLoop& loop, int socket)
      : session(of), stream(loop.Adopt(socket, *this)) {}

  void OnConnected() override {}
  void OnReadable() override {
    std::array<char, 65536> buffer;
    const iovec piece = {buffer.data(), buffer.size()};
    const ssize_t got = stream->ReadV(&piece, 1);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return session.Over();
    session.Took(*this, {buffer.data(), static_cast<std::size_t>(got)});
  }
  void OnWritable() override { session.FlushTo(*this); }
  void OnFailed(const std::string&) override { session.Over(); }

  Session& session;
  Lane lane;  // to this end
  std::unique_ptr<net::PacedStream> stream;
};

Session::Session(net::EventLoop& loop, Owner& owner, Traffic& traffic,
                 int client, int server)
    : loop_(loop),
      owner_(owner),
      traffic_(traffic),
      client_(std::make_unique<End>(*this, loop, client)),
      server_(std::make_unique<End>(*this, loop, server)) {
  ++traffic.counts.connections;
}

Session::~Session() = default;

Session::End& Session::OtherOf(const End& end) {
  return &end == client_.get() ? *server_ : *client_;
}

void Session::CutOff(bool cut) {
  cut_ = cut;
  SetReading();
  if (!cut) Flush();
}

void Session::Flush() {
  FlushTo(*client_);
  FlushTo(*server_);
}

// Draws once for each reply, however many pieces it comes in.
net::TimePoint Session::DueOfReply(net::TimePoint now) {
  const Rules& rules = traffic_.rules;
  if (asked_) {
    asked_ = false;
    ++traffic_.counts.replies;
    late_until_ = {};
    const double drawn = static_cast<double>(loop_.Random()) / kRandomRange;
    if (rules.late_share > 0 && drawn < rules.late_share) {
      ++traffic_.counts.late;
      late_until_ = now + rules.late_by;
    }
  }
  return std::max(now + rules.delay, late_until_);
}

void Session::Took(End& from, std::string_view bytes) {
  const net::TimePoint now = loop_.Now();
  const bool reply = &from == server_.get();
  net::TimePoint due = now;
  if (reply) {
    traffic_.counts.bytes_out += bytes.size();
    due = DueOfReply(now);
  } else {
    traffic_.counts.bytes_in += bytes.size();
    if (!asked_) ++traffic_.counts.requests;
    asked_ = true;
    asked_depth_ = owner_.Depth() + 1;
  }
  Lane& lane = OtherOf(from).lane;
  Wire& wire = reply ? traffic_.out : traffic_.in;
  const std::uint64_t rate = traffic_.rules.bits_per_s;
  while (!bytes.empty()) {
    const std::string_view piece =
        bytes.substr(0, rate > 0 ? kPacket : bytes.size());
    lane.Push(piece, wire.Pass(piece.size(), rate, due),
              reply ? asked_depth_ : 0);
    bytes.remove_prefix(piece.size());
  }
  FlushTo(OtherOf(from));
}

void Session::FlushTo(End& to) {
  if (cut_ || ended_) return;
  switch (to.lane.Flush(*to.stream, loop_.Now(), owner_.Depth())) {
    case Lane::Left::kNothing:
      to.stream->WantWrite(false);
      break;
    case Lane::Left::kLater:
      to.stream->WantWrite(false);
      owner_.WakeAt(*to.lane.NextDue());
      break;
    case Lane::Left::kBlocked:
      to.stream->WantWrite(true);
      break;
    case Lane::Left::kBroken:
      return Over();
  }
  SetReading();
}

void Session::SetReading() {
  const std::size_t most =
      traffic_.rules.bits_per_s > 0 ? kMaxQueued : kMaxLate;
  client_->stream->WantRead(!cut_ && server_->lane.bytes() < most);
  server_->stream->WantRead(!cut_ && client_->lane.bytes() < most);
}

// What was on the way is lost, as where a host or a process dies.
void Session::Over() {
  if (ended_) return;
  ended_ = true;
  client_->stream->WantRead(false);
  server_->stream->WantRead(false);
  owner_.Ended(*this);
}

}  // namespace ers::eval
