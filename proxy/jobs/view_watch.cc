#include "jobs/view_watch.h"

#include <fmt/format.h>

#include <utility>

#include "metrics/event_log.h"
#include "net/server_link.h"

namespace ers::proxy {

ViewWatch::Change ViewWatch::ChangeOf(store::Session& session,
                                      const store::Member& before,
                                      const store::Member& now,
                                      std::size_t member) {
  const std::string& name = now.server();
  if (name != before.server()) {
    return {LogLevel::kInfo,
            fmt::format("{} has taken the place of {}", name, before.server())};
  }
  const MemberState state = now.shown_state();
  const bool returned = now.incarnation != before.incarnation;
  if (state == before.shown_state() && !returned) return {};
  switch (state) {
    case MemberState::kDown: {
      const std::string& why =
          session.link(static_cast<int>(member)).last_error();
      return {LogLevel::kWarning,
              fmt::format("{} is out{}", name,
                          why.empty() ? why : fmt::format(": {}", why))};
    }
    case MemberState::kBackfilling:
      return {LogLevel::kInfo,
              fmt::format("{} is back, and is backfilled", name)};
    case MemberState::kInSync:
      return {LogLevel::kInfo,
              fmt::format("{} is in sync again{}", name,
                          returned ? ", after it was out for a moment" : "")};
  }
  return {};
}

void ViewWatch::Scan(store::Session& session) {
  std::shared_ptr<const store::View> view = session.view();
  if (!view || view == seen_) return;
  EventLog& log = EventLog::OfProcess();
  const auto add = [&](LogLevel level, std::string_view text) {
    log.AddLogged(EventKind::kView, level,
                  fmt::format("view {}: {}", view->epoch, text));
  };
  if (!seen_ || seen_->members.size() != view->members.size()) {
    add(LogLevel::kInfo,
        fmt::format("{} of {} servers are in sync",
                    static_cast<int>(view->members.size()) - view->NotInSync(),
                    view->members.size()));
  } else {
    for (std::size_t i = 0; i < view->members.size(); ++i) {
      const Change change =
          ChangeOf(session, seen_->members[i], view->members[i], i);
      if (!change.text.empty()) add(change.level, change.text);
    }
    if (seen_->flush_mark != view->flush_mark) {
      add(LogLevel::kWarning, "flush_all was asked for: all objects are gone");
    }
  }
  seen_ = std::move(view);
}

}  // namespace ers::proxy
