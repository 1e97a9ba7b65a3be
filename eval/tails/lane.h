// Lane: bytes that go one way over a connection, each piece held until it is
// due.
#ifndef ERS_EVAL_TAILS_LANE_H_
#define ERS_EVAL_TAILS_LANE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "net/runtime.h"

namespace ers::eval {

// What a link of so many bits a second has under way.
class Wire {
 public:
  // When the last of these bytes is through; 0: a link without a limit.
  net::TimePoint Pass(std::size_t bytes, std::uint64_t bits_per_s,
                      net::TimePoint now);

 private:
  net::TimePoint free_at_;
};

class Lane {
 public:
  enum class Left : std::uint8_t { kNothing, kLater, kBlocked, kBroken };

  // In the order of the calls, whatever `due` is. `depth` comes back once the
  // last byte is out.
  void Push(std::string_view bytes, net::TimePoint due, std::uint64_t depth);
  // Writes what is due. `depth`: raised to that of what went out whole.
  Left Flush(net::Stream& to, net::TimePoint now, std::uint64_t& depth);

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // Of the first piece; nothing where there is none.
  [[nodiscard]] std::optional<net::TimePoint> NextDue() const;

 private:
  struct Piece {
    std::string bytes;
    net::TimePoint due;
    std::uint64_t depth = 0;
  };

  std::deque<Piece> pieces_;
  std::size_t sent_ = 0;  // of the first piece
  std::size_t bytes_ = 0;
};

}  // namespace ers::eval

#endif  // ERS_EVAL_TAILS_LANE_H_
