// Mutex: a std::mutex whose rules clang proves (-Wthread-safety, in every build
// by clang). Members say by which they are guarded.
#ifndef ERS_BASE_MUTEX_H_
#define ERS_BASE_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define ERS_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define ERS_THREAD_ANNOTATION(x)
#endif

// Of a member: read and written only while `mutex` is held.
#define ERS_GUARDED_BY(mutex) ERS_THREAD_ANNOTATION(guarded_by(mutex))
// Of a function: called only while `mutex` is held.
#define ERS_REQUIRES(...) \
  ERS_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
// Of a function: takes `mutex` itself.
#define ERS_EXCLUDES(...) ERS_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace ers {

// Any thread.
class ERS_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds a mutex as long as it lives.
class ERS_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex)
      ERS_THREAD_ANNOTATION(acquire_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~MutexLock() ERS_THREAD_ANNOTATION(release_capability()) = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  // Before its end, and again.
  void Unlock() ERS_THREAD_ANNOTATION(release_capability()) { lock_.unlock(); }
  void Lock() ERS_THREAD_ANNOTATION(acquire_capability()) { lock_.lock(); }

  // Lets go of the mutex until `condition` is notified, or for no reason.
  void Wait(std::condition_variable& condition) { condition.wait(lock_); }
  // The same; false: `end` has come first.
  bool WaitUntil(std::condition_variable& condition,
                 std::chrono::steady_clock::time_point end) {
    return condition.wait_until(lock_, end) == std::cv_status::no_timeout;
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace ers

#endif  // ERS_BASE_MUTEX_H_
