// The commands that memcached does not have: ers transition, update, stat, list
// and trace.
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "protocol/command_line.h"
#include "shared/base64.h"

namespace ers::proxy {
namespace {

// The key, and whether the word at `at` says that it is in base64.
struct Named {
  std::string_view key;
  std::size_t at = 0;
  bool encoded = false;

  Named(const Words& words, std::size_t key_at, std::size_t b_at)
      : key(words[key_at]), at(b_at), encoded(words[b_at] == "b") {}
  // How many words there are up to the `b`, where there is one.
  [[nodiscard]] std::size_t words() const { return at + (encoded ? 1 : 0); }
  [[nodiscard]] Parsed Take(ClientRequest& request) const {
    request.key = key;
    if (encoded && !DecodeBase64(key, request.key)) {
      return Error("CLIENT_ERROR error decoding key");
    }
    if (request.key.size() > kMaxKeyBytes) return Error(kBadFormat);
    return {};
  }
};

Parsed ParseTransition(const Words& words, ClientRequest& request) {
  request.operation = Operation::kTransition;
  const Named named(words, 2, 4);
  if (words.size() != named.words()) {
    return Error(
        "CLIENT_ERROR usage: ers transition <key> "
        "narrow|wide|<data blocks>|<width>,<m>|<scheme> [b]");
  }
  request.argument = words[3];
  return named.Take(request);
}

Parsed ParseUpdate(const Words& words, const Limits& limits,
                   ClientRequest& request) {
  request.operation = Operation::kUpdate;
  const Named named(words, 2, 5);
  const bool noreply = words[named.words()] == "noreply";
  if (words.size() != named.words() + (noreply ? 1 : 0)) {
    return Error(
        "CLIENT_ERROR usage: ers update <key> <offset> <bytes> [b] [noreply]");
  }
  request.style.quiet = noreply;
  Parsed parsed = named.Take(request);
  if (parsed.kind == Parsed::Kind::kError) {
    // Answered as it is.
  } else if (!ParseNumber(words[3], request.offset) ||
             !ParseNumber(words[4], request.value_bytes)) {
    parsed = Error(kBadFormat);
  } else if (request.value_bytes > limits.max_value_bytes) {
    // A length beside which no line end can be counted is no length.
    const std::uint64_t swallow = request.value_bytes + kLineEndBytes;
    parsed = swallow < kLineEndBytes ? Error(kBadFormat)
                                     : Error(kTooLargeError, swallow);
  }
  parsed.silent = parsed.kind == Parsed::Kind::kError && noreply;
  return parsed;
}

Parsed ParseInspect(const Words& words, ClientRequest& request) {
  request.operation = Operation::kInspect;
  const Named named(words, 2, 3);
  if (words.size() != named.words()) {
    return Error("CLIENT_ERROR usage: ers stat <key> [b]");
  }
  return named.Take(request);
}

// False: the word names no list.
bool TakeListed(std::string_view word, ClientRequest& request) {
  constexpr std::pair<std::string_view, Listed> kNames[] = {
      {"transitioning", Listed::kTransitioning},
      {"narrow", Listed::kNarrow},
      {"wide", Listed::kWide},
      {"all", Listed::kAll}};
  for (const auto& [name, listed] : kNames) {
    if (word != name) continue;
    request.listed = listed;
    return true;
  }
  request.listed = Listed::kWidth;
  const char* end = word.data() + word.size();
  const auto [next, error] =
      std::from_chars(word.data(), end, request.listed_blocks);
  return error == std::errc() && next == end && request.listed_blocks > 0;
}

Parsed ParseList(const Words& words, ClientRequest& request) {
  request.operation = Operation::kList;
  const Named named(words, 3, 4);
  if (words.size() > named.words() || !TakeListed(words[2], request)) {
    return Error(
        "CLIENT_ERROR usage: ers list "
        "transitioning|narrow|wide|<data blocks>|all [prefix [b]]");
  }
  return named.Take(request);
}

// `line` begins with "ers trace".
Parsed ParseTrace(std::string_view line, const Limits& limits,
                  ClientRequest& request) {
  TakeWord(line);
  TakeWord(line);
  if (request.traced || line.find_first_not_of(' ') == line.npos) {
    return Error("CLIENT_ERROR usage: ers trace <command line>");
  }
  request.traced = true;
  return ParseCommandLine(line, limits, request);
}

}  // namespace

Parsed ParseErs(std::string_view line, const Words& words, const Limits& limits,
                ClientRequest& request) {
  const std::string_view command = words[1];
  if (command == "trace") return ParseTrace(line, limits, request);
  if (command == "transition") return ParseTransition(words, request);
  if (command == "update") return ParseUpdate(words, limits, request);
  if (command == "stat") return ParseInspect(words, request);
  if (command == "list") return ParseList(words, request);
  return Error("CLIENT_ERROR usage: ers transition|update|stat|list|trace ...");
}

}  // namespace ers::proxy
