// Content: where the bytes of a value that is being written come from, group
// by group, in bounded memory.
#ifndef ERS_STORE_CONTENT_H_
#define ERS_STORE_CONTENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ers/value.h"
#include "net/task.h"

namespace ers::store {

// Loop thread only.
class Content {
 public:
  virtual ~Content() = default;
  // The next bytes of the value: exactly `most`, or fewer at its end (then
  // never more). Valid until Release of a later call, at least.
  virtual net::Task<Result<std::span<const std::byte>>> Next(
      std::size_t most) = 0;
  // Bytes that are left, where that is known.
  [[nodiscard]] virtual std::optional<std::uint64_t> Left() const {
    return std::nullopt;
  }
  // Where it is not: the first bytes that Next will give, at most `most`,
  // without taking them; fewer only where the value ends. Valid until the next
  // call.
  virtual net::Task<Result<std::span<const std::byte>>> Peek(std::size_t) {
    co_return std::span<const std::byte>();
  }
  // Gives back what the oldest unreleased Next returned.
  virtual void Release() {}
};

// Bytes in the caller's memory; nothing is copied.
class MemoryContent final : public Content {
 public:
  explicit MemoryContent(std::span<const std::byte> bytes) : bytes_(bytes) {}
  net::Task<Result<std::span<const std::byte>>> Next(std::size_t most) override;
  [[nodiscard]] std::optional<std::uint64_t> Left() const override {
    return bytes_.size();
  }

 private:
  std::span<const std::byte> bytes_;
};

// Bytes from a Source, behind `prefix` (which is taken over).
class SourceContent final : public Content {
 public:
  explicit SourceContent(const Source& source,
                         std::vector<std::byte> prefix = {})
      : source_(source), prefix_(std::move(prefix)) {}
  net::Task<Result<std::span<const std::byte>>> Next(std::size_t most) override;
  net::Task<Result<std::span<const std::byte>>> Peek(std::size_t most) override;
  void Release() override;

 private:
  Result<std::size_t> Fill(std::span<std::byte> into);

  const Source& source_;
  std::vector<std::byte> prefix_;
  std::size_t prefix_used_ = 0;
  // Buffers in use, oldest first, then spare ones.
  std::vector<Value> in_use_;
  std::vector<Value> spare_;
  bool ended_ = false;
};

}  // namespace ers::store

#endif  // ERS_STORE_CONTENT_H_
