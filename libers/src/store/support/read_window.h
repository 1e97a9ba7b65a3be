// ReadWindow: how much a change that reads and writes asks for ahead.
//
// Blocks that come one after the other, in the order in which new parity can be
// computed, let each stripe's parity leave early; blocks that come at once
// share the client's link, and the first stripe's come hardly before the
// last's. But too little on its way leaves the link idle while requests travel.
// So what the link brings while a request travels is asked for ahead, as far as
// runs before have seen, and all at once where none has.
#ifndef ERS_STORE_SUPPORT_READ_WINDOW_H_
#define ERS_STORE_SUPPORT_READ_WINDOW_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "net/runtime.h"
#include "store/support/link_speed.h"

namespace ers::store {

// Of one run of a plan. Sizes are in bytes. One thread; `speed` outlives it.
// Runs side by side do not know of each other: each seems to lag then, and soon
// asks for all.
class ReadWindow {
 public:
  ReadWindow(LinkSpeed& speed, net::TimePoint now);

  // Whether more should be asked for now.
  [[nodiscard]] bool IsOpen() const {
    return !known_ || coming_ < size_ || lags_;
  }

  void Asked(std::size_t size);
  // So long after it was asked for the first of a block came.
  void Travelled(net::Duration time);
  // Of what was asked for.
  void Came(std::size_t size, net::TimePoint now);
  // What came in part comes once more.
  void AskedAgain(std::size_t size) { coming_ += size; }
  // All came, or some never will: reports to `speed` what was seen.
  void End(net::TimePoint now);

 private:
  // Bytes since a moment.
  struct Stretch {
    std::size_t came = 0;
    net::TimePoint begun;
  };

  void Time(net::TimePoint now);
  void Compare(net::TimePoint now);

  LinkSpeed* speed_;
  std::optional<LinkSpeed::Seen> known_;
  std::size_t size_ = 0;  // if known
  std::size_t coming_ = 0;
  bool began_ = false;                   // something came
  Stretch timed_;                        // for the rate
  std::vector<double> rates_;            // of what was timed, bytes a second
  std::optional<net::Duration> travel_;  // the least
  Stretch compared_;                     // with what is known
  bool lags_ = false;
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_READ_WINDOW_H_
