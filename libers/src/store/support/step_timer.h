// StepTimer: what one operation spends its time on.
#ifndef ERS_STORE_SUPPORT_STEP_TIMER_H_
#define ERS_STORE_SUPPORT_STEP_TIMER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "net/runtime.h"

namespace ers::store {

// enumerator, name, what it is. The first ones and the last are those of a
// server around the store.
#define ERS_STORE_STEPS(X)                                                    \
  X(kParse, "parse", "the request is read from its bytes")                    \
  X(kWait, "wait", "requests before it are done that it must not overtake")   \
  X(kReceive, "receive", "the client sends the value")                        \
  X(kManifest, "manifest", "the servers answer what they have under the key") \
  X(kRead, "read", "blocks are read")                                         \
  X(kHedge, "hedge", "blocks are read in place of those of a late server")    \
  X(kDecode, "decode", "missing blocks are computed from others")             \
  X(kSplit, "split", "the value is cut into blocks, and checksums are made")  \
  X(kParity, "parity", "parity is computed")                                  \
  X(kDistribute, "distribute", "blocks are stored on the servers")            \
  X(kCommit, "commit", "the servers take the new manifest")                   \
  X(kReply, "reply",                                                          \
    "answers before it are ready, and it is handed to the client")

enum class RequestStep : std::uint8_t {
#define ERS_STORE_STEP(name, text, help) name,
  ERS_STORE_STEPS(ERS_STORE_STEP)
#undef ERS_STORE_STEP
};

struct StepInfo {
  std::string_view name;
  std::string_view help;
};

inline constexpr std::array kStepTable = {
#define ERS_STORE_STEP(name, text, help) StepInfo{text, help},
    ERS_STORE_STEPS(ERS_STORE_STEP)
#undef ERS_STORE_STEP
};
inline constexpr std::size_t kSteps = kStepTable.size();

// The times in which steps were under way, in the order of their ends. A long
// value has a step for each of its pieces: only the first times are kept.
struct StepPeriods {
  struct Period {
    RequestStep step;
    net::TimePoint begin;
    net::TimePoint end;
  };
  static constexpr std::size_t kMost = 100;

  std::vector<Period> list;
  std::size_t left_out = 0;

  void Add(const Period& period) {
    if (list.size() < kMost) {
      list.push_back(period);
    } else {
      ++left_out;
    }
  }
};

// Steps run side by side, and so may what one of them is made of: its time is
// that during which any of it was under way. Loop thread only.
class StepTimer {
 public:
  explicit StepTimer(net::Runtime& runtime) : runtime_(runtime) {}

  // Where to note when steps were under way, from now on; outlives this.
  void NotePeriods(StepPeriods* periods) { periods_ = periods; }

  void Begin(RequestStep step) {
    Span& span = spans_[static_cast<std::size_t>(step)];
    if (span.open++ == 0) span.since = runtime_.Now();
    span.seen = true;
  }
  void End(RequestStep step) {
    Span& span = spans_[static_cast<std::size_t>(step)];
    if (--span.open == 0) Add(step, span.since, runtime_.Now());
  }
  // In place of both, for what is over.
  void Add(RequestStep step, net::TimePoint begin, net::TimePoint end) {
    Span& span = spans_[static_cast<std::size_t>(step)];
    span.spent += end - begin;
    span.seen = true;
    if (periods_ != nullptr) periods_->Add({step, begin, end});
  }

  // Whether it was begun.
  [[nodiscard]] bool seen(RequestStep step) const {
    return spans_[static_cast<std::size_t>(step)].seen;
  }
  // Without what is under way.
  [[nodiscard]] net::Duration spent(RequestStep step) const {
    return spans_[static_cast<std::size_t>(step)].spent;
  }

 private:
  struct Span {
    int open = 0;
    bool seen = false;
    net::TimePoint since;
    net::Duration spent{};
  };

  net::Runtime& runtime_;
  std::array<Span, kSteps> spans_;
  StepPeriods* periods_ = nullptr;  // null: none are noted
};

// The time until it goes is that of a step. Null: of none.
class InStep {
 public:
  InStep(StepTimer* timer, RequestStep step) : timer_(timer), step_(step) {
    if (timer_ != nullptr) timer_->Begin(step_);
  }
  ~InStep() {
    if (timer_ != nullptr) timer_->End(step_);
  }
  InStep(const InStep&) = delete;
  InStep& operator=(const InStep&) = delete;

 private:
  StepTimer* const timer_;
  const RequestStep step_;
};

}  // namespace ers::store

#endif  // ERS_STORE_SUPPORT_STEP_TIMER_H_
