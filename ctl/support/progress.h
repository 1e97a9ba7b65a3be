// A progress line on standard error, while a command runs.
#ifndef ERS_CTL_SUPPORT_PROGRESS_H_
#define ERS_CTL_SUPPORT_PROGRESS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace ers::ctl {

// Shows itself once the work has taken half a second, if standard error is a
// terminal; otherwise does nothing at all. The line is wiped by the destructor.
// One thread at a time.
class Progress {
 public:
  enum class Unit : std::uint8_t { kBytes, kObjects };
  // `label` says what is done to what. The bytes to come: 0 where unknown.
  explicit Progress(std::string label, std::uint64_t total_bytes = 0)
      : Progress(std::move(label), Unit::kBytes, total_bytes) {}
  Progress(std::string label, Unit unit, std::uint64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void set_total(std::uint64_t total) { total_ = total; }
  void Advance(std::uint64_t by) { done_ += by; }
  void set_done(std::uint64_t done) { done_ = done; }
  // What is estimated here goes by what is done from now on.
  void BeginAgain();
  // From a source that knows better than what was seen here; negative: unknown.
  void set_seconds_left(double seconds) { seconds_left_ = seconds; }
  void set_label(std::string label);

 private:
  void Run(const std::stop_token& stop);
  void Draw() const;

  [[nodiscard]] std::string Estimate(double rate) const;

  mutable std::mutex label_mutex_;
  std::string label_;
  const Unit unit_;
  const std::chrono::steady_clock::time_point start_;
  std::atomic<std::uint64_t> total_;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<std::chrono::steady_clock::time_point> begun_ = start_;
  // NaN: not given, it is estimated here.
  std::atomic<double> seconds_left_ = std::numeric_limits<double>::quiet_NaN();
  std::jthread painter_;  // last: uses all of the above
};

}  // namespace ers::ctl

#endif  // ERS_CTL_SUPPORT_PROGRESS_H_
