// Any bytes as an old server's replies: the same come out however they are cut,
// and none holds more than was asked for.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "fuzz/require.h"
#include "warm/old_reply.h"

namespace ers::proxy {
namespace {

using fuzz::Require;
using Progress = OldReplyParser::Progress;

constexpr std::uint64_t kMaxValue = 64;

struct Parsed {
  std::vector<OldReply> replies;
  bool broken = false;
};

Parsed Parse(std::string_view bytes, std::size_t piece_bytes) {
  Parsed parsed;
  OldReplyParser parser(kMaxValue);
  while (!bytes.empty() && !parsed.broken) {
    std::string_view piece = bytes.substr(0, piece_bytes);
    const std::size_t before = piece.size();
    const Progress progress = parser.Parse(&piece);
    bytes.remove_prefix(before - piece.size());
    parsed.broken = progress == Progress::kBroken;
    if (progress == Progress::kDone) {
      parsed.replies.push_back(parser.Take());
      const OldReply& reply = parsed.replies.back();
      Require(reply.kind != OldReply::Kind::kValue ||
                  reply.value.size() <= kMaxValue,
              "no value is longer than what may be");
    } else {
      Require(piece.empty() || parsed.broken, "all of a piece is taken");
    }
  }
  return parsed;
}

}  // namespace
}  // namespace ers::proxy

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const ers::proxy::Parsed whole = ers::proxy::Parse(bytes, size + 1);
  const ers::proxy::Parsed cut = ers::proxy::Parse(bytes, 1);
  ers::fuzz::Require(whole.replies.size() == cut.replies.size(),
                     "as many replies come however they are cut");
  for (std::size_t i = 0; i < whole.replies.size(); ++i) {
    const auto fields = [](const ers::proxy::OldReply& reply) {
      return std::tie(reply.kind, reply.client_flags, reply.ttl, reply.value);
    };
    ers::fuzz::Require(fields(whole.replies[i]) == fields(cut.replies[i]),
                       "the same replies come however they are cut");
  }
  return 0;
}
