#include "store/support/content.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ers::store {

using Bytes = std::span<const std::byte>;

net::Task<Result<Bytes>> Content::Next(std::size_t max_bytes) {
  const Result<Bytes> part = Open(max_bytes);
  if (!part) co_return Fail(part.error());
  std::size_t filled = 0;
  for (;;) {  // an empty part, too, is asked for: its value may end wrongly
    const Result<std::size_t> now = co_await Fill();
    if (!now) co_return Fail(now.error());
    const bool ended = *now == filled;
    filled = *now;
    if (ended || filled == part->size()) co_return part->first(filled);
  }
}

Result<Bytes> MemoryContent::Open(std::size_t max_bytes) {
  const Bytes taken = bytes_.first(std::min(max_bytes, bytes_.size()));
  bytes_ = bytes_.subspan(taken.size());
  opened_ = taken.size();
  return taken;
}

Result<std::span<std::byte>> PartBuffers::Open(std::size_t bytes) {
  Value buffer;
  if (!spare_.empty()) {
    buffer = std::move(spare_.back());
    spare_.pop_back();
  }
  if (!buffer.Resize(bytes)) {
    return Fail(StatusCode::kNoMemory, "no memory for a group's buffer");
  }
  in_use_.push_back(std::move(buffer));
  return std::span(in_use_.back().data(), bytes);
}

void PartBuffers::Release() {
  spare_.push_back(std::move(in_use_.front()));
  in_use_.erase(in_use_.begin());
}

net::Task<Result<Bytes>> SourceContent::Peek(std::size_t max_bytes) {
  prefix_.erase(prefix_.begin(),
                prefix_.begin() + static_cast<std::ptrdiff_t>(
                                      std::exchange(prefix_used_, 0)));
  std::size_t size = prefix_.size();
  if (size < max_bytes) prefix_.resize(max_bytes);
  Result<std::size_t> taken = 0;
  while (taken && !ended_ && size < max_bytes) {
    taken = source_({prefix_.data() + size, max_bytes - size});
    if (!taken) break;
    size += std::min(*taken, max_bytes - size);
    ended_ = *taken == 0;
  }
  prefix_.resize(size);
  if (!taken) co_return Fail(taken.error());
  co_return Bytes(prefix_).first(std::min(max_bytes, prefix_.size()));
}

Result<std::size_t> SourceContent::Read(std::span<std::byte> into) {
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

Result<Bytes> SourceContent::Open(std::size_t max_bytes) {
  filled_ = 0;
  return parts_.Open(max_bytes);
}

net::Task<Result<std::size_t>> SourceContent::Fill() {
  Value& part = parts_.newest();
  if (filled_ == part.size()) co_return filled_;
  const Result<std::size_t> taken =
      Read({part.data() + filled_, part.size() - filled_});
  if (!taken) co_return Fail(taken.error());
  ended_ |= *taken == 0;
  filled_ += *taken;
  co_return filled_;
}

void SourceContent::Release() { parts_.Release(); }

}  // namespace ers::store
