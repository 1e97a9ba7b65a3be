#include "net/reply_parser.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "net/number.h"

namespace ers::net {
namespace {

// Above any line of stats or metadump (a key of 250 bytes, escaped, and about
// 150 bytes more).
constexpr std::size_t kMaxReplyLine = 8192;
// memcached's largest item is 1 GiB.
constexpr std::uint64_t kMaxValue = std::uint64_t{1} << 30;

std::string_view TakeWord(std::string_view* words) {
  const std::size_t begin =
      std::min(words->find_first_not_of(' '), words->size());
  words->remove_prefix(begin);
  const std::size_t end = std::min(words->find(' '), words->size());
  const std::string_view word = words->substr(0, end);
  words->remove_prefix(end);
  return word;
}

bool IsErrorLine(std::string_view line) {
  for (const std::string_view word :
       {"ERROR", "CLIENT_ERROR", "SERVER_ERROR", "BUSY"}) {
    if (line.starts_with(word) &&
        (line.size() == word.size() || line[word.size()] == ' ')) {
      return true;
    }
  }
  return false;
}

std::size_t TotalBytes(std::span<const iovec> pieces) {
  std::size_t bytes = 0;
  for (const iovec& piece : pieces) bytes += piece.iov_len;
  return bytes;
}

}  // namespace

std::string StrangerSent(std::string_view bytes) {
  // Enough to recognise it; not everything that a stranger may send.
  constexpr std::size_t kQuoted = 60;
  bytes = bytes.substr(0, bytes.find_first_of("\r\n"));
  std::string text = "unexpected reply \"";
  for (const char c : bytes.substr(0, kQuoted)) {
    text.push_back(c >= ' ' && c <= '~' ? c : '?');
  }
  return text + "\": is it a memcached?";
}

void ReplyParser::Begin(Request& request) {
  request_ = &request;
  state_ = State::kLine;
  line_.clear();
  line_taken_ = false;
  created_ = false;
}

ReplyParser::Progress ReplyParser::Finish(Outcome outcome) {
  request_->outcome = outcome;
  if (request_->then_token && state_ == State::kLine) {
    state_ = State::kToken;
    return Progress::kMore;
  }
  request_ = nullptr;
  return Progress::kDone;
}

ReplyParser::Progress ReplyParser::Break(std::string_view what) {
  error_ = StrangerSent(what);
  return Progress::kBroken;
}

ReplyParser::Progress ReplyParser::Parse(std::string_view* bytes) {
  assert(active());
  while (true) {
    std::string_view line;
    Progress progress = Progress::kMore;
    switch (state_) {
      case State::kLine:
      case State::kList:
      case State::kToken:
        if (!TakeLine(bytes, &line)) {
          return line_.size() > kMaxReplyLine ? Break(line_) : Progress::kMore;
        }
        if (line.size() > kMaxReplyLine) return Break(line);
        if (line.ends_with('\r')) {
          line.remove_suffix(1);
        } else if (request_->verb != Verb::kMetadump &&
                   request_->verb != Verb::kWatch) {
          return Break(line);  // only their lines end with a bare '\n'
        }
        progress = state_ == State::kLine    ? OnLine(line)
                   : state_ == State::kToken ? OnTokenLine(line)
                                             : OnListLine(line);
        break;
      case State::kValue:
        CopyValue(bytes);
        if (left_ > 0) return Progress::kMore;
        state_ = State::kValueEnd;
        break;
      case State::kValueEnd:
        while (end_seen_ < 2) {
          if (bytes->empty()) return Progress::kMore;
          if ((*bytes)[0] != "\r\n"[end_seen_]) return Break(*bytes);
          bytes->remove_prefix(1);
          ++end_seen_;
        }
        if (Skips()) return Finish(Outcome::kWrongSize);
        return Finish(created_ ? Outcome::kCreated : Outcome::kOk);
    }
    if (progress != Progress::kMore) return progress;
  }
}

// Takes all up to '\n'. False when there is none: all is kept in line_ then.
bool ReplyParser::TakeLine(std::string_view* bytes, std::string_view* line) {
  if (line_taken_) {
    line_.clear();
    line_taken_ = false;
  }
  const std::size_t end = bytes->find('\n');
  if (end == std::string_view::npos) {
    line_.append(*bytes);
    bytes->remove_prefix(bytes->size());
    return false;
  }
  if (line_.empty()) {
    *line = bytes->substr(0, end);
  } else {
    line_.append(bytes->substr(0, end));
    line_taken_ = true;
    *line = line_;
  }
  bytes->remove_prefix(end + 1);
  return true;
}

ReplyParser::Progress ReplyParser::OnLine(std::string_view line) {
  if (IsErrorLine(line)) return OnErrorLine(line);
  switch (request_->verb) {
    case Verb::kStats:
    case Verb::kMetadump:
      state_ = State::kList;
      return OnListLine(line);
    case Verb::kWatch:
      if (line != "OK") return Break(line);
      state_ = State::kList;
      return Progress::kMore;
    case Verb::kVersion:
      if (!line.starts_with("VERSION ")) return Break(line);
      request_->value.assign(line.substr(8));
      return Finish(Outcome::kOk);
    case Verb::kCas:
      return OnCasLine(line);
    case Verb::kSentinel:
      if (line == "MN") return Finish(Outcome::kOk);
      if (line == "NF") return Finish(Outcome::kMiss);
      return line == "NS" ? Finish(Outcome::kNotStored) : Break(line);
    default:
      return OnMetaLine(line);
  }
}

ReplyParser::Progress ReplyParser::OnListLine(std::string_view line) {
  if (request_->verb != Verb::kWatch) {
    if (line == "END") return Finish(Outcome::kOk);
    const bool stats = request_->verb == Verb::kStats;
    if (!line.starts_with(stats ? "STAT " : "key=")) return Break(line);
  }
  if (request_->on_line != nullptr) {
    request_->on_line(*request_, line);
  } else {
    request_->value.append(line).push_back('\n');
  }
  return Progress::kMore;
}

ReplyParser::Progress ReplyParser::OnErrorLine(std::string_view line) {
  constexpr std::string_view kServer = "SERVER_ERROR ";
  // kVivify has another answer where it finds no memory for a stub.
  if (request_->verb != Verb::kVivify && line.starts_with(kServer)) {
    const std::string_view text = line.substr(kServer.size());
    if (text.starts_with("out of memory") ||
        text.starts_with("Out of memory")) {
      return Finish(Outcome::kNoMemory);
    }
    if (text == "object too large for cache") {
      return Finish(Outcome::kTooLarge);
    }
  }
  request_->value.assign(line);
  return Finish(Outcome::kServerError);
}

ReplyParser::Progress ReplyParser::OnCasLine(std::string_view line) {
  if (line == "STORED") return Finish(Outcome::kOk);
  if (line == "EXISTS") return Finish(Outcome::kExists);
  if (line == "NOT_FOUND") return Finish(Outcome::kMiss);
  if (line == "NOT_STORED") return Finish(Outcome::kNotStored);
  return Break(line);
}

// What mg, ms and md answer.
ReplyParser::Progress ReplyParser::OnMetaLine(std::string_view line) {
  const Verb verb = request_->verb;
  const bool reads =
      verb == Verb::kGet || verb == Verb::kVivify || verb == Verb::kHead;
  std::string_view words = line;
  const std::string_view code = TakeWord(&words);
  if (code == "VA" && reads && verb != Verb::kHead) return OnValueLine(words);
  if (code == "HD" && (!reads || verb == Verb::kHead)) {
    if (reads && !ParseFlags(words)) return Break(line);
    return Finish(Outcome::kOk);
  }
  if (reads || verb == Verb::kTouch) {
    if (code != "EN") return Break(line);
    // Without memory for the stub, N is passed over and a miss is answered.
    return Finish(verb == Verb::kVivify ? Outcome::kNoMemory : Outcome::kMiss);
  }
  if (code == "NS") return Finish(Outcome::kNotStored);
  if (code == "EX") return Finish(Outcome::kExists);
  if (code == "NF") return Finish(Outcome::kMiss);
  return Break(line);
}

ReplyParser::Progress ReplyParser::OnValueLine(std::string_view words) {
  const std::string_view all = words;
  std::uint64_t bytes = 0;
  if (!ParseNumber(TakeWord(&words), &bytes) || bytes > kMaxValue ||
      !ParseFlags(words)) {
    return Break(all);
  }
  request_->item_bytes = bytes;
  left_ = static_cast<std::size_t>(bytes);
  piece_ = offset_ = end_seen_ = 0;
  skip_ = false;
  if (request_->verb == Verb::kGet && !request_->into.empty()) {
    skip_ = TotalBytes(request_->into) != left_;
  } else {
    request_->value.resize(left_);
  }
  state_ = State::kValue;
  return Progress::kMore;
}

// What is there behind the write, whose outcome is known by now.
ReplyParser::Progress ReplyParser::OnTokenLine(std::string_view line) {
  std::string_view words = line;
  const std::string_view code = TakeWord(&words);
  const bool known = code == "HD" && ParseFlags(words);
  if (!known && code != "EN" && !IsErrorLine(line)) return Break(line);
  return Finish(request_->outcome);
}

// Flags come in the order in which they were asked for, or in any other;
// unknown ones (won by another) are passed over.
bool ReplyParser::ParseFlags(std::string_view words) {
  bool token = false;
  bool flags = false;
  bool ttl = state_ == State::kToken;
  bool size = request_->verb != Verb::kHead;
  bool won = false;
  bool stale = false;  // it was renewed
  while (true) {
    std::string_view word = TakeWord(&words);
    if (word.empty()) break;
    const char flag = word[0];
    word.remove_prefix(1);
    bool good = true;
    switch (flag) {
      case 'c':
        good = token = ParseNumber(word, &request_->item_token);
        break;
      case 'f':
        good = flags = ParseNumber(word, &request_->item_flags);
        break;
      case 't':
        good = ttl = ParseNumber(word, &request_->item_ttl);
        break;
      case 's':
        good = size = ParseNumber(word, &request_->item_bytes);
        break;
      case 'h':
        good = word == "0" || word == "1";
        request_->item_fetched = word == "1";
        break;
      case 'l':
        good = ParseNumber(word, &request_->item_idle);
        break;
      case 'W':
        won = true;
        break;
      case 'X':
        stale = true;
        break;
      default:
        break;
    }
    if (!good) return false;
  }
  created_ = won && !stale && request_->verb == Verb::kVivify;
  return token && flags && ttl && size;
}

bool ReplyParser::Skips() const { return skip_ || request_->abandoned; }

int ReplyParser::Destination(iovec* pieces, int max) const {
  if (!active() || state_ != State::kValue || Skips() || left_ == 0) return 0;
  const bool straight = request_->verb == Verb::kGet && !request_->into.empty();
  if (!straight) {
    if (max < 1) return 0;
    std::string& value = request_->value;
    pieces[0] = {value.data() + (value.size() - left_), left_};
    return 1;
  }
  int count = 0;
  std::size_t offset = offset_;
  for (std::size_t i = piece_; i < request_->into.size() && count < max; ++i) {
    const iovec& piece = request_->into[i];
    if (piece.iov_len > offset) {
      pieces[count++] = {static_cast<char*>(piece.iov_base) + offset,
                         piece.iov_len - offset};
    }
    offset = 0;
  }
  return count;
}

ReplyParser::Progress ReplyParser::Placed(std::size_t bytes) {
  assert(bytes <= left_);
  AdvancePlace(bytes);
  left_ -= bytes;
  if (left_ == 0) state_ = State::kValueEnd;
  return Progress::kMore;
}

void ReplyParser::AdvancePlace(std::size_t bytes) {
  offset_ += bytes;
  request_->placed += bytes;
  const auto& into = request_->into;
  while (piece_ < into.size() && offset_ >= into[piece_].iov_len) {
    offset_ -= into[piece_++].iov_len;
  }
}

void ReplyParser::CopyValue(std::string_view* bytes) {
  std::size_t available = std::min(left_, bytes->size());
  if (Skips()) {
    left_ -= available;
    bytes->remove_prefix(available);
    return;
  }
  while (available > 0) {
    iovec place{};
    if (Destination(&place, 1) == 0) return;
    const std::size_t step = std::min(available, place.iov_len);
    std::memcpy(place.iov_base, bytes->data(), step);
    bytes->remove_prefix(step);
    AdvancePlace(step);
    left_ -= step;
    available -= step;
  }
}

}  // namespace ers::net
