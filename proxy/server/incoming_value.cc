#include "server/incoming_value.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ers::proxy {

using net::Task;
using Bytes = std::span<const std::byte>;
using IncomingEvent = RequestReader::Event;

namespace {

// Memory is taken in such steps, while there is room.
constexpr std::uint64_t kStep = 256 << 10;

Status ClientLeft() {
  return {StatusCode::kUnavailable, "the client left in the middle of a value"};
}

}  // namespace

void IncomingValue::TakeMemory(const Scheme& scheme) {
  k_ = static_cast<std::uint64_t>(scheme.k);
  per_k_ = k_ + static_cast<std::uint64_t>(scheme.m);
}

// Memory for more of a part that has `left` bytes to come.
Task<Status> IncomingValue::Cover(std::uint64_t left) {
  if (per_k_ == 0) {
    covered_ = left;
    co_return Status();
  }
  const auto cost = [this](std::uint64_t bytes) {
    return (bytes * per_k_ + k_ - 1) / k_;
  };
  const std::uint64_t step = std::min(kStep, left);
  const Result<std::uint64_t> got =
      co_await memory_.TakeStep(cost(step), cost(left));
  if (!got) co_return got.error();
  covered_ = *got == cost(step) ? step : left;
  in_use_.back().taken += *got;
  co_return Status();
}

Result<Bytes> IncomingValue::Open(std::size_t max_bytes) {
  Part part;
  if (!part.bytes.Resize(std::min<std::uint64_t>(max_bytes, unopened_))) {
    return Fail(StatusCode::kNoMemory, "no memory for a group's buffer");
  }
  unopened_ -= part.bytes.size();
  in_use_.push_back(std::move(part));
  return in_use_.back().bytes.bytes();
}

void IncomingValue::Release() {
  memory_.Give(in_use_.front().taken);
  in_use_.pop_front();
}

Task<Result<std::size_t>> IncomingValue::Fill() {
  Part& part = in_use_.back();
  const std::span<std::byte> rest =
      std::span(part.bytes.data(), part.bytes.size()).subspan(part.filled);
  if (!rest.empty()) {
    if (covered_ == 0) {
      Status room = co_await Cover(rest.size());
      if (!room.ok()) co_return Fail(std::move(room));
    }
    const std::span<std::byte> next =
        rest.first(std::min<std::uint64_t>(rest.size(), covered_));
    const std::size_t taken = co_await Receive(next);
    if (gone_) co_return Fail(ClientLeft());
    reader_.SkipValue(taken);
    part.filled += taken;
    left_ -= taken;
    covered_ -= taken;
  }
  if (left_ == 0 && !over_) {
    Status whole = co_await End();
    if (!whole.ok()) co_return Fail(std::move(whole));
  }
  co_return part.filled;
}

// How many bytes came; more than none, unless the client is gone.
Task<std::size_t> IncomingValue::Receive(std::span<std::byte> into) {
  std::string_view& input = stream_.input();
  if (!input.empty()) {
    const std::size_t taken = std::min(input.size(), into.size());
    std::memcpy(into.data(), input.data(), taken);
    input.remove_prefix(taken);
    co_return taken;
  }
  const store::InStep step(steps_, store::RequestStep::kReceive);
  if (!stream_.readable()) memory_.SetWaitsFor(WaitsFor::kClient);
  gone_ = !co_await stream_.ReadMore(into);
  co_return gone_ ? 0 : stream_.placed();
}

Task<Status> IncomingValue::End() {
  for (;;) {
    const IncomingEvent event = reader_.Next(stream_.input());
    if (event == IncomingEvent::kNeedInput) {
      const store::InStep step(steps_, store::RequestStep::kReceive);
      gone_ = !co_await stream_.ReadMore();
      if (gone_) co_return ClientLeft();
      continue;
    }
    over_ = true;
    bad_ = event != IncomingEvent::kValueEnd;
    co_return bad_ ? Status(StatusCode::kInvalidArgument, "bad data chunk")
                   : Status();
  }
}

Task<bool> IncomingValue::Skip() {
  in_use_.clear();
  memory_.KeepAtMost(0);
  while (!over_ && !gone_) {
    const IncomingEvent event = reader_.Next(stream_.input());
    if (event == IncomingEvent::kNeedInput) {
      const store::InStep step(steps_, store::RequestStep::kReceive);
      gone_ = !co_await stream_.ReadMore();
    } else if (event == IncomingEvent::kValue) {
      left_ -= reader_.value().size();
    } else {
      over_ = true;
      bad_ = event != IncomingEvent::kValueEnd;
    }
  }
  co_return !gone_;
}

}  // namespace ers::proxy
