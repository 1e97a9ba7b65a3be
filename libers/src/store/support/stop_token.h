// StopToken: ends work that is under way early.
#ifndef ERS_STORE_SUPPORT_STOP_TOKEN_H_
#define ERS_STORE_SUPPORT_STOP_TOKEN_H_

#include <functional>
#include <utility>

namespace ers::store {

// Outlives the work. Loop thread only.
class StopToken {
 public:
  void Stop() {
    stopped_ = true;
    if (on_stop_) on_stop_();
  }
  [[nodiscard]] bool stopped() const { return stopped_; }

  // For the work: called by Stop, until it is called with nothing.
  void Watch(std::function<void()> on_stop) { on_stop_ = std::move(on_stop); }

 private:
  bool stopped_ = false;
  std::function<void()> on_stop_;
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_STOP_TOKEN_H_
