// SilenceWatch: when silence makes a server a dead one.
#ifndef ERS_NET_SILENCE_WATCH_H_
#define ERS_NET_SILENCE_WATCH_H_

#include <functional>
#include <memory>
#include <optional>

#include "net/in_flight.h"
#include "net/latency.h"
#include "net/runtime.h"
#include "net/silence_probe.h"

namespace ers::net {

// Watches one connection at a time. A server is silent while a reply is
// expected and no byte comes. Much longer than its replies take as a rule, and
// it is asked over another connection; as long again, and it is dead.
//
//   Start (the connection is up) -> OnSent, OnHeard ... -> Stop (it is gone)
//
// A request with a time of its own may be silent for as long as it likes. Time
// in which this thread was away is no silence. Loop thread only.
class SilenceWatch {
 public:
  struct Terms {
    Duration least;  // silence before a server is asked; 0: it never is
    Duration most;   // as long as that it never is, either
  };
  // What the link does for it. All may end in Stop.
  struct Link {
    // May the server be suspected? It was silent since then.
    std::function<bool(TimePoint since)> may_suspect;
    std::function<void()> read;  // what has come and was not read yet
    std::function<void()> dead;
  };

  // All outlive it. `endpoint` as it is when a server is asked.
  SilenceWatch(Runtime& runtime, const Endpoint& endpoint,
               const InFlight& in_flight, const Latency& latency, Terms terms,
               Link link);

  void Start();
  void Stop();
  // Something is in flight now.
  void OnSent() {
    if (!ticking_) Tick();
  }
  // A byte has come, or gone where none would before.
  void OnHeard() { heard_ = true; }

  void OnAnswer(TimePoint now) { last_answer_ = now; }

  [[nodiscard]] TimePoint last_answer() const { return last_answer_; }
  // For half of the least silence by now.
  [[nodiscard]] bool IsSilent() const;

 private:
  void Tick();
  void OnTick();
  void NoteHeard();
  [[nodiscard]] std::optional<TimePoint> Since() const;
  [[nodiscard]] bool MaySuspect(TimePoint since) const;
  [[nodiscard]] Duration Limit() const;
  void Check();
  void OnProbeEnd(bool answered);

  Runtime& runtime_;
  const Endpoint& endpoint_;
  const InFlight& in_flight_;
  const Latency& latency_;
  const Terms terms_;
  const Link link_;

  const std::unique_ptr<Timer> timer_;
  bool up_ = false;
  bool ticking_ = false;
  TimePoint due_;  // the next tick
  bool heard_ = false;
  TimePoint heard_until_;
  TimePoint last_answer_;
  TimePoint asked_at_;
  std::unique_ptr<SilenceProbe> probe_;  // null: none is under way
};

}  // namespace ers::net

#endif  // ERS_NET_SILENCE_WATCH_H_
