// RequestSampler: which requests of one worker are traced for the collector: a
// share of them, by chance.
#ifndef ERS_PROXY_SERVER_REQUEST_SAMPLER_H_
#define ERS_PROXY_SERVER_REQUEST_SAMPLER_H_

#include <cstdint>
#include <limits>
#include <random>

namespace ers::proxy {

// It draws how many requests come before the next one: the others only count
// down. Loop thread only.
class RequestSampler {
 public:
  // 0 to 1.
  explicit RequestSampler(double share) { SetShare(share); }

  void SetShare(double share) {
    share_ = share;
    Draw();
  }
  // The next request is one of them.
  [[nodiscard]] bool due() const { return before_next_ == 0; }
  // The next request is here.
  void Count() {
    if (before_next_-- == 0) Draw();
  }

 private:
  static constexpr double kMinShare = 1e-12;

  void Draw() {
    // Of less the distance to the next one is more than a number holds.
    if (share_ < kMinShare) {
      before_next_ = std::numeric_limits<std::uint64_t>::max();
    } else if (share_ >= 1) {
      before_next_ = 0;
    } else {
      before_next_ =
          std::geometric_distribution<std::uint64_t>(share_)(random_);
    }
  }

  double share_ = 0;
  std::uint64_t before_next_ = 0;
  std::minstd_rand random_{std::random_device()()};
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_REQUEST_SAMPLER_H_
