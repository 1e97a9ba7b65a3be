#include "ctl/support/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <mutex>

#include "cli/units.h"

namespace ers::ctl {
namespace {

constexpr std::chrono::milliseconds kPatience{500};
constexpr std::chrono::milliseconds kFrame{100};
constexpr int kBarCells = 30;

void Write(const std::string& text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string label, Unit unit, std::uint64_t total)
    : label_(std::move(label)),
      unit_(unit),
      start_(std::chrono::steady_clock::now()),
      total_(total) {
  if (isatty(STDERR_FILENO) == 0) return;
  painter_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

Progress::~Progress() = default;

void Progress::Run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  const auto never = [] { return false; };
  wake.wait_for(lock, stop, kPatience, never);
  if (stop.stop_requested()) return;
  while (!stop.stop_requested()) {
    Draw();
    wake.wait_for(lock, stop, kFrame, never);
  }
  Write("\r\x1b[K");  // wipes the line
}

void Progress::BeginAgain() {
  done_ = 0;
  begun_ = std::chrono::steady_clock::now();
}

void Progress::set_label(std::string label) {
  const std::lock_guard lock(label_mutex_);
  label_ = std::move(label);
}

// ", about 12 s left", where that is known.
std::string Progress::Estimate(double rate) const {
  double left = seconds_left_;
  const std::uint64_t done = done_;
  const std::uint64_t total = total_;
  if (std::isnan(left)) {
    if (rate <= 0 || total <= done) return {};
    left = static_cast<double>(total - done) / rate;
  }
  return left < 0 ? std::string()
                  : fmt::format(", about {} left", cli::SecondsText(left));
}

void Progress::Draw() const {
  const std::uint64_t done = done_;
  const std::uint64_t total = total_;
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> elapsed = now - start_;
  const std::chrono::duration<double> at_it = now - begun_.load();
  const double rate = static_cast<double>(done) / at_it.count();
  std::string line = "\r";
  {
    const std::lock_guard lock(label_mutex_);
    line += label_;
  }
  line += ' ';
  if (total > 0) {
    const double part =
        std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const int filled = static_cast<int>(part * kBarCells);
    line += fmt::format("[{:#>{}}{:.>{}}] {:3.0f} % ", "", filled, "",
                        kBarCells - filled, part * 100);
  }
  if (unit_ == Unit::kObjects && total > 0) {
    line += fmt::format("{} of {} objects, ", done, total);
  } else if (done > 0) {
    line += fmt::format("{}, {}/s, ", cli::BytesText(done),
                        cli::BytesText(static_cast<std::uint64_t>(rate)));
  }
  Write(line +
        fmt::format("{:.1f} s{}\x1b[K", elapsed.count(), Estimate(rate)));
}

}  // namespace ers::ctl
