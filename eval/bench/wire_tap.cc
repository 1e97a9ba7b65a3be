#include "bench/wire_tap.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>
#include <string_view>

namespace ers::bench {
namespace {

// docs/reference/format.md; written down again, as the count is to stand on its
// own.
constexpr std::string_view kBlockPrefix = "ers!b";
constexpr char kBlockSeparator = '.';  // no other key of the prefix has it
constexpr std::string_view kLineEnd = "\r\n";

std::string_view Word(std::string_view line, int number) {
  for (; number > 0; --number) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return {};
    line.remove_prefix(blank + 1);
  }
  return line.substr(0, line.find(' '));
}

bool HasWord(std::string_view line, std::string_view word) {
  for (int i = 1;; ++i) {
    const std::string_view found = Word(line, i);
    if (found.empty()) return false;
    if (found == word) return true;
  }
}

bool NamesBlock(std::string_view key) {
  return key.starts_with(kBlockPrefix) &&
         key.find(kBlockSeparator) != std::string_view::npos;
}

std::uint64_t Number(std::string_view digits) {
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

// Cuts a stream into lines and the values behind some of them.
class Lines {
 public:
  // `on_line` returns the bytes of the value that follows, or -1.
  template <typename OnLine>
  void Feed(std::string_view bytes, const OnLine& on_line) {
    while (!bytes.empty()) {
      if (value_left_ > 0) {
        const std::size_t skipped = std::min(value_left_, bytes.size());
        value_left_ -= skipped;
        bytes.remove_prefix(skipped);
        continue;
      }
      const std::size_t end = bytes.find('\n');
      const std::size_t taken =
          end == std::string_view::npos ? bytes.size() : end + 1;
      line_ += bytes.substr(0, taken);
      bytes.remove_prefix(taken);
      if (end == std::string_view::npos) return;
      if (line_.ends_with(kLineEnd)) {
        line_.resize(line_.size() - kLineEnd.size());
      }
      const std::int64_t value = on_line(std::string_view(line_));
      if (value >= 0) {
        value_left_ = static_cast<std::size_t>(value) + kLineEnd.size();
      }
      line_.clear();
    }
  }

 private:
  std::string line_;
  std::size_t value_left_ = 0;
};

void Count(BlockTraffic& blocks, std::uint64_t bytes) {
  ++blocks.items;
  blocks.bytes += bytes;
  blocks.largest = std::max(blocks.largest, bytes);
}

class TappedStream final : public net::Stream {
 public:
  TappedStream(std::unique_ptr<net::Stream> inner, Traffic& traffic)
      : inner_(std::move(inner)), traffic_(traffic) {}

  ssize_t ReadV(const iovec* pieces, int count) override {
    const ssize_t moved = inner_->ReadV(pieces, count);
    if (moved <= 0) return moved;
    traffic_.bytes_in += static_cast<std::uint64_t>(moved);
    Each(pieces, moved, [this](std::string_view bytes) {
      replies_.Feed(bytes,
                    [this](std::string_view line) { return OnReply(line); });
    });
    return moved;
  }

  ssize_t WriteV(const iovec* pieces, int count) override {
    const ssize_t moved = inner_->WriteV(pieces, count);
    if (moved <= 0) return moved;
    traffic_.bytes_out += static_cast<std::uint64_t>(moved);
    Each(pieces, moved, [this](std::string_view bytes) {
      requests_.Feed(bytes,
                     [this](std::string_view line) { return OnRequest(line); });
    });
    return moved;
  }

  void WantWrite(bool want) override { inner_->WantWrite(want); }

 private:
  // What is still to be answered.
  enum class Asked : std::uint8_t { kBlock, kItem, kList, kOther };

  template <typename Take>
  static void Each(const iovec* pieces, ssize_t moved, const Take& take) {
    for (auto left = static_cast<std::size_t>(moved); left > 0; ++pieces) {
      const std::size_t here = std::min(left, pieces->iov_len);
      take({static_cast<const char*>(pieces->iov_base), here});
      left -= here;
    }
  }

  std::int64_t OnRequest(std::string_view line) {
    const std::string_view verb = Word(line, 0);
    const bool block = NamesBlock(Word(line, 1));
    if (verb == "mg") {
      asked_.push_back(block ? Asked::kBlock : Asked::kItem);
      return -1;
    }
    if (verb == "stats" || verb == "lru_crawler") {
      asked_.push_back(Asked::kList);
      return -1;
    }
    // A quiet one is answered only where it is refused.
    if (!HasWord(line, "q")) asked_.push_back(Asked::kOther);
    if (verb != "ms" && verb != "cas") return -1;
    const std::uint64_t bytes = Number(Word(line, verb == "ms" ? 2 : 4));
    if (block) Count(traffic_.blocks_out, bytes);
    return static_cast<std::int64_t>(bytes);
  }

  std::int64_t OnReply(std::string_view line) {
    if (asked_.empty()) {
      traffic_.unclear = true;
      return -1;
    }
    const std::string_view word = Word(line, 0);
    const Asked asked = asked_.front();
    const bool list_goes_on = asked == Asked::kList && word != "END" &&
                              word != "RESET" && !word.ends_with("ERROR");
    if (list_goes_on) return -1;
    asked_.pop_front();
    if (word != "VA") {
      const bool of_item = word == "HD" || word == "EN";
      const bool item = asked == Asked::kBlock || asked == Asked::kItem;
      // Else it refuses a quiet request, and the order is lost.
      if ((item && !of_item) || word.ends_with("ERROR")) {
        traffic_.unclear = true;
      }
      return -1;
    }
    const std::uint64_t bytes = Number(Word(line, 1));
    if (asked == Asked::kBlock) Count(traffic_.blocks_in, bytes);
    return static_cast<std::int64_t>(bytes);
  }

  std::unique_ptr<net::Stream> inner_;
  Traffic& traffic_;
  Lines requests_;
  Lines replies_;
  std::deque<Asked> asked_;
};

}  // namespace

std::unique_ptr<net::Stream> TapStream(std::unique_ptr<net::Stream> inner,
                                       Traffic& traffic) {
  return std::make_unique<TappedStream>(std::move(inner), traffic);
}

std::unique_ptr<net::Stream> TappedRuntime::Connect(
    const net::Endpoint& endpoint, net::StreamHandler& handler) {
  return TapStream(inner_.Connect(endpoint, handler), traffic_);
}

}  // namespace ers::bench
