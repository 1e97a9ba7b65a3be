#include "warm/old_link.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "net/errno_text.h"
#include "store/format/keys.h"

namespace ers::proxy {

using net::Task;
using Kind = OldReply::Kind;

namespace {

constexpr net::Duration kFirstPause = std::chrono::milliseconds(100);
constexpr net::Duration kLongestPause = std::chrono::seconds(5);
constexpr std::size_t kReadBytes = std::size_t{64} << 10;

}  // namespace

// Lies in the frame of its coroutine.
struct OldLink::Call {
  Call(net::Runtime& runtime, Ask what, std::string_view of)
      : ask(what), key(of), done(runtime, 1) {}

  Ask ask;
  std::string_view key;
  net::TimePoint deadline;
  net::Latch done;
  std::optional<Result<OldReply>> result;

  void End(Result<OldReply> with) {
    result.emplace(std::move(with));
    done.CountDown();
  }
};

OldLink::OldLink(net::Runtime& runtime, net::Endpoint server,
                 OldLinkTerms terms)
    : runtime_(runtime),
      server_(std::move(server)),
      terms_(std::move(terms)),
      backoff_(kFirstPause, kLongestPause),
      parser_(terms_.max_value),
      timer_(runtime.NewTimer([this] { WatchDeadline(); })) {}

OldLink::~OldLink() {
  if (!waiting_.empty() || !sent_.empty()) Fail("the process ends");
}

Task<Result<OldReply>> OldLink::Get(std::string_view key) {
  return Run(Ask::kGet, key);
}

Task<Result<OldReply>> OldLink::Find(std::string_view key) {
  return Run(Ask::kFind, key);
}

Task<Result<OldReply>> OldLink::Delete(std::string_view key) {
  return Run(Ask::kDelete, key);
}

Task<Result<OldReply>> OldLink::Run(Ask ask, std::string_view key) {
  if (state_ == State::kFailed && runtime_.Now() >= try_again_) {
    state_ = State::kIdle;
  }
  if (state_ == State::kFailed) {
    co_return ers::Fail(
        StatusCode::kUnavailable,
        fmt::format("the old pool's {} does not answer", server_.name()));
  }
  Call call(runtime_, ask, key);
  call.deadline = runtime_.Now() + terms_.timeout;
  if (state_ == State::kUp) {
    Send(call);
    Write();
  } else {
    waiting_.push_back(&call);
    if (state_ == State::kIdle) Connect();
  }
  if (waiting_.size() + sent_.size() == 1) timer_->Start(terms_.timeout);
  co_await call.done;
  co_return std::move(*call.result);
}

void OldLink::Connect() {
  state_ = State::kConnecting;
  parser_ = OldReplyParser(terms_.max_value);
  stream_ = runtime_.Connect(server_, *this);
}

void OldLink::OnConnected() { Greet(meta_ ? Ask::kNoop : Ask::kProbe); }

// The link's own questions, before any other: does it speak meta, and is it a
// server of a cluster?
void OldLink::Greet(Ask ask) {
  out_ +=
      ask == Ask::kNoop ? "mn\r\n" : fmt::format("get {}\r\n", store::kViewKey);
  sent_.push_back(nullptr);
  asked_.push_back(ask);
  Write();
}

void OldLink::OnGreeted(Ask ask, const OldReply& reply) {
  if (ask == Ask::kNoop) {
    meta_ = reply.kind == Kind::kDone;
    Greet(Ask::kProbe);
  } else if (reply.kind == Kind::kValue) {
    Fail("it is a server of a libers cluster: warm_from is for others");
  } else {
    BecomeUp();
  }
}

void OldLink::BecomeUp() {
  state_ = State::kUp;
  backoff_.Reset();
  if (std::exchange(warned_, false) && terms_.log) {
    terms_.log(LogLevel::kInfo,
               fmt::format("warm_from: {} answers again", server_.name()));
  }
  for (Call* call : std::exchange(waiting_, {})) Send(*call);
  Write();
}

void OldLink::Send(Call& call) {
  switch (call.ask) {
    case Ask::kGet:
      out_ += meta_ ? fmt::format("mg {} v f t\r\n", call.key)
                    : fmt::format("get {}\r\n", call.key);
      break;
    case Ask::kFind:
      out_ += meta_ ? fmt::format("mg {}\r\n", call.key)
                    : fmt::format("get {}\r\n", call.key);
      break;
    case Ask::kDelete:
      out_ += meta_ ? fmt::format("md {}\r\n", call.key)
                    : fmt::format("delete {}\r\n", call.key);
      break;
    case Ask::kNoop:
    case Ask::kProbe:
      break;
  }
  sent_.push_back(&call);
  asked_.push_back(call.ask);
}

void OldLink::Write() {
  while (stream_ != nullptr && !out_.empty()) {
    const iovec piece{out_.data(), out_.size()};
    const ssize_t moved = stream_->WriteV(&piece, 1);
    if (moved < 0 && errno == EAGAIN) return stream_->WantWrite(true);
    if (moved <= 0) return Fail(net::ErrnoText(errno));
    out_.erase(0, static_cast<std::size_t>(moved));
  }
  if (stream_ != nullptr) stream_->WantWrite(false);
}

void OldLink::OnReadable() {
  std::vector<char> buffer(kReadBytes);
  const iovec piece{buffer.data(), buffer.size()};
  const ssize_t got = stream_->ReadV(&piece, 1);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    return OnClosed(got == 0 ? "it has closed the connection"
                             : net::ErrnoText(errno));
  }
  std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  while (!bytes.empty() && stream_ != nullptr) {
    const auto progress = sent_.empty() ? OldReplyParser::Progress::kBroken
                                        : parser_.Parse(&bytes);
    if (progress == OldReplyParser::Progress::kBroken) {
      return Fail("it has sent what is no reply of a memcached");
    }
    if (progress == OldReplyParser::Progress::kDone) OnReply(parser_.Take());
  }
}

void OldLink::OnReply(OldReply reply) {
  Call* const call = sent_.front();
  const Ask ask = asked_.front();
  sent_.pop_front();
  asked_.pop_front();
  if (call == nullptr) return OnGreeted(ask, reply);
  if (ask == Ask::kFind && reply.kind == Kind::kValue) {
    reply.kind = Kind::kDone;
    reply.value.clear();
  }
  call->End(std::move(reply));
}

// Of the oldest; answers come in order.
void OldLink::WatchDeadline() {
  const Call* oldest = nullptr;
  for (const Call* call : sent_) {
    if (oldest == nullptr) oldest = call;
  }
  if (oldest == nullptr && !waiting_.empty()) oldest = waiting_.front();
  if (oldest == nullptr) return;
  const net::Duration left = oldest->deadline - runtime_.Now();
  if (left.count() > 0) return timer_->Start(left);
  using std::chrono::milliseconds;
  Fail(fmt::format(
      "it has not answered for {} ms",
      std::chrono::duration_cast<milliseconds>(terms_.timeout).count()));
}

// A proxy that does not know the first word ends the connection: it is asked
// anew, by text.
void OldLink::OnClosed(const std::string& reason) {
  const bool greeting = state_ == State::kConnecting && !asked_.empty() &&
                        asked_.front() == Ask::kNoop;
  if (!greeting) return Fail(reason);
  sent_.clear();
  asked_.clear();
  out_.clear();
  meta_ = false;
  Connect();
}

void OldLink::Fail(const std::string& reason) {
  stream_.reset();
  out_.clear();
  auto sent = std::exchange(sent_, {});
  asked_.clear();
  meta_ = true;  // another server may be there the next time
  state_ = State::kFailed;
  try_again_ = runtime_.Now() + backoff_.Next(runtime_.Random());
  if (!std::exchange(warned_, true) && terms_.log) {
    terms_.log(LogLevel::kWarning,
               fmt::format("warm_from: {}: {}: a miss stays a miss",
                           server_.name(), reason));
  }
  sent.insert(sent.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();
  for (Call* call : sent) {
    if (call == nullptr) continue;
    call->End(ers::Fail(
        StatusCode::kUnavailable,
        fmt::format("the old pool's {}: {}", server_.name(), reason)));
  }
}

}  // namespace ers::proxy
