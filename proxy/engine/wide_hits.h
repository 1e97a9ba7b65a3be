// WideHits: reports in batches which wide objects clients read.
#ifndef ERS_PROXY_ENGINE_WIDE_HITS_H_
#define ERS_PROXY_ENGINE_WIDE_HITS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "net/runtime.h"

namespace ers::proxy {

// By key, how often.
using HitBatch = std::unordered_map<std::string, std::uint32_t>;

// One per worker. Loop thread only.
class WideHits {
 public:
  // `report` gets what was noted, soon after it was.
  WideHits(net::Runtime& runtime, std::function<void(HitBatch)> report)
      : report_(std::move(report)),
        timer_(runtime.NewTimer([this] { Flush(); })) {}

  void Note(const std::string& key) {
    if (batch_.empty()) timer_->Start(kDelay);
    ++batch_[key];
    if (batch_.size() == kMaxKeys) Flush();
  }

 private:
  static constexpr net::Duration kDelay = std::chrono::milliseconds(100);
  static constexpr std::size_t kMaxKeys = 1024;

  void Flush() {
    timer_->Stop();
    if (!batch_.empty()) report_(std::exchange(batch_, {}));
  }

  const std::function<void(HitBatch)> report_;
  HitBatch batch_;
  const std::unique_ptr<net::Timer> timer_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_ENGINE_WIDE_HITS_H_
