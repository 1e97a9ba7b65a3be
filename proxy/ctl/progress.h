// A progress line on standard error, for a person who waits.
#ifndef ERS_PROXY_CTL_PROGRESS_H_
#define ERS_PROXY_CTL_PROGRESS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

namespace ers::ctl {

// Shows itself once the work has taken half a second, if standard error is a
// terminal; otherwise does nothing at all. The line is wiped by the destructor.
// One thread at a time.
class Progress {
 public:
  // `label` says what is done to what. The bytes to come: 0 where unknown.
  explicit Progress(std::string label, std::uint64_t total_bytes = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void set_total_bytes(std::uint64_t bytes) { total_bytes_ = bytes; }
  void Advance(std::uint64_t bytes) { done_bytes_ += bytes; }

 private:
  void Run(const std::stop_token& stop);
  void Draw() const;

  const std::string label_;
  const std::chrono::steady_clock::time_point start_;
  std::atomic<std::uint64_t> total_bytes_;
  std::atomic<std::uint64_t> done_bytes_ = 0;
  std::jthread painter_;  // last: uses all of the above
};

}  // namespace ers::ctl

#endif  // ERS_PROXY_CTL_PROGRESS_H_
