#include "store/content.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ers::store {

using Bytes = std::span<const std::byte>;

net::Task<Result<Bytes>> MemoryContent::Next(std::size_t most) {
  const Bytes taken = bytes_.first(std::min(most, bytes_.size()));
  bytes_ = bytes_.subspan(taken.size());
  co_return taken;
}

net::Task<Result<Bytes>> SourceContent::Peek(std::size_t most) {
  prefix_.erase(prefix_.begin(),
                prefix_.begin() + static_cast<std::ptrdiff_t>(
                                      std::exchange(prefix_used_, 0)));
  while (!ended_ && prefix_.size() < most) {
    const std::size_t before = prefix_.size();
    prefix_.resize(most);
    Result<std::size_t> taken =
        source_({prefix_.data() + before, most - before});
    prefix_.resize(before + (taken ? std::min(*taken, most - before) : 0));
    if (!taken) co_return Fail(taken.error());
    ended_ = *taken == 0;
  }
  co_return Bytes(prefix_).first(std::min(most, prefix_.size()));
}

Result<std::size_t> SourceContent::Fill(std::span<std::byte> into) {
  if (prefix_used_ < prefix_.size()) {
    const std::size_t taken =
        std::min(into.size(), prefix_.size() - prefix_used_);
    std::memcpy(into.data(), prefix_.data() + prefix_used_, taken);
    prefix_used_ += taken;
    return taken;
  }
  if (ended_) return 0;
  Result<std::size_t> taken = source_(into);
  if (taken && *taken > into.size()) {
    return Fail(StatusCode::kInvalidArgument,
                "the source says it gave more bytes than there was room for");
  }
  return taken;
}

net::Task<Result<Bytes>> SourceContent::Next(std::size_t most) {
  Value buffer;
  if (!spare_.empty()) {
    buffer = std::move(spare_.back());
    spare_.pop_back();
  }
  if (!buffer.Resize(most)) {
    co_return Fail(StatusCode::kNoMemory, "no memory for a group's buffer");
  }
  std::size_t filled = 0;
  while (filled < most) {
    Result<std::size_t> taken = Fill({buffer.data() + filled, most - filled});
    if (!taken) co_return Fail(taken.error());
    if (*taken == 0) {
      ended_ = true;
      break;
    }
    filled += *taken;
  }
  const Bytes bytes(buffer.data(), filled);
  in_use_.push_back(std::move(buffer));
  co_return bytes;
}

void SourceContent::Release() {
  spare_.push_back(std::move(in_use_.front()));
  in_use_.erase(in_use_.begin());
}

}  // namespace ers::store
