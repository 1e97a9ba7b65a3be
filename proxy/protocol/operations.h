// The operations, each in one line: what is to be known of a new one stands
// here, or the compiler names every place that lacks it.
#ifndef ERS_PROXY_PROTOCOL_OPERATIONS_H_
#define ERS_PROXY_PROTOCOL_OPERATIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ers::proxy {

// How a request is run.
enum class Runs : std::uint8_t {
  kAtOnce,  // without the store
  kGet,     // hands a value out, in pieces
  kStore,   // takes a value in, in pieces
  kChange,  // in the order of its key
  kAlone,   // a change; what comes behind it waits
  kList,    // hands many lines out; what comes behind it waits
  kEnd,     // the end of what others answered
};

// enumerator; has it one key; how it runs; what the text protocol says when it
// is done (empty: more than a word); the flags that meta returns.
#define ERS_PROXY_OPERATIONS(X)                                 \
  /* one key, with or without its value; may touch or vivify */ \
  X(kGet, true, kGet, "", "cfhklOst")                           \
  /* text: all keys of a get line were handed out */            \
  X(kEndOfGets, false, kEnd, "END", "")                         \
  /* a value of `value_bytes` follows */                        \
  X(kStore, true, kStore, "STORED", "ckO")                      \
  /* or, with `invalidate`, mark as stale */                    \
  X(kDelete, true, kChange, "DELETED", "kO")                    \
  /* add `delta` to a decimal number, or subtract it */         \
  X(kArithmetic, true, kChange, "", "cktO")                     \
  /* new `exptime`, no value */                                 \
  X(kTouch, true, kChange, "TOUCHED", "kO")                     \
  /* me: what is known of an item, for a human */               \
  X(kDebug, true, kChange, "", "kO")                            \
  /* `exptime`: the delay, where given */                       \
  X(kFlush, false, kAlone, "OK", "kO")                          \
  /* `argument`: the words behind "stats", one blank between */ \
  X(kStats, false, kAtOnce, "END", "kO")                        \
  X(kVersion, false, kAtOnce, "", "kO")                         \
  /* `level` */                                                 \
  X(kVerbosity, false, kAtOnce, "OK", "kO")                     \
  X(kNoop, false, kAtOnce, "", "kO")                            \
  /* answer it, where its style does, and close */              \
  X(kQuit, false, kAtOnce, "", "kO")                            \
  /* Ours, docs/reference/protocol.md. */                       \
  /* `argument`: a width or a scheme */                         \
  X(kTransition, true, kChange, "END", "kO")                    \
  /* overwrite from `offset` on; `value_bytes` bytes follow */  \
  X(kUpdate, true, kStore, "UPDATED", "kO")                     \
  /* ers stat */                                                \
  X(kInspect, true, kChange, "END", "kO")                       \
  /* `listed`, and keys that begin with `key` */                \
  X(kList, false, kList, "END", "kO")

enum class Operation : std::uint8_t {
#define ERS_PROXY_ENUMERATOR(name, has_key, runs, done, flags) name,
  ERS_PROXY_OPERATIONS(ERS_PROXY_ENUMERATOR)
#undef ERS_PROXY_ENUMERATOR
};

struct OperationInfo {
  bool has_key;
  Runs runs;
  std::string_view done_line;
  std::string_view meta_flags;
};

inline constexpr std::array kOperations = {
#define ERS_PROXY_ROW(name, has_key, runs, done, flags) \
  OperationInfo{has_key, Runs::runs, done, flags},
    ERS_PROXY_OPERATIONS(ERS_PROXY_ROW)
#undef ERS_PROXY_ROW
};

constexpr const OperationInfo& InfoOf(Operation operation) {
  return kOperations[static_cast<std::size_t>(operation)];
}

}  // namespace ers::proxy

#endif  // ERS_PROXY_PROTOCOL_OPERATIONS_H_
