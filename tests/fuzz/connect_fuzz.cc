// Any bytes as an HTTP proxy's answer to CONNECT: it comes to the same however
// it is cut, and of what is behind its head nothing is taken.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/require.h"
#include "net/connect_reply.h"

namespace ers::net {
namespace {

using fuzz::Require;
using State = ConnectReply::State;

struct Parsed {
  ConnectReply reply;
  std::size_t taken = 0;
};

Parsed Parse(std::string_view bytes, std::size_t piece_bytes) {
  Parsed parsed;
  ConnectReply& reply = parsed.reply;
  while (parsed.taken < bytes.size()) {
    const std::size_t wanted = std::min(reply.wanted(), piece_bytes);
    const bool goes_on =
        reply.state() == State::kHead || reply.state() == State::kBody;
    Require(goes_on == (wanted > 0), "it wants more until it has ended");
    if (wanted == 0) return parsed;
    const std::string_view piece = bytes.substr(parsed.taken, wanted);
    parsed.taken += piece.size();
    reply.Take(piece);
  }
  reply.End();
  return parsed;
}

}  // namespace
}  // namespace ers::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using ers::fuzz::Require;
  using State = ers::net::ConnectReply::State;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.empty()) return 0;
  const ers::net::Parsed whole = ers::net::Parse(bytes, size);
  const ers::net::Parsed cut = ers::net::Parse(bytes, 1);
  const State state = whole.reply.state();
  Require(state == cut.reply.state(), "the same end however it is cut");
  if (state == State::kOpen || state == State::kRefused) {
    Require(whole.taken == cut.taken, "as much is taken however it is cut");
    Require(whole.reply.code() == cut.reply.code(), "the same code");
    Require(whole.reply.why() == cut.reply.why(), "the same words");
  }
  if (state == State::kOpen) {
    Require(bytes.substr(0, whole.taken).ends_with("\r\n\r\n"),
            "nothing of the server's is taken");
    Require(whole.reply.code() / 100 == 2, "only by a code that says so");
  } else {
    Require(!whole.reply.why().empty(), "it is said why not");
  }
  return 0;
}
