// RequestEncoder: requests as the bytes that go to the server.
#ifndef ERS_NET_REQUEST_ENCODER_H_
#define ERS_NET_REQUEST_ENCODER_H_

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "net/request.h"

namespace ers::net {

// True for 1..250 bytes without spaces and control characters. Anything else
// in a command line would make the server take the value for commands.
bool IsValidKey(std::string_view key);

// One batch of requests for one writev. Command lines lie in a buffer that is
// reused; values stay where they are and must outlive the batch. No
// allocation once the vectors have grown. Thread-compatible.
class RequestEncoder {
 public:
  RequestEncoder();

  // Adds `request` to the batch; false if the batch has no room for it (an
  // empty batch has). Its key must be valid, its body smaller than 2^32.
  bool Append(const Request& request);
  // Adds the sentinel behind quiet requests. Behind one that was added there is
  // room for it.
  void AppendSentinel();

  // What is left to write, in order. Valid until the next call.
  const iovec* pieces() const { return pieces_.data() + first_; }
  int piece_count() const { return static_cast<int>(pieces_.size() - first_); }
  bool empty() const { return first_ == pieces_.size(); }
  // Bytes of the batch so far, written or not.
  std::size_t total_bytes() const { return total_; }
  std::size_t written_bytes() const { return written_; }

  // `bytes` of pieces() were written.
  void Advance(std::size_t bytes);
  // Begins a new batch.
  void Clear();

 private:
  void GetLine(const Request& request);
  void StoreLine(const Request& request);
  void DeleteLine(const Request& request);
  void Words(std::string_view first, std::string_view second,
             std::string_view third = {});
  void Text(std::string_view text);
  void Number(std::uint64_t number);
  void SignedNumber(std::int64_t number);
  void EndLines();
  void Body(const Request& request);
  void Piece(const void* base, std::size_t bytes);

  std::unique_ptr<char[]> lines_;
  std::size_t used_ = 0;   // of lines_
  std::size_t ended_ = 0;  // so much of that is in pieces_
  std::vector<iovec> pieces_;
  std::size_t first_ = 0;  // of pieces_ that is not wholly written
  std::size_t total_ = 0;
  std::size_t written_ = 0;
};

}  // namespace ers::net

#endif  // ERS_NET_REQUEST_ENCODER_H_
