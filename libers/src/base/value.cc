#include "ers/value.h"

#include <cstdlib>
#include <utility>

namespace ers {

Value::Value(Memory memory) : memory_(std::move(memory)) {}

Value::Value(Value&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

Value& Value::operator=(Value&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

Value::~Value() {
  if (!has_memory()) std::free(data_);
}

bool Value::Resize(std::size_t size) {
  if (has_memory()) {
    if (size != size_) data_ = size == 0 ? nullptr : memory_(size);
    size_ = data_ == nullptr ? 0 : size;
    return size_ == size;
  }
  if (size > capacity_) {
    // The old contents are not kept, so there is nothing for realloc to move.
    std::free(std::exchange(data_, nullptr));
    capacity_ = 0;
    size_ = 0;
    data_ = static_cast<std::byte*>(std::malloc(size));
    if (data_ == nullptr) return false;
    capacity_ = size;
  }
  size_ = size;
  return true;
}

}  // namespace ers
