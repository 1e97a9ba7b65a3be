// Commands and results: by which requests are counted.
#ifndef ERS_PROXY_METRICS_COMMANDS_H_
#define ERS_PROXY_METRICS_COMMANDS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/reply.h"
#include "protocol/request.h"

namespace ers::proxy {

// As clients write them; a binary command is counted as the text one that does
// the same. Each key of a get line counts. The result is that of one that is
// done.
#define ERS_PROXY_COMMANDS(X)              \
  X(kGet, "get", kHit)                     \
  X(kGat, "gat", kHit)                     \
  X(kSet, "set", kStored)                  \
  X(kAdd, "add", kStored)                  \
  X(kReplace, "replace", kStored)          \
  X(kAppend, "append", kStored)            \
  X(kPrepend, "prepend", kStored)          \
  X(kCas, "cas", kStored)                  \
  X(kDelete, "delete", kHit)               \
  X(kIncr, "incr", kHit)                   \
  X(kDecr, "decr", kHit)                   \
  X(kTouch, "touch", kHit)                 \
  X(kMg, "mg", kHit)                       \
  X(kMs, "ms", kStored)                    \
  X(kMd, "md", kHit)                       \
  X(kMa, "ma", kHit)                       \
  X(kMe, "me", kHit)                       \
  X(kMn, "mn", kOk)                        \
  X(kFlushAll, "flush_all", kOk)           \
  X(kStats, "stats", kOk)                  \
  X(kVersion, "version", kOk)              \
  X(kVerbosity, "verbosity", kOk)          \
  X(kNoop, "noop", kOk)                    \
  X(kQuit, "quit", kOk)                    \
  X(kErsTransition, "ers_transition", kOk) \
  X(kErsUpdate, "ers_update", kOk)         \
  X(kErsStat, "ers_stat", kOk)             \
  X(kErsList, "ers_list", kOk)             \
  X(kInvalid, "invalid", kOk) /* what is no request, or refused by its line */

enum class Command : std::uint8_t {
#define ERS_PROXY_ENUMERATOR(name, text, done) name,
  ERS_PROXY_COMMANDS(ERS_PROXY_ENUMERATOR)
#undef ERS_PROXY_ENUMERATOR
      kEnd,  // nothing that is counted
};

inline constexpr std::array kCommandNames = {
#define ERS_PROXY_NAME(name, text, done) std::string_view(text),
    ERS_PROXY_COMMANDS(ERS_PROXY_NAME)
#undef ERS_PROXY_NAME
};
inline constexpr std::size_t kCommands = kCommandNames.size();

#define ERS_PROXY_RESULTS(X)        \
  X(kOk, "ok")                      \
  X(kHit, "hit")                    \
  X(kMiss, "miss")                  \
  X(kStored, "stored")              \
  X(kCreated, "created")            \
  X(kNotStored, "not_stored")       \
  X(kExists, "exists")              \
  X(kNotNumber, "not_number")       \
  X(kAlreadyThere, "already_there") \
  X(kTooLarge, "too_large")         \
  X(kOutOfMemory, "out_of_memory")  \
  X(kClientError, "client_error")   \
  X(kServerError, "server_error")

enum class RequestResult : std::uint8_t {
#define ERS_PROXY_ENUMERATOR(name, text) name,
  ERS_PROXY_RESULTS(ERS_PROXY_ENUMERATOR)
#undef ERS_PROXY_ENUMERATOR
};

inline constexpr std::array kResultNames = {
#define ERS_PROXY_NAME(name, text) std::string_view(text),
    ERS_PROXY_RESULTS(ERS_PROXY_NAME)
#undef ERS_PROXY_NAME
};
inline constexpr std::size_t kResults = kResultNames.size();

inline constexpr std::array kDoneResults = {
#define ERS_PROXY_RESULT(name, text, done) RequestResult::done,
    ERS_PROXY_COMMANDS(ERS_PROXY_RESULT)
#undef ERS_PROXY_RESULT
};

// kEnd: the end of a get line, whose keys were counted.
Command CommandOf(const ClientRequest& request);
// `created`: a miss that left an item behind.
RequestResult ResultOf(Command command, ReplyStatus outcome, bool created);

}  // namespace ers::proxy

#endif  // ERS_PROXY_METRICS_COMMANDS_H_
