#include "ctl/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <mutex>

namespace ers::ctl {
namespace {

constexpr std::chrono::milliseconds kPatience{500};
constexpr std::chrono::milliseconds kFrame{100};
constexpr int kBarCells = 30;
constexpr double kMebibyte = 1 << 20;

void Write(const std::string& text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string label, std::uint64_t total_bytes)
    : label_(std::move(label)),
      start_(std::chrono::steady_clock::now()),
      total_bytes_(total_bytes) {
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

void Progress::Draw() const {
  const std::uint64_t done = done_bytes_;
  const std::uint64_t total = total_bytes_;
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start_;
  std::string line = fmt::format("\r{} ", label_);
  if (total > 0) {
    const double part =
        std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const int filled = static_cast<int>(part * kBarCells);
    line += fmt::format("[{:#>{}}{:.>{}}] {:3.0f} % ", "", filled, "",
                        kBarCells - filled, part * 100);
  }
  if (done > 0) {
    const double mebibytes = static_cast<double>(done) / kMebibyte;
    line += fmt::format("{:.1f} MiB, {:.1f} MiB/s, ", mebibytes,
                        mebibytes / elapsed.count());
  }
  Write(line + fmt::format("{:.1f} s\x1b[K", elapsed.count()));
}

}  // namespace ers::ctl
