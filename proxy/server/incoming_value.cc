#include "server/incoming_value.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ers::proxy {

using net::Task;
using Bytes = std::span<const std::byte>;
using Event = RequestReader::Event;

namespace {

Status ClientLeft() {
  return {StatusCode::kUnavailable, "the client left in the middle of a value"};
}

}  // namespace

Task<Result<Bytes>> IncomingValue::Next(std::size_t most) {
  const std::uint64_t length = std::min<std::uint64_t>(most, left_);
  Value buffer;
  if (!buffer.Resize(length)) {
    co_return Fail(StatusCode::kNoMemory, "no memory for a group's buffer");
  }
  Status status = co_await Fill({buffer.data(), length});
  // The last bytes are handed out only once the value is known to be whole.
  if (status.ok() && left_ == 0 && !over_) status = co_await End();
  if (!status.ok()) co_return Fail(std::move(status));
  const Bytes bytes = buffer.bytes();
  in_use_.push_back(std::move(buffer));
  co_return bytes;
}

void IncomingValue::Release() { in_use_.pop_front(); }

Task<Status> IncomingValue::Fill(std::span<std::byte> into) {
  while (!into.empty()) {
    std::string_view& input = connection_.input_;
    // No more than fits: the rest stays for the next call.
    std::string_view window = input.substr(0, into.size());
    const std::size_t offered = window.size();
    const Event event = connection_.reader_.Next(window);
    input.remove_prefix(offered - window.size());
    if (event == Event::kNeedInput) {
      const store::InStep step(steps_, store::Step::kReceive);
      gone_ = !co_await connection_.ReadMore();
      if (gone_) co_return ClientLeft();
      continue;
    }
    const std::string_view value = connection_.reader_.value();
    std::memcpy(into.data(), value.data(), value.size());
    into = into.subspan(value.size());
    left_ -= value.size();
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
  while (!over_ && !gone_) {
    const Event event = connection_.reader_.Next(connection_.input_);
    if (event == Event::kNeedInput) {
      const store::InStep step(steps_, store::Step::kReceive);
      gone_ = !co_await connection_.ReadMore();
    } else if (event != Event::kValue) {
      over_ = true;
      bad_ = event != Event::kValueEnd;
    }
  }
  co_return !gone_;
}

}  // namespace ers::proxy
