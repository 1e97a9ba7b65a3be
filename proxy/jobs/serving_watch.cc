#include "jobs/serving_watch.h"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <utility>

#include "base/mutex.h"
#include "metrics/event_log.h"
#include "shared/log.h"
#include "store/membership/serving.h"

namespace ers::proxy {
namespace {

constexpr net::Duration kSayEvery = std::chrono::minutes(1);

void LogServers(store::Session& session, const std::vector<std::string>& before,
                const std::vector<std::string>& now) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool was = i < before.size() && !before[i].empty();
    const std::string& name = session.member_name(static_cast<int>(i));
    if (!was && !now[i].empty()) {
      EventLog::OfProcess().Add(
          EventKind::kServer, LogLevel::kWarning,
          fmt::format("{} does not answer: {}", name, now[i]));
    } else if (was && now[i].empty()) {
      EventLog::OfProcess().Add(EventKind::kServer, LogLevel::kInfo,
                                fmt::format("{} answers again", name));
    }
  }
}

}  // namespace

void ServingWatch::Note(store::Session& session, const Status& serves) {
  ServingState now{true, serves, store::UnreachableBecause(session)};
  ServingState before = state();
  const bool changed = !before.known || before.serves() != now.serves();
  {
    const MutexLock lock(mutex_);
    state_ = now;
  }
  LogServers(session, before.unreachable, now.unreachable);
  const net::TimePoint time = session.runtime().Now();
  if (!now.serves() && (changed || time - logged_ >= kSayEvery)) {
    logged_ = time;
    const std::string line =
        fmt::format("not serving: {}", now.status.message());
    if (changed) {
      EventLog::OfProcess().Add(EventKind::kDaemon, LogLevel::kError, line);
    } else {
      LogLine(LogLevel::kError, line);
    }
  } else if (changed && before.known) {
    EventLog::OfProcess().Add(EventKind::kDaemon, LogLevel::kInfo,
                              "serving again");
  }
  if (changed && changed_) changed_(now);
}

ServingState ServingWatch::state() const {
  const MutexLock lock(mutex_);
  return state_;
}

}  // namespace ers::proxy
