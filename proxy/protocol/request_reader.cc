#include "protocol/request_reader.h"

#include <algorithm>

#include "protocol/command_line.h"

namespace ers::proxy {
namespace {

constexpr std::string_view kEndOfLine = "\r\n";

std::string_view WithoutReturn(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool HasLongKey(std::string_view keys) {
  while (true) {
    const std::string_view key = TakeWord(keys);
    if (key.empty()) return false;
    if (key.size() > kMaxKeyBytes) return true;
  }
}

// Whether a line of more than kMaxLine bytes may go on. memcached lets a few
// blanks pass before the command, too.
bool MayBeLong(std::string_view line) {
  constexpr std::size_t kMaxLeadingBlanks = 100;
  return line.find_first_not_of(' ') <= kMaxLeadingBlanks && IsGetLine(line);
}

}  // namespace

RequestReader::Event RequestReader::Next(std::string_view& input) {
  while (true) {
    const StateResult step = Run(input);
    if (step.done) return step.event;
  }
}

RequestReader::StateResult RequestReader::Run(std::string_view& input) {
  switch (state_) {
    case State::kStart:
      if (input.empty()) return Say(Event::kNeedInput);
      binary_ = input[0] == kBinaryMagic;
      Rest();
      return GoOn();
    case State::kLine:
      return ReadLine(input);
    case State::kKeys:
      return ReadKeys(input);
    case State::kSkipLine:
      return SkipLine(input);
    case State::kHeader:
      return ReadHeader(input);
    case State::kExtrasAndKey:
      return ReadExtrasAndKey(input);
    case State::kValue:
      return ReadValue(input);
    case State::kValueEnd:
      return ReadValueEnd(input);
    case State::kSwallow:
      return Swallow(input);
    case State::kClosed:
      break;
  }
  input = {};
  return Say(Event::kClose);
}

void RequestReader::Rest() {
  held_.clear();
  line_complete_ = false;
  state_ = binary_ ? State::kHeader : State::kLine;
}

RequestReader::StateResult RequestReader::Close() {
  state_ = State::kClosed;
  held_ = {};
  return GoOn();
}

// Moves bytes into held_ until the line is complete (true) or held_ has
// `limit` bytes or the input is used up.
bool RequestReader::FillLine(std::string_view& input, std::size_t limit) {
  const std::string_view room = input.substr(0, limit - held_.size());
  const std::size_t end = room.find('\n');
  line_complete_ = end != std::string_view::npos;
  held_ += room.substr(0, end);
  input.remove_prefix(line_complete_ ? end + 1 : room.size());
  return line_complete_;
}

RequestReader::StateResult RequestReader::ReadLine(std::string_view& input) {
  // One byte more than a line may have shows that it has too many.
  constexpr std::size_t kTooMany = kMaxLine + 1;
  if (held_.size() < kTooMany && !FillLine(input, kTooMany)) {
    if (held_.size() < kTooMany) return Say(Event::kNeedInput);
  }
  if (!line_complete_) {
    if (!MayBeLong(held_)) return Close();
    if (!FillLine(input, kMaxGetLine) && held_.size() < kMaxGetLine) {
      return Say(Event::kNeedInput);
    }
  }
  return OnLine(line_complete_ ? WithoutReturn(held_) : held_);
}

RequestReader::StateResult RequestReader::OnLine(std::string_view line) {
  request_ = ClientRequest();
  const Parsed parsed = ParseCommandLine(line, limits_, request_);
  switch (parsed.kind) {
    case Parsed::Kind::kError:
      return RefuseLine(parsed);
    case Parsed::Kind::kGets:
      return BeginGets(line, parsed.keys);
    case Parsed::Kind::kClose:
      return Close();
    case Parsed::Kind::kRequest:
      break;
  }
  if (request_.has_value()) return BeginValue();
  Rest();
  if (request_.operation == Operation::kQuit) Close();
  return Say(Event::kRequest);
}

std::string RequestReader::RefusedKey() const {
  const bool sets = request_.operation == Operation::kStore &&
                    request_.mode == StoreMode::kSet && !request_.compare_cas;
  return sets ? request_.key : std::string();
}

RequestReader::StateResult RequestReader::RefuseLine(const Parsed& parsed) {
  error_.clear();
  refused_key_.clear();
  if (parsed.error == kTooLargeError) refused_key_ = RefusedKey();
  if (!parsed.silent) {
    error_ += parsed.error;
    error_ += kEndOfLine;
  }
  const bool complete = line_complete_;
  Rest();
  if (!complete) state_ = State::kSkipLine;
  return SayErrorBehind(parsed.swallow);
}

// A client that writes all before it reads has its answer when it has written.
RequestReader::StateResult RequestReader::SayErrorBehind(
    std::uint64_t swallowed) {
  if (swallowed == 0) return Say(Event::kError);
  left_ = swallowed;
  state_ = State::kSwallow;
  return GoOn();
}

RequestReader::StateResult RequestReader::BeginGets(std::string_view line,
                                                    std::string_view keys) {
  if (line_complete_) {
    if (HasLongKey(keys)) return RefuseLine(Error(kBadFormat));
    held_.resize(line.size());
  } else if (keys.empty()) {
    // The exptime of a gat reaches to the end of what is there: perhaps not all
    // of it.
    return RefuseLine(Error(kBadFormat));
  }
  next_key_ = line.size() - keys.size();
  state_ = State::kKeys;
  return GoOn();
}

RequestReader::StateResult RequestReader::ReadKeys(std::string_view& input) {
  std::string_view rest = std::string_view(held_).substr(next_key_);
  const std::string_view key = TakeWord(rest);
  // A word at the end of what came may go on in what comes, if only with the
  // '\r' of the line end.
  const bool whole = line_complete_ || !rest.empty();
  if (key.size() > kMaxKeyBytes + (whole ? 0 : 1)) {
    return RefuseLine(Error(kBadFormat));
  }
  if (whole && !key.empty()) {
    next_key_ = held_.size() - rest.size();
    request_.operation = Operation::kGet;
    request_.key = key;
    return Say(Event::kRequest);
  }
  if (line_complete_) {
    request_.operation = Operation::kEndOfGets;
    request_.key.clear();
    Rest();
    return Say(Event::kRequest);
  }
  held_.erase(0, held_.size() - rest.size() - key.size());
  next_key_ = 0;
  if (input.empty()) return Say(Event::kNeedInput);
  if (FillLine(input, kMaxGetLine)) {
    held_.resize(WithoutReturn(held_).size());
  }
  return GoOn();
}

RequestReader::StateResult RequestReader::SkipLine(std::string_view& input) {
  const std::size_t end = input.find('\n');
  if (end == std::string_view::npos) {
    input = {};
    return Say(Event::kNeedInput);
  }
  input.remove_prefix(end + 1);
  Rest();
  return GoOn();
}

// Moves bytes into held_ until it has `size` (true) or the input is used up.
bool RequestReader::FillTo(std::size_t size, std::string_view& input) {
  const std::string_view more = input.substr(0, size - held_.size());
  held_ += more;
  input.remove_prefix(more.size());
  return held_.size() == size;
}

RequestReader::StateResult RequestReader::ReadHeader(std::string_view& input) {
  if (input.empty()) return Say(Event::kNeedInput);
  if (held_.empty() && input[0] != kBinaryMagic) return Close();
  if (!FillTo(kBinaryHeaderBytes, input)) return Say(Event::kNeedInput);
  header_ = ReadBinaryHeader(held_);
  held_.clear();
  const BinaryVerdict verdict = CheckBinaryHeader(header_, limits_);
  too_large_ = verdict.status == BinaryStatus::kTooLarge && !verdict.close;
  if (verdict.status == BinaryStatus::kOk || too_large_) {
    state_ = State::kExtrasAndKey;
    return GoOn();
  }
  request_ = ClientRequest();
  request_.style.dialect = Dialect::kBinary;
  request_.style.opcode = header_.opcode;
  request_.style.opaque_id = header_.opaque;
  refused_key_.clear();
  if (verdict.close) Close();
  return RefuseBinary(verdict.status, verdict.swallow);
}

RequestReader::StateResult RequestReader::RefuseBinary(
    BinaryStatus status, std::uint64_t swallowed) {
  error_.clear();
  AppendBinaryError(request_.style, status, "", error_);
  return SayErrorBehind(swallowed);
}

RequestReader::StateResult RequestReader::ReadExtrasAndKey(
    std::string_view& input) {
  const std::size_t size =
      std::size_t{header_.extras_bytes} + header_.key_bytes;
  if (!FillTo(size, input)) return Say(Event::kNeedInput);
  request_ = ClientRequest();
  FillBinaryRequest(header_, held_, request_);
  if (too_large_) {
    refused_key_ = RefusedKey();
    Rest();
    return RefuseBinary(BinaryStatus::kTooLarge, request_.value_bytes);
  }
  if (request_.has_value()) return BeginValue();
  Rest();
  if (request_.operation == Operation::kQuit) Close();
  return Say(Event::kRequest);
}

RequestReader::StateResult RequestReader::BeginValue() {
  left_ = request_.value_bytes;
  end_seen_ = 0;
  end_good_ = true;
  state_ = State::kValue;
  return Say(Event::kRequest);
}

RequestReader::StateResult RequestReader::ReadValue(std::string_view& input) {
  if (left_ > 0) {
    if (input.empty()) return Say(Event::kNeedInput);
    value_ = input.substr(0, left_);
    input.remove_prefix(value_.size());
    left_ -= value_.size();
    return Say(Event::kValue);
  }
  if (!binary_) {
    state_ = State::kValueEnd;
    return GoOn();
  }
  Rest();
  return Say(Event::kValueEnd);
}

// Two bytes, whatever they are: memcached reads the next command behind.
RequestReader::StateResult RequestReader::ReadValueEnd(
    std::string_view& input) {
  while (end_seen_ < kEndOfLine.size()) {
    if (input.empty()) return Say(Event::kNeedInput);
    if (input[0] != kEndOfLine[end_seen_]) end_good_ = false;
    input.remove_prefix(1);
    ++end_seen_;
  }
  Rest();
  if (end_good_) return Say(Event::kValueEnd);
  const bool silent =
      request_.style.quiet && request_.style.dialect == Dialect::kText;
  error_ = silent ? "" : "CLIENT_ERROR bad data chunk\r\n";
  return Say(Event::kValueBad);
}

RequestReader::StateResult RequestReader::Swallow(std::string_view& input) {
  const std::uint64_t taken = std::min<std::uint64_t>(left_, input.size());
  input.remove_prefix(taken);
  left_ -= taken;
  if (left_ > 0) return Say(Event::kNeedInput);
  Rest();
  return Say(Event::kError);
}

}  // namespace ers::proxy
