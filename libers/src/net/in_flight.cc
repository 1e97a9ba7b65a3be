#include "net/in_flight.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace ers::net {
namespace {

constexpr char kToNoRequest[] =
    "it sent a reply to no request: is it a memcached?";

// Is its answer the sentinel's?
bool BehindSentinel(const Request& request) {
  return request.quiet_run != nullptr || request.verb == Verb::kSentinel;
}

}  // namespace

// --- Writing ----------------------------------------------------------------

void InFlight::BeginBatch() {
  assert(batch_.empty());
  batch_.Clear();
  batch_ends_.clear();
  batch_first_ = 0;
}

bool InFlight::AppendFrom(RequestQueue& queue) {
  Request& request = *queue.front();
  if (quiet_ != nullptr && (request.quiet_run != quiet_->quiet_run ||
                            request.verb != quiet_->verb)) {
    AppendSentinel();
  }
  if (!batch_.Append(request)) return false;
  if (request.quiet_run != nullptr) quiet_ = &request;
  sent_.Push(queue.Pop());
  batch_ends_.push_back({&request, batch_.total_bytes()});
  return true;
}

void InFlight::EndBatch() {
  if (quiet_ != nullptr) AppendSentinel();
}

void InFlight::AppendSentinel() {
  quiet_ = nullptr;
  Request& sentinel = sentinels_.emplace_back();
  sentinel.verb = Verb::kSentinel;
  sentinel.deadline = TimePoint::max();
  batch_.AppendSentinel();
  sent_.Push(sentinel);
  batch_ends_.push_back({&sentinel, batch_.total_bytes()});
}

void InFlight::Advance(std::size_t bytes) {
  batch_.Advance(bytes);
  if (answered_early_ && batch_.empty()) {
    answered_early_ = false;
    answered_.Push(Pop());
  }
}

// Where the oldest request without an answer lies in the batch; 0 if it is of
// an earlier one.
std::size_t InFlight::FrontBegin() const {
  return FrontEnd() == 0 || batch_first_ == 0
             ? 0
             : batch_ends_[batch_first_ - 1].end;
}

std::size_t InFlight::FrontEnd() const {
  const bool in_batch = batch_first_ < batch_ends_.size() &&
                        batch_ends_[batch_first_].request == sent_.front();
  return in_batch ? batch_ends_[batch_first_].end : 0;
}

// A byte of it at least.
bool InFlight::FrontWritten() const {
  return FrontEnd() == 0 || FrontBegin() < batch_.written_bytes();
}

// --- Reading ----------------------------------------------------------------

bool InFlight::Take(std::string_view* bytes) {
  if (!parser_.active()) {
    if (sent_.empty() || answered_early_ || !FrontWritten()) {
      error_ = StrangerSent(*bytes);
      return false;
    }
    parser_.Begin(BehindSentinel(*sent_.front()) ? sentinels_.front()
                                                 : *sent_.front());
  }
  switch (parser_.Parse(bytes)) {
    case ReplyParser::Progress::kMore:
      return true;
    case ReplyParser::Progress::kBroken:
      error_ = parser_.error();
      return false;
    case ReplyParser::Progress::kDone:
      return OnReply();
  }
  return false;
}

bool InFlight::OnReply() {
  if (BehindSentinel(*sent_.front())) {
    Request& sentinel = sentinels_.front();
    if (sentinel.outcome == Outcome::kOk) return OnSentinelReply();
    if (sent_.front() == &sentinel) {
      error_ = kToNoRequest;
      return false;
    }
    // A refusal of the oldest of those before it.
    sent_.front()->outcome = sentinel.outcome;
    sent_.front()->value = std::exchange(sentinel.value, {});
  }
  answered_early_ = FrontEnd() > batch_.written_bytes();
  if (!answered_early_) answered_.Push(Pop());
  return true;
}

// All before the sentinel were obeyed.
bool InFlight::OnSentinelReply() {
  Request& sentinel = sentinels_.front();
  const auto written = std::find_if(
      batch_ends_.begin(), batch_ends_.end(),
      [&sentinel](const Written& w) { return w.request == &sentinel; });
  if (written != batch_ends_.end() && written->end > batch_.written_bytes()) {
    error_ = kToNoRequest;
    return false;
  }
  while (sent_.front() != &sentinel) {
    sent_.front()->outcome = Outcome::kOk;
    answered_.Push(Pop());
  }
  Pop();
  sentinels_.pop_front();
  return true;
}

Request& InFlight::Pop() {
  if (FrontEnd() != 0) ++batch_first_;
  return sent_.Pop();
}

Request* InFlight::PopAnswered() {
  return answered_.empty() ? nullptr : &answered_.Pop();
}

// --- Without a connection ---------------------------------------------------

Request* InFlight::PopLost() {
  assert(answered_.empty());
  while (!sent_.empty()) {
    const bool written = FrontWritten();
    const bool answered = std::exchange(answered_early_, false);
    Request& request = Pop();
    if (request.verb == Verb::kSentinel) continue;
    if (!answered) {
      request.value.clear();
      request.outcome = written ? Outcome::kLost : Outcome::kNotSent;
    }
    return &request;
  }
  return nullptr;
}

void InFlight::Clear() {
  assert(sent_.empty() && answered_.empty());
  sentinels_.clear();
  quiet_ = nullptr;
  parser_.Reset();
  batch_.Clear();
  batch_ends_.clear();
  batch_first_ = 0;
}

}  // namespace ers::net
