#include "warm/old_reply.h"

#include <algorithm>
#include <utility>

#include "net/number.h"

namespace ers::proxy {
namespace {

// Above any line of a reply: a key, and some numbers.
constexpr std::size_t kMaxLine = 2048;
constexpr std::uint64_t kLongest = std::uint64_t{1} << 30;
// Above any of memcached's, and a time of day can be reckoned with it.
constexpr std::int64_t kLongestTtl = std::int64_t{1} << 40;
constexpr std::string_view kLineEnd = "\r\n";

using Kind = OldReply::Kind;

std::string_view TakeWord(std::string_view* words) {
  words->remove_prefix(std::min(words->find_first_not_of(' '), words->size()));
  const std::size_t end = std::min(words->find(' '), words->size());
  const std::string_view word = words->substr(0, end);
  words->remove_prefix(end);
  return word;
}

}  // namespace

OldReply OldReplyParser::Take() {
  state_ = State::kLine;
  return std::exchange(reply_, OldReply());
}

OldReplyParser::Progress OldReplyParser::Parse(std::string_view* bytes) {
  std::string line;
  for (;;) {
    if (state_ == State::kValue) {
      CopyValue(bytes);
      if (left_ > 0) return Progress::kMore;
      if (keeps_ && !reply_.value.ends_with(kLineEnd)) return Progress::kBroken;
      if (keeps_) reply_.value.resize(reply_.value.size() - kLineEnd.size());
      if (!listed_) return Progress::kDone;
      state_ = State::kEnd;
    }
    if (!TakeLine(bytes, &line)) {
      return line_.size() > kMaxLine ? Progress::kBroken : Progress::kMore;
    }
    if (state_ == State::kEnd) {
      return line == "END" ? Progress::kDone : Progress::kBroken;
    }
    const Progress progress = OnLine(line);
    if (progress != Progress::kMore) return progress;
  }
}

bool OldReplyParser::TakeLine(std::string_view* bytes, std::string* line) {
  const std::size_t end = bytes->find('\n');
  // A line that is too long is not kept, but for what shows that it is.
  const std::size_t room = kMaxLine + 1 - std::min(line_.size(), kMaxLine + 1);
  line_.append(bytes->substr(0, std::min(end, room)));
  if (end == std::string_view::npos) {
    bytes->remove_prefix(bytes->size());
    return false;
  }
  bytes->remove_prefix(end + 1);
  *line = std::exchange(line_, {});
  if (line->ends_with('\r')) line->pop_back();
  return true;
}

void OldReplyParser::CopyValue(std::string_view* bytes) {
  const std::size_t taken = std::min<std::uint64_t>(left_, bytes->size());
  if (keeps_) reply_.value.append(bytes->substr(0, taken));
  bytes->remove_prefix(taken);
  left_ -= taken;
}

OldReplyParser::Progress OldReplyParser::OnLine(std::string_view line) {
  if (line.size() > kMaxLine) return Progress::kBroken;
  std::string_view words = line;
  const std::string_view word = TakeWord(&words);
  if (word == "VA") return OnMetaValue(words);
  if (word == "VALUE") return OnTextValue(words);
  if (word == "EN" || word == "NF" || word == "END" || word == "NOT_FOUND") {
    reply_.kind = Kind::kMiss;
    return Progress::kDone;
  }
  if (word == "HD" || word == "MN" || word == "DELETED") {
    reply_.kind = Kind::kDone;
    return Progress::kDone;
  }
  if (word == "ERROR" || word == "CLIENT_ERROR" || word == "SERVER_ERROR") {
    reply_.kind = Kind::kError;
    reply_.value = line;
    return Progress::kDone;
  }
  return Progress::kBroken;
}

// "VA 5 f30 t-1"
OldReplyParser::Progress OldReplyParser::OnMetaValue(std::string_view words) {
  std::uint64_t bytes = 0;
  if (!net::ParseNumber(TakeWord(&words), &bytes)) return Progress::kBroken;
  for (std::string_view flag = TakeWord(&words); !flag.empty();
       flag = TakeWord(&words)) {
    const std::string_view number = flag.substr(1);
    if (flag[0] == 'f' && !net::ParseNumber(number, &reply_.client_flags)) {
      return Progress::kBroken;
    }
    if (flag[0] == 't' && !net::ParseNumber(number, &reply_.ttl)) {
      return Progress::kBroken;
    }
  }
  reply_.ttl = std::min(reply_.ttl, kLongestTtl);
  listed_ = false;
  return BeginValue(bytes);
}

// "VALUE key 30 5", and perhaps a CAS
OldReplyParser::Progress OldReplyParser::OnTextValue(std::string_view words) {
  std::uint64_t bytes = 0;
  TakeWord(&words);
  if (!net::ParseNumber(TakeWord(&words), &reply_.client_flags) ||
      !net::ParseNumber(TakeWord(&words), &bytes)) {
    return Progress::kBroken;
  }
  listed_ = true;
  return BeginValue(bytes);
}

OldReplyParser::Progress OldReplyParser::BeginValue(std::uint64_t bytes) {
  if (bytes > kLongest) return Progress::kBroken;
  keeps_ = bytes <= max_value_;
  reply_.kind = keeps_ ? Kind::kValue : Kind::kError;
  if (!keeps_) reply_.value = "its value is too long";
  left_ = bytes + kLineEnd.size();
  state_ = State::kValue;
  return Progress::kMore;
}

}  // namespace ers::proxy
