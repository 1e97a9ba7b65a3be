// Recycled: an object whose memory is kept for the next one of its size.
#ifndef ERS_BASE_RECYCLED_H_
#define ERS_BASE_RECYCLED_H_

#include <array>
#include <cstddef>
#include <new>

namespace ers {
namespace recycled_internal {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ERS_NOT_RECYCLED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define ERS_NOT_RECYCLED 1
#endif
#endif

#if defined(ERS_NOT_RECYCLED)

// Sanitizers are to see what is used after its end.
inline void* Take(std::size_t bytes) { return ::operator new(bytes); }
inline void Give(void* memory, std::size_t) { ::operator delete(memory); }

#else

inline constexpr std::size_t kStep = 64;  // bytes between two sizes
inline constexpr std::size_t kSizes = 64;
// Of each size; of all 4 MiB.
inline constexpr std::size_t kMaxSpareBytes = std::size_t{64} << 10;

struct Spare {
  Spare* next;
};
struct OfSize {
  Spare* first = nullptr;
  std::size_t count = 0;
};
// Trivial: no access to it has to ask whether it is there.
struct OfThread {
  std::array<OfSize, kSizes> sizes;
  bool open = false;  // it is given back at the thread's end
  bool over = false;  // the thread is ending
};
inline constinit thread_local OfThread of_thread;

// Of the first that is given back: arranges for the thread's end.
void Open();

inline void* Take(std::size_t bytes) {
  const std::size_t index = (bytes - 1) / kStep;
  if (index >= kSizes) return ::operator new(bytes);
  OfSize& size = of_thread.sizes[index];
  Spare* const spare = size.first;
  if (spare == nullptr) return ::operator new((index + 1) * kStep);
  size.first = spare->next;
  --size.count;
  return spare;
}

inline void Give(void* memory, std::size_t bytes) {
  const std::size_t index = (bytes - 1) / kStep;
  if (index >= kSizes || of_thread.over) return ::operator delete(memory);
  OfSize& size = of_thread.sizes[index];
  if (size.count * (index + 1) >= kMaxSpareBytes / kStep) {
    return ::operator delete(memory);
  }
  if (!of_thread.open) Open();
  size.first = new (memory) Spare{size.first};
  ++size.count;
}

#endif

}  // namespace recycled_internal

// Base of what is made and ended for every request, such as the frames of
// coroutines. Each thread keeps some of each size, the last one given back on
// top, so that it is still in the processor's caches. Any thread may end what
// another has made.
struct Recycled {
  static void* operator new(std::size_t bytes) {
    return recycled_internal::Take(bytes);
  }
  static void operator delete(void* memory, std::size_t bytes) {
    recycled_internal::Give(memory, bytes);
  }
};

}  // namespace ers

#endif  // ERS_BASE_RECYCLED_H_
