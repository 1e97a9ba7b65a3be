// Content: where the bytes of a value that is being written come from, group
// by group, in bounded memory.
#ifndef ERS_STORE_SUPPORT_CONTENT_H_
#define ERS_STORE_SUPPORT_CONTENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ers/value.h"
#include "net/task.h"

namespace ers::store {

// The value comes in parts. Each is opened, filled, and released when no call
// reads it any more; the oldest first.
//
// Loop thread only.
class Content {
 public:
  virtual ~Content() = default;
  // The memory of the next part: of `max_bytes` bytes, or of all that are left
  // where that is known and less. To be filled before another is opened, and
  // valid until its Release, also where it could not be filled.
  virtual Result<std::span<const std::byte>> Open(std::size_t max_bytes) = 0;
  // Waits for more of the part opened last; how many of its bytes are there by
  // now. Those stay as they are. No more than before: the value has ended.
  virtual net::Task<Result<std::size_t>> Fill() = 0;
  // Gives back the oldest part that is left.
  virtual void Release() = 0;
  // Bytes that are to be opened, where that is known.
  [[nodiscard]] virtual std::optional<std::uint64_t> Left() const {
    return std::nullopt;
  }
  // Where it is not: the first bytes to come, at most `max_bytes`, without
  // taking them; fewer only where the value ends. Valid until the next call.
  virtual net::Task<Result<std::span<const std::byte>>> Peek(std::size_t) {
    co_return std::span<const std::byte>();
  }

  // A whole part, opened and filled: `max_bytes` bytes, or fewer at the value's
  // end.
  virtual net::Task<Result<std::span<const std::byte>>> Next(
      std::size_t max_bytes);
};

// Bytes in the caller's memory; nothing is copied.
class MemoryContent final : public Content {
 public:
  explicit MemoryContent(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Result<std::span<const std::byte>> Open(std::size_t max_bytes) override;
  net::Task<Result<std::size_t>> Fill() override {
    return net::Task<Result<std::size_t>>::Ready(opened_);
  }
  net::Task<Result<std::span<const std::byte>>> Next(
      std::size_t max_bytes) override {
    return net::Task<Result<std::span<const std::byte>>>::Ready(
        Open(max_bytes));
  }
  void Release() override {}
  [[nodiscard]] std::optional<std::uint64_t> Left() const override {
    return bytes_.size();
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t opened_ = 0;
};

// The memory of parts that are copied: in use, oldest first, or spare.
class PartBuffers {
 public:
  // kNoMemory.
  Result<std::span<std::byte>> Open(std::size_t bytes);
  [[nodiscard]] Value& newest() { return in_use_.back(); }
  void Release();

 private:
  std::vector<Value> in_use_;
  std::vector<Value> spare_;
};

// Bytes from a Source, behind `prefix` (which is taken over).
class SourceContent final : public Content {
 public:
  explicit SourceContent(const Source& source,
                         std::vector<std::byte> prefix = {})
      : source_(source), prefix_(std::move(prefix)) {}
  Result<std::span<const std::byte>> Open(std::size_t max_bytes) override;
  net::Task<Result<std::size_t>> Fill() override;
  net::Task<Result<std::span<const std::byte>>> Peek(
      std::size_t max_bytes) override;
  void Release() override;

 private:
  Result<std::size_t> Read(std::span<std::byte> into);

  const Source& source_;
  std::vector<std::byte> prefix_;
  std::size_t prefix_used_ = 0;
  PartBuffers parts_;
  std::size_t filled_ = 0;  // bytes of the newest part
  bool ended_ = false;
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_CONTENT_H_
