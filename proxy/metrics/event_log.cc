#include "metrics/event_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "shared/log.h"
#include "shared/plain_text.h"

namespace ers::proxy {
namespace {

// Keys of clients may stand in it, and whatever a client calls itself.
std::string OneLineOf(std::string_view text, std::size_t max_bytes) {
  std::string line;
  AppendOneLine(text.substr(0, std::min(text.size(), max_bytes)), line);
  return line;
}

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

EventLog& EventLog::OfProcess() {
  static EventLog log;
  return log;
}

void EventLog::Add(EventKind kind, LogLevel level, std::string_view text,
                   const Asker& asker) {
  Event event;
  event.kind = kind;
  event.level = level;
  event.text = OneLineOf(text, kMaxText);
  event.asker.address = asker.address;
  event.asker.agent = OneLineOf(asker.agent, kMaxAgent);
  std::string line(text);
  if (!asker.address.empty()) line += ", by " + asker.address;
  if (!asker.agent.empty()) line += fmt::format(" ({})", event.asker.agent);
  LogLine(level, line);
  Keep(std::move(event));
}

void EventLog::AddLogged(EventKind kind, LogLevel level,
                         std::string_view text) {
  Event event;
  event.kind = kind;
  event.level = level;
  event.text = OneLineOf(text, kMaxText);
  Keep(std::move(event));
}

void EventLog::Keep(Event event) {
  const MutexLock lock(mutex_);
  event.id = ++last_id_;
  event.time_ms = NowMs();
  events_.push_back(std::move(event));
  if (events_.size() > kMaxEvents) events_.pop_front();
}

std::vector<Event> EventLog::Last() const {
  const MutexLock lock(mutex_);
  return {events_.rbegin(), events_.rend()};
}

std::uint64_t EventLog::last_id() const {
  const MutexLock lock(mutex_);
  return last_id_;
}

}  // namespace ers::proxy
