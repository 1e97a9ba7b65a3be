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
// A key, the words round it, five numbers of at most 20 digits, the same key
// with a question behind it, and a sentinel.
constexpr std::size_t kMaxRequestLine = 2 * kMaxKey + 200 + kSentinel.size();

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
  if (request.then_token) {
    assert(request.verb == Verb::kCas);
    Words("mg ", request.key, " c f u\r\n");
  }
  EndLines();
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

void RequestEncoder::AppendSentinel() {
  Text(kSentinel);
  EndLines();
}

void RequestEncoder::Body(const Request& request) {
  for (const iovec& piece : request.body) {
    if (piece.iov_len == 0) continue;
    EndLines();
    Piece(piece.iov_base, piece.iov_len);
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
  std::memcpy(lines_.get() + used_, text.data(), text.size());
  used_ += text.size();
}

void RequestEncoder::Number(std::uint64_t number) {
  char* const place = lines_.get() + used_;
  const auto end = std::to_chars(place, lines_.get() + kLinesBytes, number).ptr;
  used_ += static_cast<std::size_t>(end - place);
}

// Lines that follow each other are one piece.
void RequestEncoder::EndLines() {
  const std::size_t bytes = used_ - ended_;
  if (bytes == 0) return;
  char* const place = lines_.get() + ended_;
  ended_ = used_;
  iovec* const last = pieces_.empty() ? nullptr : &pieces_.back();
  if (last != nullptr &&
      static_cast<char*>(last->iov_base) + last->iov_len == place) {
    last->iov_len += bytes;
    total_ += bytes;
  } else {
    Piece(place, bytes);
  }
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
  first_ = used_ = ended_ = total_ = written_ = 0;
}

}  // namespace ers::net
