#include "net/request_encoder.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace ers::net {
namespace {

constexpr std::size_t kMaxKey = 250;
constexpr std::size_t kLinesBytes = 32768;
constexpr std::string_view kSentinel = "mn\r\n";
// A key, the words round it, five numbers of at most 20 digits, and a sentinel.
constexpr std::size_t kMaxRequestLine = kMaxKey + 180 + kSentinel.size();

}  // namespace

bool IsValidKey(std::string_view key) {
  return !key.empty() && key.size() <= kMaxKey &&
         std::none_of(key.begin(), key.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte <= 0x20 || byte == 0x7f;
         });
}

RequestEncoder::RequestEncoder()
    : lines_(std::make_unique<char[]>(kLinesBytes)) {}

bool RequestEncoder::Append(const Request& request) {
  assert(!HasKey(request.verb) || IsValidKey(request.key));
  if (kLinesBytes - used_ < kMaxRequestLine) return false;
  switch (request.verb) {
    case Verb::kGet:
    case Verb::kHead:
    case Verb::kVivify:
      GetLine(request);
      break;
    case Verb::kTouch:
      Words("mg ", request.key, " T");
      SignedNumber(request.exptime);
      break;
    case Verb::kSet:
    case Verb::kCas:
      StoreLine(request);
      break;
    case Verb::kDelete:
    case Verb::kRenew:
      DeleteLine(request);
      break;
    case Verb::kStats:
      assert(request.key.empty() || IsValidKey(request.key));
      Words("stats", request.key.empty() ? "" : " ", request.key);
      break;
    case Verb::kMetadump:
      Words("lru_crawler metadump ",
            request.key.empty() ? "hash" : request.key);
      break;
    case Verb::kWatch:
      assert(IsValidKey(request.key));
      Words("watch ", request.key);
      break;
    case Verb::kVersion:
      Text("version");
      break;
    case Verb::kSentinel:
      assert(false);  // AppendSentinel
      break;
  }
  Text("\r\n");
  if (request.verb == Verb::kSet || request.verb == Verb::kCas) Body(request);
  return true;
}

void RequestEncoder::GetLine(const Request& request) {
  Words("mg ", request.key,
        request.verb == Verb::kHead ? " c f t s" : " v c f t s");
  if (request.verb == Verb::kVivify) {
    Text(" N");
    SignedNumber(request.exptime);
  }
  if (request.report_access) Text(" h l");
  if (request.no_bump) Text(" u");
}

void RequestEncoder::StoreLine(const Request& request) {
  if (request.verb == Verb::kCas) {
    Words("cas ", request.key, " ");
    Number(request.client_flags);
    Text(" ");
    SignedNumber(request.exptime);
    Text(" ");
    Number(BodyBytes(request));
    Text(" ");
    Number(request.token);
    return;
  }
  Words("ms ", request.key, " ");
  Number(BodyBytes(request));
  Text(" T");
  SignedNumber(request.exptime);
  Text(" F");
  Number(request.client_flags);
  if (request.quiet_run != nullptr) Text(" q");
}

void RequestEncoder::DeleteLine(const Request& request) {
  const bool renews = request.verb == Verb::kRenew;
  Words("md ", request.key, renews ? " I" : "");
  if (request.token != 0) {
    Text(" C");
    Number(request.token);
  }
  if (renews && request.exptime != 0) {
    Text(" T");
    SignedNumber(request.exptime);
  }
  if (!renews && request.quiet_run != nullptr) Text(" q");
}

void RequestEncoder::AppendSentinel() { Text(kSentinel); }

void RequestEncoder::Body(const Request& request) {
  for (const iovec& piece : request.body) {
    if (piece.iov_len > 0) Piece(piece.iov_base, piece.iov_len);
  }
  Text("\r\n");
}

void RequestEncoder::Words(std::string_view first, std::string_view second,
                           std::string_view third) {
  Text(first);
  Text(second);
  Text(third);
}

void RequestEncoder::Text(std::string_view text) {
  if (text.empty()) return;
  char* place = lines_.get() + used_;
  std::memcpy(place, text.data(), text.size());
  used_ += text.size();
  // Lines that follow each other are one piece.
  if (!pieces_.empty()) {
    iovec& last = pieces_.back();
    if (static_cast<char*>(last.iov_base) + last.iov_len == place) {
      last.iov_len += text.size();
      total_ += text.size();
      return;
    }
  }
  Piece(place, text.size());
}

void RequestEncoder::Number(std::uint64_t number) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  Text(std::string_view(digits, static_cast<std::size_t>(end - digits)));
}

void RequestEncoder::SignedNumber(std::int64_t number) {
  if (number < 0) Text("-");
  Number(number < 0 ? 0 - static_cast<std::uint64_t>(number)
                    : static_cast<std::uint64_t>(number));
}

void RequestEncoder::Piece(const void* base, std::size_t bytes) {
  pieces_.push_back({const_cast<void*>(base), bytes});
  total_ += bytes;
}

void RequestEncoder::Advance(std::size_t bytes) {
  written_ += bytes;
  while (bytes > 0) {
    assert(first_ < pieces_.size());
    iovec& piece = pieces_[first_];
    const std::size_t step = std::min(bytes, piece.iov_len);
    piece.iov_base = static_cast<char*>(piece.iov_base) + step;
    piece.iov_len -= step;
    bytes -= step;
    if (piece.iov_len == 0) ++first_;
  }
}

void RequestEncoder::Clear() {
  pieces_.clear();
  first_ = used_ = total_ = written_ = 0;
}

}  // namespace ers::net
