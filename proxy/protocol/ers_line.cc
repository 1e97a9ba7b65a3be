// The commands that memcached does not have: ers transition, update, stat, list
// and trace.
#include <cstdint>
#include <string>

#include "protocol/command_line.h"

namespace ers::proxy {
namespace {

Parsed ParseTransition(const Words& words, Request& request) {
  request.verb = Verb::kTransition;
  if (words.size() != 4) {
    return Error(
        "CLIENT_ERROR usage: ers transition <key> narrow|wide|<scheme>");
  }
  request.argument = words[3];
  return {};
}

Parsed ParseUpdate(const Words& words, const Limits& limits, Request& request) {
  request.verb = Verb::kUpdate;
  const bool noreply = words[5] == "noreply";
  if (words.size() != 5 && !(words.size() == 6 && noreply)) {
    return Error(
        "CLIENT_ERROR usage: ers update <key> <offset> <bytes> [noreply]");
  }
  request.style.quiet = noreply;
  Parsed parsed;
  if (!ParseNumber(words[3], request.offset) ||
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

Parsed ParseInspect(const Words& words, Request& request) {
  request.verb = Verb::kInspect;
  if (words.size() != 3) return Error("CLIENT_ERROR usage: ers stat <key>");
  return {};
}

Parsed ParseList(const Words& words, Request& request) {
  request.verb = Verb::kList;
  const bool transitioning = words[2] == "transitioning";
  const bool narrow = words[2] == "narrow";
  const bool wide = words[2] == "wide";
  if (words.size() > 4 || (!transitioning && !narrow && !wide)) {
    return Error(
        "CLIENT_ERROR usage: ers list transitioning|narrow|wide [prefix]");
  }
  request.listed = transitioning ? Listed::kTransitioning
                   : narrow      ? Listed::kNarrow
                                 : Listed::kWide;
  return {};
}

// `line` begins with "ers trace".
Parsed ParseTrace(std::string_view line, const Limits& limits,
                  Request& request) {
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
                Request& request) {
  const std::string_view command = words[1];
  if (command == "trace") return ParseTrace(line, limits, request);
  const bool lists = command == "list";
  const std::string_view key = words[lists ? 3 : 2];
  if (key.size() > kMaxKeyBytes) return Error(kBadFormat);
  request.key = key;
  if (command == "transition") return ParseTransition(words, request);
  if (command == "update") return ParseUpdate(words, limits, request);
  if (command == "stat") return ParseInspect(words, request);
  if (lists) return ParseList(words, request);
  return Error("CLIENT_ERROR usage: ers transition|update|stat|list|trace ...");
}

}  // namespace ers::proxy
