#include "server/incoming_value.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ers::proxy {

using net::Task;
using Bytes = std::span<const std::byte>;
using Event = RequestReader::Event;

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
  taken_ += *got;
  co_return Status();
}

Task<Result<Bytes>> IncomingValue::Next(std::size_t most) {
  const std::uint64_t length = std::min<std::uint64_t>(most, left_);
  Part part;
  if (!part.bytes.Resize(length)) {
    co_return Fail(StatusCode::kNoMemory, "no memory for a group's buffer");
  }
  Status status = co_await Fill({part.bytes.data(), length});
  part.taken = std::exchange(taken_, 0);
  // The last bytes are handed out only once the value is known to be whole.
  if (status.ok() && left_ == 0 && !over_) status = co_await End();
  if (!status.ok()) {
    memory_.Give(part.taken);
    co_return Fail(std::move(status));
  }
  const Bytes bytes = part.bytes.bytes();
  in_use_.push_back(std::move(part));
  co_return bytes;
}

void IncomingValue::Release() {
  memory_.Give(in_use_.front().taken);
  in_use_.pop_front();
}

Task<Status> IncomingValue::Fill(std::span<std::byte> into) {
  while (!into.empty()) {
    if (covered_ == 0) {
      Status room = co_await Cover(into.size());
      if (!room.ok()) co_return room;
    }
    const std::span<std::byte> next =
        into.first(std::min<std::uint64_t>(into.size(), covered_));
    std::string_view& input = connection_.input_;
    std::size_t taken = 0;
    if (input.empty()) {
      const store::InStep step(steps_, store::Step::kReceive);
      if (!connection_.readable_) memory_.SetPace(Pace::kClient);
      gone_ = !co_await connection_.ReadMore(next);
      if (gone_) co_return ClientLeft();
      taken = connection_.placed_;
    } else {
      taken = std::min(input.size(), next.size());
      std::memcpy(next.data(), input.data(), taken);
      input.remove_prefix(taken);
    }
    connection_.reader_.SkipValue(taken);
    into = into.subspan(taken);
    left_ -= taken;
    covered_ -= taken;
  }
  co_return Status();
}

Task<Status> IncomingValue::End() {
  for (;;) {
    const Event event = connection_.reader_.Next(connection_.input_);
    if (event == Event::kNeedInput) {
      const store::InStep step(steps_, store::Step::kReceive);
      gone_ = !co_await connection_.ReadMore();
      if (gone_) co_return ClientLeft();
      continue;
    }
    over_ = true;
    bad_ = event != Event::kValueEnd;
    co_return bad_ ? Status(StatusCode::kInvalidArgument, "bad data chunk")
                   : Status();
  }
}

Task<bool> IncomingValue::Skip() {
  in_use_.clear();
  memory_.KeepAtMost(0);
  while (!over_ && !gone_) {
    const Event event = connection_.reader_.Next(connection_.input_);
    if (event == Event::kNeedInput) {
      const store::InStep step(steps_, store::Step::kReceive);
      gone_ = !co_await connection_.ReadMore();
    } else if (event == Event::kValue) {
      left_ -= connection_.reader_.value().size();
    } else {
      over_ = true;
      bad_ = event != Event::kValueEnd;
    }
  }
  co_return !gone_;
}

}  // namespace ers::proxy
