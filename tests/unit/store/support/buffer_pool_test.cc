// Buffers are given out again, and not too many are kept.
#include "store/support/buffer_pool.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

namespace ers::store {
namespace {

TEST_CASE("a buffer is given out again") {
  BufferPool pool;
  BufferPool::Buffer buffer = pool.Take(1000);
  REQUIRE(buffer.capacity == 1000);
  buffer.bytes[999] = std::byte{1};
  const std::byte* at = buffer.bytes.get();
  pool.Return(std::move(buffer));
  CHECK(pool.kept_bytes() == 1000);
  buffer = pool.Take(501);
  CHECK(buffer.bytes.get() == at);
  CHECK(buffer.capacity == 1000);
  CHECK(pool.kept_bytes() == 0);
}

TEST_CASE("a buffer that is too small, or far too large, is not taken") {
  BufferPool pool;
  pool.Return(pool.Take(1000));
  const BufferPool::Buffer larger = pool.Take(1001);
  const BufferPool::Buffer smaller = pool.Take(499);
  CHECK(larger.capacity == 1001);
  CHECK(smaller.capacity == 499);
  CHECK(pool.kept_bytes() == 1000);
}

TEST_CASE("the pool keeps so much, and forgets the oldest") {
  BufferPool pool;
  constexpr std::size_t kThird = BufferPool::kMaxKeptBytes / 3;
  std::vector<BufferPool::Buffer> buffers;
  for (int i = 0; i < 4; ++i) buffers.push_back(pool.Take(kThird));
  const std::byte* oldest = buffers[0].bytes.get();
  for (BufferPool::Buffer& buffer : buffers) pool.Return(std::move(buffer));
  CHECK(pool.kept_bytes() == 3 * kThird);
  buffers.clear();
  for (int i = 0; i < 3; ++i) {
    buffers.push_back(pool.Take(kThird));
    CHECK(buffers.back().bytes.get() != oldest);
  }
  CHECK(pool.kept_bytes() == 0);
  pool.Return({nullptr, BufferPool::kMaxKeptBytes + 1});
  CHECK(pool.kept_bytes() == 0);
}

}  // namespace
}  // namespace ers::store
