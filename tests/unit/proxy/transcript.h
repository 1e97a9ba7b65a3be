// Transcript: what a RequestReader says of some bytes, as text to compare.
#ifndef ERS_TESTS_UNIT_PROXY_TRANSCRIPT_H_
#define ERS_TESTS_UNIT_PROXY_TRANSCRIPT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/request_reader.h"

namespace ers::proxy {

// One line per event: a request with all that differs from a new ClientRequest,
// "value:BYTES" for all parts of a value, "end", "bad:REPLY", "error:REPLY",
// "close". Replies of text show their line end as "|"; all other bytes that do
// not print as \xNN.
class Transcript {
 public:
  explicit Transcript(const Limits& limits = {}) : reader_(limits) {}

  void Feed(std::string_view bytes);
  // The reader has nothing to say before it gets more bytes.
  const std::string& text() const { return text_; }
  RequestReader& reader() { return reader_; }

 private:
  void Line(std::string_view line);

  RequestReader reader_;
  std::string text_;
  bool in_value_ = false;
};

std::string Describe(const ClientRequest& request);
std::string Printable(std::string_view bytes);

// The transcript of bytes fed whole. Fed in two parts, cut at any place, byte
// by byte, and in pieces of 2 to 7 bytes it is the same: fails the running test
// if not.
std::string TranscriptOf(std::string_view bytes, const Limits& limits = {});
// Pieces of the sizes given, over and over.
std::string TranscriptInPieces(std::string_view bytes,
                               const std::vector<std::size_t>& sizes,
                               const Limits& limits = {});

}  // namespace ers::proxy

#endif  // ERS_TESTS_UNIT_PROXY_TRANSCRIPT_H_
