// Values: the bytes of an object, on their way in and out.
#ifndef ERS_VALUE_H_
#define ERS_VALUE_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "ers/export.h"
#include "ers/status.h"

namespace ers {

// Bytes of a value, allocated without being cleared, or in memory that the
// caller gives. Move-only. Passing the same Value to Get again reuses its
// memory.
class ERS_API Value {
 public:
  // Gives memory for `bytes` bytes, never 0, that outlives the Value, or
  // nullptr. Must not throw.
  using Memory = std::function<std::byte*(std::size_t bytes)>;

  Value() = default;
  // In memory of the caller's, which is asked for some each time that the size
  // changes: the bytes are in what it gave last. A Get asks more than once
  // where the object changes meanwhile, and fails with kTooLarge on nullptr.
  explicit Value(Memory memory);
  Value(Value&& other) noexcept;
  Value& operator=(Value&& other) noexcept;
  ~Value();

  [[nodiscard]] std::byte* data() { return data_; }
  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {data_, size_};
  }
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(data_), size_};
  }
  // Sets the size; contents are undefined afterwards. False: no memory, and
  // the value is empty.
  bool Resize(std::size_t size);
  // Whether the memory is the caller's.
  [[nodiscard]] bool has_memory() const { return memory_ != nullptr; }

 private:
  Memory memory_;  // empty: the value's own
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// Fills at most `into` and returns how many bytes it put there; 0 is the end.
// An error ends the call that uses the source, with that error and nothing
// changed.
using Source = std::function<Result<std::size_t>(std::span<std::byte> into)>;
// Takes the next bytes of a value, in order; valid during the call only. An
// error ends the Get with it.
using Sink = std::function<Status(std::span<const std::byte> bytes)>;

}  // namespace ers

#endif  // ERS_VALUE_H_
