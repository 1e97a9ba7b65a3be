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
// the same. Each key of a get line counts.
#define ERS_PROXY_COMMANDS(X)         \
  X(kGet, "get")                      \
  X(kGat, "gat")                      \
  X(kSet, "set")                      \
  X(kAdd, "add")                      \
  X(kReplace, "replace")              \
  X(kAppend, "append")                \
  X(kPrepend, "prepend")              \
  X(kCas, "cas")                      \
  X(kDelete, "delete")                \
  X(kIncr, "incr")                    \
  X(kDecr, "decr")                    \
  X(kTouch, "touch")                  \
  X(kMg, "mg")                        \
  X(kMs, "ms")                        \
  X(kMd, "md")                        \
  X(kMa, "ma")                        \
  X(kMe, "me")                        \
  X(kMn, "mn")                        \
  X(kFlushAll, "flush_all")           \
  X(kStats, "stats")                  \
  X(kVersion, "version")              \
  X(kVerbosity, "verbosity")          \
  X(kNoop, "noop")                    \
  X(kQuit, "quit")                    \
  X(kErsTransition, "ers_transition") \
  X(kErsUpdate, "ers_update")         \
  X(kErsStat, "ers_stat")             \
  X(kErsList, "ers_list")             \
  X(kInvalid, "invalid") /* what is no request, or refused by its line */

enum class Command : std::uint8_t {
#define ERS_PROXY_ENUMERATOR(name, text) name,
  ERS_PROXY_COMMANDS(ERS_PROXY_ENUMERATOR)
#undef ERS_PROXY_ENUMERATOR
      kEnd,  // nothing that is counted
};

inline constexpr std::array kCommandNames = {
#define ERS_PROXY_NAME(name, text) std::string_view(text),
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

// kEnd: the end of a get line, whose keys were counted.
Command CommandOf(const Request& request);
// `created`: a miss that left an item behind.
RequestResult ResultOf(Command command, Outcome outcome, bool created);

}  // namespace ers::proxy

#endif  // ERS_PROXY_METRICS_COMMANDS_H_
