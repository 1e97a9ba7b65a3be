// Any bytes of a server, cut anywhere: the parser says the same, takes nothing
// beyond a reply, and stays within what it was given to write to. What
// memcached writes for a value is read back as it was.
//
// The first byte of an input is the request, the second where its value goes,
// the third seeds the cuts; the others are the stream.
#include <fmt/format.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/require.h"
#include "net/reply_parser.h"

namespace ers::net {
namespace {

using fuzz::Require;
using Progress = ReplyParser::Progress;

// The link never has bytes for more requests than were sent.
constexpr int kMaxReplies = 50;

struct Asked {
  Verb verb = Verb::kGet;
  std::vector<std::size_t> pieces;  // where its value goes; none: a string
};

Asked AskedBy(std::uint8_t verb, std::uint8_t place) {
  Asked asked;
  asked.verb = static_cast<Verb>(verb % (static_cast<int>(Verb::kRenew) + 1));
  if (asked.verb == Verb::kGet && place >= 128) {
    asked.pieces = {std::size_t{place} % 7, 0, std::size_t{place} % 64, 1};
  }
  return asked;
}

// One request, with memory of its own for each piece: a byte too far shows.
class Asking {
 public:
  explicit Asking(const Asked& asked) {
    for (const std::size_t bytes : asked.pieces) {
      memory_.push_back(std::make_unique<char[]>(bytes));
      std::memset(memory_.back().get(), 0, bytes);
      pieces_.push_back({memory_.back().get(), bytes});
    }
    request.verb = asked.verb;
    request.key = "key";
    request.into = pieces_;
  }

  [[nodiscard]] std::string Heard() const {
    std::string heard;
    for (const std::uint64_t number :
         {std::uint64_t{static_cast<std::uint8_t>(request.outcome)},
          request.item_token, std::uint64_t{request.item_flags},
          static_cast<std::uint64_t>(request.item_ttl), request.item_bytes,
          std::uint64_t{request.item_fetched}, request.item_idle}) {
      heard += std::to_string(number) + " ";
    }
    heard += request.value;
    for (const iovec& piece : pieces_) {
      heard.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    }
    return heard + "\n";
  }

  Request request;

 private:
  std::vector<std::unique_ptr<char[]>> memory_;
  std::vector<iovec> pieces_;
};

// All at once.
std::string HearWhole(const Asked& asked, std::string_view stream) {
  std::string heard;
  ReplyParser parser;
  for (int i = 0; i < kMaxReplies && !stream.empty(); ++i) {
    Asking asking(asked);
    parser.Begin(asking.request);
    const Progress progress = parser.Parse(&stream);
    if (progress == Progress::kBroken) return heard + "broken";
    if (progress == Progress::kMore) {
      Require(stream.empty(), "all of a reply that goes on is taken");
      return heard + "more";
    }
    Require(!parser.active(), "a reply that is done has ended");
    Require(asking.request.outcome != Outcome::kPending,
            "a reply that is done has an outcome");
    heard += asking.Heard();
  }
  return heard;
}

class Pieces {
 public:
  Pieces(std::string_view stream, std::uint8_t seed)
      : stream_(stream), random_(seed + 1U) {}

  std::string Hear(const Asked& asked) {
    std::string heard;
    ReplyParser parser;
    for (int i = 0; i < kMaxReplies && !stream_.empty(); ++i) {
      Asking asking(asked);
      parser.Begin(asking.request);
      Progress progress = Progress::kMore;
      while (progress == Progress::kMore && !stream_.empty()) {
        progress = Step(parser);
      }
      if (progress == Progress::kBroken) return heard + "broken";
      if (progress == Progress::kMore) return heard + "more";
      heard += asking.Heard();
    }
    return heard;
  }

 private:
  std::size_t Length() {
    constexpr std::array<std::size_t, 4> kSizes = {1, 3, 40, 3000};
    const std::size_t most = kSizes[random_() % kSizes.size()];
    return std::min<std::size_t>(1 + random_() % most, stream_.size());
  }

  // Straight to where it belongs, or by the parser.
  Progress Step(ReplyParser& parser) {
    iovec places[3];
    const int most = static_cast<int>(random_() % 4);
    const int count = parser.Destination(places, most);
    Require(count <= most, "no more places than were asked for");
    const std::size_t length = Length();
    std::size_t placed = 0;
    for (int i = 0; i < count; ++i) {
      const std::size_t step = std::min(length - placed, places[i].iov_len);
      std::memcpy(places[i].iov_base, stream_.data() + placed, step);
      placed += step;
    }
    if (placed > 0) {
      stream_.remove_prefix(placed);
      return parser.Placed(placed);
    }
    // In memory of its own, so that a read beyond it shows.
    const std::string piece(stream_.substr(0, length));
    std::string_view left = piece;
    const Progress progress = parser.Parse(&left);
    Require(progress != Progress::kMore || left.empty(),
            "all of a reply that goes on is taken");
    stream_.remove_prefix(length - left.size());
    return progress;
  }

  std::string_view stream_;
  std::minstd_rand random_;
};

// The parser takes a server's word for up to 1 GiB: no fault, but slow.
bool AnnouncesMuch(std::string_view stream) {
  for (std::size_t at = stream.find("VA "); at != std::string_view::npos;
       at = stream.find("VA ", at + 1)) {
    const std::size_t from =
        std::min(stream.find_first_not_of(' ', at + 2), stream.size());
    const std::size_t to =
        std::min(stream.find_first_not_of("0123456789", from), stream.size());
    if (to - from > 6) return true;
  }
  return false;
}

void CheckWritten(std::string_view value, std::uint8_t seed) {
  std::minstd_rand random(seed + 1U);
  const std::uint64_t token = random() * std::uint64_t{random()};
  const auto flags = static_cast<std::uint32_t>(random());
  const auto ttl = static_cast<std::int64_t>(random() % 1000) - 1;
  std::array<std::string, 4> words = {
      fmt::format("c{}", token), fmt::format("f{}", flags),
      fmt::format("t{}", ttl), fmt::format("s{}", value.size())};
  std::shuffle(words.begin(), words.end(), random);
  std::string reply = "VA " + std::to_string(value.size());
  for (const std::string& word : words) reply += " " + word;
  reply += "\r\n";
  reply += value;
  reply += "\r\nnext";
  std::string_view stream = reply;
  Asking asking({.verb = Verb::kGet, .pieces = {}});
  ReplyParser parser;
  parser.Begin(asking.request);
  Require(parser.Parse(&stream) == Progress::kDone, "a value is a reply");
  const Request& got = asking.request;
  Require(stream == "next", "a reply ends where it ends");
  Require(got.outcome == Outcome::kOk && got.value == value &&
              got.item_token == token && got.item_flags == flags &&
              got.item_ttl == ttl && got.item_bytes == value.size(),
          "a value is read back as it was written");
}

}  // namespace
}  // namespace ers::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  constexpr std::size_t kHead = 3;
  if (size < kHead) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(data + kHead),
                                size - kHead);
  if (ers::net::AnnouncesMuch(stream)) return -1;  // not worth keeping
  const ers::net::Asked asked = ers::net::AskedBy(data[0], data[1]);
  const std::string whole = ers::net::HearWhole(asked, stream);
  const std::string pieces = ers::net::Pieces(stream, data[2]).Hear(asked);
  ers::fuzz::Require(whole == pieces,
                     "where the bytes are cut makes no difference");
  ers::net::CheckWritten(stream, data[2]);
  return 0;
}
