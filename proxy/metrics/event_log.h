// EventLog: what happened to the cluster and to this daemon, and what was asked
// of it: the last events, for those that did not read the log.
#ifndef ERS_PROXY_METRICS_EVENT_LOG_H_
#define ERS_PROXY_METRICS_EVENT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "ers/options.h"

namespace ers::proxy {

enum class EventKind : std::uint8_t {
  kDaemon,
  kView,    // which servers are in
  kServer,  // what was seen of one
  kJob,
  kPolicy,
  kGarbage,
};
inline constexpr std::string_view kEventKinds[] = {
    "daemon", "view", "server", "job", "policy", "garbage"};

// The client that asked for something, as it says itself. Empty: none did.
struct Asker {
  std::string address;
  std::string agent;  // User-Agent of HTTP
};

// A plain value.
struct Event {
  std::uint64_t id = 0;      // 1, 2, ... of this process
  std::int64_t time_ms = 0;  // Unix time
  EventKind kind = EventKind::kDaemon;
  LogLevel level = LogLevel::kInfo;
  std::string text;  // one line
  Asker asker;
};

// Any thread.
class EventLog {
 public:
  static constexpr std::size_t kMaxEvents = 256;
  static constexpr std::size_t kMaxText = 1000;  // bytes
  static constexpr std::size_t kMaxAgent = 120;

  // The daemon's, as there is one log.
  static EventLog& OfProcess();

  // Notes it here and writes it to the log.
  void Add(EventKind kind, LogLevel level, std::string_view text,
           const Asker& asker = {});
  // Of what is in the log already.
  void AddLogged(EventKind kind, LogLevel level, std::string_view text);

  // The newest first.
  [[nodiscard]] std::vector<Event> Last() const;
  // Of the newest; 0: there is none.
  [[nodiscard]] std::uint64_t last_id() const;

 private:
  void Keep(Event event);

  mutable Mutex mutex_;
  std::deque<Event> events_ ERS_GUARDED_BY(mutex_);  // the oldest first
  std::uint64_t last_id_ ERS_GUARDED_BY(mutex_) = 0;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_METRICS_EVENT_LOG_H_
