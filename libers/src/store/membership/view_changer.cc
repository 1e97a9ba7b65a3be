#include "store/membership/view_changer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/micros.h"
#include "store/format/keys.h"
#include "store/format/planted_bug.h"
#include "store/membership/batch.h"
#include "store/membership/loss_round.h"
#include "store/membership/view_checks.h"
#include "store/membership/view_edit.h"
#include "store/membership/view_records.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Task;

// Is it out already, or did it fail under an earlier view, and is another one,
// or welcome, in the one that is in force now?
bool IsDone(Session& session, int member) {
  const net::ServerLink& link = session.link(member);
  const net::ServerLink::State before = link.state();
  const std::shared_ptr<const View> view = session.view();
  return view->members[member].state == MemberState::kDown ||
         link.state() != before;
}

// What is under way to a member that leaves ends now.
void Abort(net::ServerLink& link, const std::string& reason) {
  const net::ServerLink::State state = link.state();
  if (state != net::ServerLink::State::kFailed &&
      state != net::ServerLink::State::kRefused) {
    link.Abort("it left the view: " + reason);
  }
}

// The end of a change that came to `status`. Where it failed more may have
// turned out to be out on the way: by the view in force, or by one that another
// process had begun, which the next one is built upon.
Task<Status> OrGoOnAfterLoss(Session& session, Status status) {
  if (status.ok()) co_return status;
  const std::uint64_t before = session.view()->epoch;
  Status gone_on = co_await GoOnAfterLoss(session);
  const bool goes_on =
      MoreThanMaxOut(session) || session.view()->epoch != before;
  co_return goes_on ? gone_on : status;
}

}  // namespace

Task<Status> MarkDown(Session& session, int member, std::string reason) {
  if (MoreThanMaxOut(session)) co_return co_await GoOnAfterLoss(session);
  if (IsDone(session, member)) co_return Status();
  const std::uint64_t incarnation = session.view()->members[member].incarnation;
  co_await ClaimChange(session);
  ViewKeeper& keeper = session.cluster().keeper;
  if (IsDone(session, member) ||
      session.view()->members[member].incarnation != incarnation) {
    keeper.EndChange(nullptr);
    co_return Status();
  }
  Abort(session.link(member), reason);
  if (!Planted(PlantedBug::kNoBarrier)) {
    std::vector<int> leaving(1, member);
    Status drained = co_await Drain(session, std::move(leaving));
    if (!drained.ok()) co_return drained;
  }
  const Edit edit = [&session, member](View view) {
    return Without(session, std::move(view), {member});
  };
  Status status = co_await Install(session, edit);
  if (status.ok()) {
    session.cluster().Log(
        LogLevel::kWarning,
        fmt::format("view {}: {} is down ({})", session.view()->epoch,
                    session.member_name(member), reason));
  }
  co_return co_await OrGoOnAfterLoss(session, std::move(status));
}

namespace {

// The mark of the memory that a member has now.
Task<Result<std::string>> BootMarkOf(Session& session, int member) {
  const std::unique_ptr<net::ServerLink> link = session.NewStrangerLink(member);
  net::Request ask;
  ask.verb = net::Verb::kHead;
  ask.key = kViewKey;
  ask.no_bump = true;
  Batch batch(session.runtime());
  batch.Send(SendStep::kAskMark, *link, ask);
  co_await batch;
  if (link->facts().boot_mark.empty()) co_return Fail(NoReturn(session, *link));
  co_return link->facts().boot_mark;
}

}  // namespace

Task<void> MarkFailed(Session& session, std::uint64_t epoch,
                      std::set<int> members) {
  // Also one that answers again: it lacks blocks.
  for (const int member : members) {
    const auto at = static_cast<std::size_t>(member);
    if (session.view()->members[at].joined > epoch) continue;
    // Beyond f the view stays as it is; what needs the member will say so.
    (void)co_await MarkDown(session, member, session.link(member).last_error());
  }
}

Task<Status> BeginBackfill(Session& session, int member, MayReturn may_return) {
  const Result<std::string> mark = co_await BootMarkOf(session, member);
  if (!mark) co_return mark.error();
  const bool down = session.view()->members[member].state == MemberState::kDown;
  if (down && may_return) {
    Status may = may_return(member, *mark);
    if (!may.ok()) co_return may;
  }
  co_await ClaimChange(session);
  if (session.view()->members[member].state != MemberState::kDown) {
    session.cluster().keeper.EndChange(nullptr);
    co_return Status();
  }
  const Edit edit = [&session, &mark, member](View view) -> Result<View> {
    // Another process was first.
    if (view.members[member].state != MemberState::kDown) {
      return Without(session, std::move(view), {});
    }
    return WithBackfill(session, std::move(view), member, *mark);
  };
  Status status = co_await ChangeAll(session, edit);
  if (status.ok()) {
    session.cluster().Log(
        LogLevel::kInfo,
        fmt::format("view {}: {} is back and is backfilled",
                    session.view()->epoch, session.member_name(member)));
  }
  co_return status;
}

Task<Status> EndBackfill(Session& session, int member,
                         std::uint64_t incarnation) {
  co_await ClaimChange(session);
  const Member now = session.view()->members[member];
  if (now.InSync() && now.incarnation == incarnation) {
    // Another process that filled it, too, was first.
    session.cluster().keeper.EndChange(nullptr);
    co_return Status();
  }
  const Edit edit = [&session, member, incarnation](View view) -> Result<View> {
    Member& filled = view.members[member];
    if (filled.incarnation != incarnation ||
        filled.state == MemberState::kDown) {
      return Fail(
          StatusCode::kUnavailable,
          session.member_name(member) + " left while it was backfilled");
    }
    if (!filled.InSync()) {
      filled.state = MemberState::kInSync;
      filled.lacking = false;
      filled.since = session.WallMicros() / kMicrosPerSecond;
    }
    return Without(session, std::move(view), {});
  };
  Status status = co_await ChangeAll(session, edit);
  if (status.ok()) {
    session.cluster().Log(
        LogLevel::kInfo,
        fmt::format("view {}: {} is in sync again", session.view()->epoch,
                    session.member_name(member)));
  }
  co_return status;
}

namespace {

// How long what is stored behind a flush waits for the memory of what was
// flushed.
constexpr net::Duration kLongestForRoom = std::chrono::seconds(5);

}  // namespace

Task<Status> FlushBefore(Session& session, std::uint64_t time_us) {
  co_await ClaimChange(session);
  bool made = false;
  const std::uint64_t number = session.runtime().Random();
  const Edit edit = [&session, &made, number,
                     time_us](View view) -> Result<View> {
    const std::int64_t now = session.WallMicros();
    Status flushed;
    if (time_us == kAtOnce && Planted(PlantedBug::kFlushByClock)) {
      flushed = view.Flush(static_cast<std::uint64_t>(now), now);
    } else if (time_us == kAtOnce) {
      view.FlushAll(number, now);
    } else {
      flushed = view.Flush(time_us, now);
    }
    if (!flushed.ok()) return Fail(std::move(flushed));
    Result<View> next = Without(session, std::move(view), {});
    made = made || next.has_value();
    return next;
  };
  // Before it is in force: what gives back then ends the wait.
  MemoryNeeds& needs = session.cluster().needs;
  const net::Duration patience = std::min<net::Duration>(
      kLongestForRoom, session.cluster().options.operation_timeout / 2);
  if (time_us == kAtOnce) needs.NoteFlush(session.runtime().Now() + patience);
  Status status = co_await ChangeAll(session, edit);
  if (!status.ok()) needs.NoteGivenBack();
  if (status.ok()) {
    session.cluster().Log(
        LogLevel::kInfo,
        fmt::format("view {}: flush_all was asked for", session.view()->epoch));
  }
  // A member that took it shows it to others, which may go by it some day.
  const bool unknown = made && status.code() == StatusCode::kUnavailable;
  if (!unknown) co_return status;
  co_return Status(StatusCode::kOutcomeUnknown,
                   "the flush may take effect later: " + status.message());
}

namespace {

void LogTakenOver(Session& session, const View& old) {
  const View& now = *session.view();
  session.cluster().Log(
      LogLevel::kInfo,
      fmt::format("view {}: taken over from another process", now.epoch));
  for (std::size_t i = 0; i < now.members.size(); ++i) {
    if (now.members[i].state != MemberState::kDown ||
        old.members[i].state == MemberState::kDown) {
      continue;
    }
    session.cluster().Log(
        LogLevel::kWarning,
        fmt::format("view {}: {} is down (a process found it so)", now.epoch,
                    session.member_name(static_cast<int>(i))));
  }
}

}  // namespace

Task<Status> FollowView(Session& session) {
  // What others go by now may have been made after a loss.
  if (MoreThanMaxOut(session)) co_return co_await GoOnAfterLoss(session);
  co_await ClaimChange(session);
  ViewKeeper& keeper = session.cluster().keeper;
  const std::shared_ptr<const View> old = session.view();
  const Result<ViewRecords> records = co_await ReadViewRecords(session);
  Status status = records ? Status() : records.error();
  // Those that took what this process stored may be gone.
  View best = *keeper.Newest();
  if (status.ok() && records->best && records->best->epoch >= best.epoch) {
    best = *records->best;
    status = CheckMembers(session, session.cluster(), best);
  }
  const bool newer =
      status.ok() &&
      (best.epoch > old->epoch ||
       (best.epoch == old->epoch && EncodeView(best) != EncodeView(*old)));
  if (!newer) {
    keeper.EndChange(nullptr);
    co_return status;
  }
  std::vector<int> leaving;
  for (int i = 0; i < session.members(); ++i) {
    if (best.members[i].state != MemberState::kDown) continue;
    leaving.push_back(i);
    if (old->members[i].state == MemberState::kDown) continue;
    Abort(session.link(i), "another process found it dead");
  }
  if (!Planted(PlantedBug::kNoBarrier)) {
    status = co_await Drain(session, leaving);
    if (!status.ok()) co_return status;
  }
  // As it is, unless a write of this process is in doubt on a member of it.
  const Edit leave = [&session, leaving](View view) {
    return Without(session, std::move(view), leaving);
  };
  const Edit edit = [&leave, &best](View view) {
    return Edited(leave, view.epoch <= best.epoch ? best : view);
  };
  status = co_await Install(session, edit);
  if (status.ok()) {
    LogTakenOver(session, *old);
  }
  co_return co_await OrGoOnAfterLoss(session, std::move(status));
}

}  // namespace ers::store
