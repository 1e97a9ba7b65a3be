// Output: what a client is still to be sent.
#ifndef ERS_PROXY_SERVER_OUTPUT_H_
#define ERS_PROXY_SERVER_OUTPUT_H_

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <variant>

#include "ers/value.h"
#include "net/runtime.h"

namespace ers::proxy {

// Bytes in the order in which they were added; values are kept, not copied.
// Loop thread only.
class Output {
 public:
  // Short texts in a row become one piece.
  void Add(std::string_view text);
  void Add(Value value);
  // Not written yet.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  enum class Written { kAll, kSome, kBroken };
  // Writes what the stream takes now. kBroken: it takes nothing any more.
  Written WriteTo(net::Stream& stream);

 private:
  using Piece = std::variant<std::string, Value>;
  static std::string_view BytesOf(const Piece& piece);
  void Drop(std::size_t count);

  // Not a deque: an idle client's must cost nothing.
  std::list<Piece> pieces_;
  std::size_t front_written_ = 0;  // of the first piece
  std::size_t bytes_ = 0;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_OUTPUT_H_
