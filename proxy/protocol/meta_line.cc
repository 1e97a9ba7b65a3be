// The meta commands.
#include <cstdint>
#include <string>

#include "protocol/command_line.h"
#include "protocol/exptime.h"
#include "shared/base64.h"

namespace ers::proxy {
namespace {

// Words of a line, command and key counted.
constexpr std::size_t kMaxMetaWords = 19;
// With the O.
constexpr std::size_t kMaxOpaqueWord = 32;
constexpr std::string_view kBadToken =
    "CLIENT_ERROR bad token in command line format";
constexpr std::string_view kOpaqueTooLong =
    "CLIENT_ERROR opaque token too long";

// The flags of one line. memcached reads all of them before it checks what they
// mean together, and of several errors it reports the last; an unknown or
// repeated flag ends the reading.
class FlagReader {
 public:
  FlagReader(const Words& words, std::size_t first, ClientRequest& request)
      : words_(words), first_(first), request_(request) {}

  // Empty, or the error.
  std::string_view Read();

  [[nodiscard]] char mode() const { return mode_; }
  [[nodiscard]] bool opaque_too_long() const { return opaque_too_long_; }
  [[nodiscard]] bool invalidate() const { return invalidate_; }

 private:
  void ReadOne(char flag, std::string_view token);
  static bool IsKnown(char flag);

  void Cas(std::string_view token, std::optional<std::uint64_t>& into) {
    std::uint64_t number = 0;
    if (!ParseNumber(token, number)) return Fail(kBadToken);
    into = number;
  }
  void Exptime(std::string_view token, std::optional<std::int64_t>& into) {
    std::int64_t number = 0;
    if (!ParseExptime(token, number)) return Fail(kBadToken);
    into = number;
  }
  void Fail(std::string_view error) {
    failed_ = true;
    error_ = error;
  }

  const Words& words_;
  std::size_t first_;
  ClientRequest& request_;
  bool failed_ = false;
  std::string_view error_ = kBadFormat;
  char mode_ = '\0';
  bool opaque_too_long_ = false;
  bool invalidate_ = false;
};

bool FlagReader::IsKnown(char flag) {
  constexpr std::string_view kKnown = "bcCDEfFhIJklLMNOPqRstTuv";
  return kKnown.find(flag) != std::string_view::npos;
}

std::string_view FlagReader::Read() {
  std::string seen;
  for (std::size_t i = first_; i < words_.size(); ++i) {
    const char flag = words_[i][0];
    // Bytes outside of ASCII are reported as duplicates, as memcached does.
    const bool ascii = static_cast<unsigned char>(flag) < 127;
    if (!ascii || seen.find(flag) != std::string::npos) {
      return "CLIENT_ERROR duplicate flag";
    }
    seen += flag;
    if (!IsKnown(flag)) return "CLIENT_ERROR invalid flag";
    ReadOne(flag, words_[i].substr(1));
  }
  return failed_ ? error_ : std::string_view();
}

void FlagReader::ReadOne(char flag, std::string_view token) {
  ReplyStyle& style = request_.style;
  switch (flag) {
    case 'b':
      style.key_is_base64 = true;
      if (!DecodeBase64(words_[1], request_.key)) {
        Fail("CLIENT_ERROR error decoding key");
      }
      break;
    case 'N':
      request_.time_flags += flag;
      return Exptime(token, request_.vivify);
    case 'T':
      request_.time_flags += flag;
      return Exptime(token, request_.exptime);
    case 'R':
      request_.time_flags += flag;
      return Exptime(token, request_.recache);
    case 'C':
      return Cas(token, request_.compare_cas);
    case 'E':
      return Cas(token, request_.new_cas);
    case 'F':
      // memcached has no text of its own for this one.
      if (!ParseNumber(token, request_.client_flags)) failed_ = true;
      break;
    case 'J':
      if (!ParseNumber(token, request_.initial)) {
        Fail("CLIENT_ERROR invalid numeric initial value");
      }
      break;
    case 'D':
      if (!ParseNumber(token, request_.delta)) {
        Fail("CLIENT_ERROR invalid numeric delta value");
      }
      break;
    case 'M':
      if (token.size() != 1) {
        return Fail("CLIENT_ERROR incorrect length for M token");
      }
      mode_ = token[0];
      break;
    case 'I':
      invalidate_ = true;
      break;
    case 'O':
      opaque_too_long_ = token.size() + 1 > kMaxOpaqueWord;
      if (!opaque_too_long_) style.opaque = token;
      style.return_flags += flag;
      break;
    case 'q':
      style.quiet = true;
      break;
    case 'u':
      request_.no_bump = true;
      break;
    case 'v':
      request_.want_value = true;
      break;
    case 'P':  // hints for a proxy of another kind
    case 'L':
      break;
    case 't':
      request_.time_flags += flag;
      [[fallthrough]];
    default:  // "cfhkls"
      style.return_flags += flag;
      break;
  }
}

Parsed ParseMetaGet(const Words& words, ClientRequest& request) {
  request.operation = Operation::kGet;
  if (words.size() > kMaxMetaWords) {
    return Error("CLIENT_ERROR options flags are too long");
  }
  FlagReader flags(words, 2, request);
  if (const auto error = flags.Read(); !error.empty()) return Error(error);
  if (flags.opaque_too_long()) return Error(kOpaqueTooLong);
  request.compare_cas.reset();
  return {};
}

// The M flag of ms. False where there is no such mode.
bool ReadStoreMode(char letter, StoreMode& mode) {
  switch (letter) {
    case '\0':
    case 'S':
      mode = StoreMode::kSet;
      return true;
    case 'E':
      mode = StoreMode::kAdd;
      return true;
    case 'A':
      mode = StoreMode::kAppend;
      return true;
    case 'P':
      mode = StoreMode::kPrepend;
      return true;
    case 'R':
      mode = StoreMode::kReplace;
      return true;
    default:
      return false;
  }
}

// A known flag without a meaning for the command is read, checked and
// forgotten, as memcached does. What C and I mean depends on the mode.
void SetCompare(bool invalidate, ClientRequest& request) {
  switch (request.mode) {
    case StoreMode::kSet:
    case StoreMode::kReplace:
      if (!request.compare_cas) return;
      request.mode = StoreMode::kSet;
      request.invalidate = invalidate;
      return;
    case StoreMode::kAdd:
      request.compare_cas.reset();
      return;
    case StoreMode::kAppend:
    case StoreMode::kPrepend:
      if (request.compare_cas == 0) request.compare_cas.reset();
      return;
  }
}

Parsed ParseMetaStore(const Words& words, const Limits& limits,
                      ClientRequest& request) {
  request.operation = Operation::kStore;
  if (words.size() < 3) return Error(kBadFormat);
  if (words.size() > kMaxMetaWords) {
    return Error("CLIENT_ERROR options flags too long");
  }
  if (!ParseLength(words[2], request.value_bytes)) return Error(kBadFormat);
  // From here on it is known where the next command begins.
  const std::uint64_t swallow = request.value_bytes + kLineEndBytes;
  FlagReader flags(words, 3, request);
  if (const auto error = flags.Read(); !error.empty()) {
    return Error(error, swallow);
  }
  if (!ReadStoreMode(flags.mode(), request.mode)) {
    return Error("CLIENT_ERROR invalid mode for ms M token", swallow);
  }
  if (flags.opaque_too_long()) return Error(kOpaqueTooLong, swallow);
  if (request.value_bytes > limits.max_value_bytes) {
    return Error(kTooLargeError, swallow);
  }
  SetCompare(flags.invalidate(), request);
  request.want_value = false;
  request.vivify.reset();
  request.recache.reset();
  return {};
}

// md and ma report most errors in one sentence.
Parsed ParseMetaChange(const Words& words, bool arithmetic,
                       ClientRequest& request) {
  request.operation = arithmetic ? Operation::kArithmetic : Operation::kDelete;
  if (words.size() > kMaxMetaWords) {
    return Error("CLIENT_ERROR options flags too long");
  }
  FlagReader flags(words, 2, request);
  if (!flags.Read().empty()) {
    return Error("CLIENT_ERROR invalid or duplicate flag");
  }
  if (arithmetic) {
    constexpr std::string_view kModes = "I+D-";
    const std::size_t mode =
        flags.mode() == '\0' ? 0 : kModes.find(flags.mode());
    if (mode == std::string_view::npos) {
      return Error("CLIENT_ERROR invalid mode for ma M token");
    }
    request.decrement = mode >= 2;
    if (request.compare_cas == 0) request.compare_cas.reset();
  } else {
    request.invalidate = flags.invalidate();
    // T is for stale items only.
    if (!request.invalidate) request.exptime.reset();
    request.vivify.reset();
    request.want_value = false;
  }
  if (flags.opaque_too_long()) return Error(kOpaqueTooLong);
  request.recache.reset();
  return {};
}

Parsed ParseMetaDebug(const Words& words, ClientRequest& request) {
  request.operation = Operation::kDebug;
  if (words[2] == "b") {
    request.style.key_is_base64 = true;
    if (!DecodeBase64(words[1], request.key)) return Error(kBadFormat);
  }
  return {};
}

}  // namespace

Parsed ParseMeta(const Words& words, const Limits& limits,
                 ClientRequest& request) {
  request.style.dialect = Dialect::kMeta;
  const char command = words[0][1];
  if (command == 'n') {
    request.operation = Operation::kNoop;
    return {};
  }
  if (std::string_view("gsdae").find(command) == std::string_view::npos) {
    return Error(kNoSuchCommand);
  }
  if (words.size() < 2) {
    return Error(command == 'e' ? kBadFormat : kNoSuchCommand);
  }
  if (words[1].size() > kMaxKeyBytes) return Error(kBadFormat);
  request.key = words[1];
  switch (command) {
    case 'g':
      return ParseMetaGet(words, request);
    case 's':
      return ParseMetaStore(words, limits, request);
    case 'd':
      return ParseMetaChange(words, /*arithmetic=*/false, request);
    case 'a':
      return ParseMetaChange(words, /*arithmetic=*/true, request);
    default:
      return ParseMetaDebug(words, request);
  }
}

}  // namespace ers::proxy
