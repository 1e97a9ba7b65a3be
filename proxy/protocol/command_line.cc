// The classic text commands, and which family a line belongs to.
#include "protocol/command_line.h"

#include <cstdint>
#include <string>

#include "protocol/exptime.h"

namespace ers::proxy {
namespace {

constexpr std::string_view kBadExptime =
    "CLIENT_ERROR invalid exptime argument";

bool SaysNoreply(const Words& words) { return words.last() == "noreply"; }

// An error that a noreply hides. It is read off the line before anything else,
// so that a client that reads no replies gets none.
Parsed ErrorFor(const ClientRequest& request, std::string_view text,
                std::uint64_t swallow = 0) {
  Parsed parsed = Error(text, swallow);
  parsed.silent = request.style.quiet;
  return parsed;
}

bool TakeKey(std::string_view word, ClientRequest& request) {
  if (word.size() > kMaxKeyBytes) return false;
  request.key = word;
  return true;
}

// set KEY FLAGS EXPTIME BYTES [noreply], and with a CAS behind the bytes.
Parsed ParseStore(const Words& words, bool with_cas, StoreMode mode,
                  const Limits& limits, ClientRequest& request) {
  const std::size_t least = with_cas ? 6 : 5;
  if (words.size() < least || words.size() > least + 1) {
    return Error(kNoSuchCommand);
  }
  request.operation = Operation::kStore;
  request.mode = mode;
  request.style.quiet = SaysNoreply(words);
  std::int64_t exptime = 0;
  std::uint64_t cas = 0;
  if (!TakeKey(words[1], request) ||
      !ParseNumber(words[2], request.client_flags) ||
      !ParseExptime(words[3], exptime) ||
      !ParseLength(words[4], request.value_bytes) ||
      (with_cas && !ParseNumber(words[5], cas))) {
    return ErrorFor(request, kBadFormat);
  }
  if (with_cas) request.compare_cas = cas;
  if (request.value_bytes > limits.max_value_bytes) {
    return ErrorFor(request, kTooLargeError,
                    request.value_bytes + kLineEndBytes);
  }
  request.exptime = exptime;
  return {};
}

// get KEY*, and gat EXPTIME KEY*.
Parsed ParseGet(std::string_view line, bool touches, bool with_cas,
                ClientRequest& request) {
  TakeWord(line);
  request.operation = Operation::kGet;
  request.want_value = true;
  request.style.with_cas = with_cas;
  std::string_view rest = line;
  const std::string_view first = TakeWord(rest);
  if (first.empty()) return Error(kNoSuchCommand);
  if (touches) {
    std::int64_t exptime = 0;
    if (!ParseExptime(first, exptime)) return Error(kBadExptime);
    request.exptime = exptime;
    line = rest;
  }
  Parsed parsed;
  parsed.kind = Parsed::Kind::kGets;
  parsed.keys = line;
  return parsed;
}

// delete KEY [0] [noreply]; the 0 was a time once.
Parsed ParseDelete(const Words& words, ClientRequest& request) {
  if (words.size() < 2 || words.size() > 4) return Error(kNoSuchCommand);
  request.operation = Operation::kDelete;
  if (words.size() > 2) {
    const bool zero = words[2] == "0";
    request.style.quiet = SaysNoreply(words);
    const bool valid = words.size() == 3 ? zero || request.style.quiet
                                         : zero && request.style.quiet;
    if (!valid) {
      return ErrorFor(request,
                      "CLIENT_ERROR bad command line format.  "
                      "Usage: delete <key> [noreply]");
    }
  }
  if (!TakeKey(words[1], request)) return ErrorFor(request, kBadFormat);
  return {};
}

Parsed ParseArithmetic(const Words& words, bool decrement,
                       ClientRequest& request) {
  if (words.size() != 3 && words.size() != 4) return Error(kNoSuchCommand);
  request.operation = Operation::kArithmetic;
  request.decrement = decrement;
  request.want_value = true;
  request.style.quiet = SaysNoreply(words);
  if (!TakeKey(words[1], request)) return ErrorFor(request, kBadFormat);
  if (!ParseNumber(words[2], request.delta)) {
    return ErrorFor(request, "CLIENT_ERROR invalid numeric delta argument");
  }
  return {};
}

Parsed ParseTouch(const Words& words, ClientRequest& request) {
  if (words.size() != 3 && words.size() != 4) return Error(kNoSuchCommand);
  request.operation = Operation::kTouch;
  request.style.quiet = SaysNoreply(words);
  if (!TakeKey(words[1], request)) return ErrorFor(request, kBadFormat);
  std::int64_t exptime = 0;
  if (!ParseExptime(words[2], exptime)) return ErrorFor(request, kBadExptime);
  request.exptime = exptime;
  return {};
}

Parsed ParseFlush(const Words& words, ClientRequest& request) {
  if (words.size() > 3) return Error(kNoSuchCommand);
  request.operation = Operation::kFlush;
  request.style.quiet = SaysNoreply(words);
  if (words.size() != (request.style.quiet ? 2 : 1)) {
    std::int64_t delay = 0;
    if (!ParseExptime(words[1], delay)) return ErrorFor(request, kBadExptime);
    request.exptime = delay;
  }
  return {};
}

Parsed ParseVerbosity(const Words& words, ClientRequest& request) {
  if (words.size() != 2 && words.size() != 3) return Error(kNoSuchCommand);
  request.operation = Operation::kVerbosity;
  request.style.quiet = SaysNoreply(words);
  if (!ParseNumber(words[1], request.level)) {
    return ErrorFor(request, kBadFormat);
  }
  return {};
}

Parsed ParseStats(const Words& words, ClientRequest& request) {
  request.operation = Operation::kStats;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (i > 1) request.argument += ' ';
    request.argument += words[i];
  }
  return {};
}

// Commands about one memcached's own memory, threads or log: a proxy has no
// such thing to change, and says so.
bool IsAboutOneServer(std::string_view command) {
  for (const std::string_view name :
       {"cache_memlimit", "extstore", "lru", "lru_crawler", "refresh_certs",
        "shutdown", "slabs", "watch"}) {
    if (command == name) return true;
  }
  return false;
}

// What a browser or an open HTTP proxy sends; the words are no command of ours.
// memcached reads the last word, unless the first begins like a command.
bool IsHttp(const Words& words) {
  const std::string_view command = words[0];
  constexpr std::string_view kCommandsBegin = "acdgist";
  return command.size() > 1 &&
         kCommandsBegin.find(command[0]) == std::string_view::npos &&
         words.last().starts_with("HTTP/");
}

// Where the command is one of those that are followed by a value.
bool ParseAnyStore(const Words& words, const Limits& limits,
                   ClientRequest& request, Parsed& parsed) {
  struct Named {
    std::string_view name;
    StoreMode mode;
    bool with_cas;
  };
  constexpr Named kAll[] = {
      {"set", StoreMode::kSet, false},
      {"add", StoreMode::kAdd, false},
      {"replace", StoreMode::kReplace, false},
      {"append", StoreMode::kAppend, false},
      {"prepend", StoreMode::kPrepend, false},
      {"cas", StoreMode::kSet, true},
  };
  for (const Named& named : kAll) {
    if (words[0] == named.name) {
      parsed = ParseStore(words, named.with_cas, named.mode, limits, request);
      return true;
    }
  }
  return false;
}

}  // namespace

bool ParseLength(std::string_view word, std::uint64_t& length) {
  std::int64_t number = 0;
  if (!ParseNumber(word, number) || number < 0) return false;
  length = static_cast<std::uint64_t>(number);
  return length <= kMaxValueLength;
}

bool IsGetLine(std::string_view line) {
  const std::string_view command = TakeWord(line);
  return !line.empty() &&
         (command == "get" || command == "gets" || command == "gat" ||
          command == "gats" || command == "bget");
}

Parsed ParseCommandLine(std::string_view line, const Limits& limits,
                        ClientRequest& request) {
  const Words words(line);
  const std::string_view command = words[0];
  if (command.size() == 2 && command[0] == 'm') {
    return ParseMeta(words, limits, request);
  }
  if (command == "ers") return ParseErs(line, words, limits, request);
  if (command == "get" || command == "bget") {
    return ParseGet(line, false, false, request);
  }
  if (command == "gets") return ParseGet(line, false, true, request);
  if (command == "gat") return ParseGet(line, true, false, request);
  if (command == "gats") return ParseGet(line, true, true, request);
  Parsed parsed;
  if (ParseAnyStore(words, limits, request, parsed)) return parsed;
  if (command == "delete") return ParseDelete(words, request);
  if (command == "incr") return ParseArithmetic(words, false, request);
  if (command == "decr") return ParseArithmetic(words, true, request);
  if (command == "touch") return ParseTouch(words, request);
  if (command == "flush_all") return ParseFlush(words, request);
  if (command == "verbosity") return ParseVerbosity(words, request);
  if (command == "stats") return ParseStats(words, request);
  if (command == "version") {
    request.operation = Operation::kVersion;
    return {};
  }
  if (command == "quit") {
    request.operation = Operation::kQuit;
    return {};
  }
  if (IsAboutOneServer(command)) {
    request.style.quiet = SaysNoreply(words);
    return ErrorFor(request, "CLIENT_ERROR not supported by this proxy");
  }
  if (IsHttp(words)) {
    parsed.kind = Parsed::Kind::kClose;
    return parsed;
  }
  return Error(kNoSuchCommand);
}

}  // namespace ers::proxy
