// ReadWindow: how much a change that reads and writes asks for ahead.
//
// Blocks that come one after the other, in the order in which new parity can be
// computed, let each stripe's parity leave early; blocks that come at once
// share the client's link, and the first stripe's come hardly before the
// last's. But too little on its way leaves the link idle while requests travel.
// So at first a part of all that is read is asked for, and then what the link
// brings while a request travels, as far as has been seen.
#ifndef ERS_STORE_READ_WINDOW_H_
#define ERS_STORE_READ_WINDOW_H_

#include <cstddef>
#include <optional>

#include "net/runtime.h"

namespace ers::store {

// Of one run of a plan. Sizes are in bytes. One thread.
class ReadWindow {
 public:
  // So much is to be read in all.
  explicit ReadWindow(std::size_t size = 0) : unasked_(size) {}

  // Whether more should be asked for now.
  [[nodiscard]] bool IsOpen() const { return coming_ < Size() || lags_; }

  void Asked(std::size_t size);
  // So long after it was asked for the first of a block came.
  void Travelled(net::Duration time) { travel_ = time; }
  // Of what was asked for; also what will not come.
  void Came(std::size_t size, net::TimePoint now);
  // What came in part comes once more.
  void AskedAgain(std::size_t size) { coming_ += size; }

 private:
  [[nodiscard]] std::size_t Size() const;
  void Compare(std::size_t size, net::TimePoint now);

  std::size_t unasked_;
  std::size_t coming_ = 0;
  std::size_t came_ = 0;  // since first_came_at_
  std::optional<net::TimePoint> first_came_at_;
  net::TimePoint last_came_at_;
  net::Duration travel_{};  // of the last request
  // The stretch of bytes that is being timed.
  std::size_t stretch_ = 0;
  net::TimePoint stretch_begun_;
  double best_ = 0;  // of all stretches, bytes a second
  bool lags_ = false;
};

}  // namespace ers::store

#endif  // ERS_STORE_READ_WINDOW_H_
