#include "store/membership/view_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/micros.h"
#include "store/format/keys.h"
#include "store/format/planted_bug.h"
#include "store/membership/batch.h"
#include "store/membership/participants.h"
#include "store/membership/view_checks.h"
#include "store/membership/view_records.h"
#include "store/support/wakeup.h"

namespace ers::store {

using net::Task;

Task<Status> Drain(Session& session, std::vector<int> leaving) {
  ViewKeeper& keeper = session.cluster().keeper;
  std::shared_ptr<Wakeup> wakeup = Wakeup::New(session.runtime());
  if (keeper.Drained(std::move(leaving), wakeup->Callback())) {
    co_return Status();
  }
  // Each write ends by its own deadline, its resend by another.
  const net::Duration patience =
      4 * net::Duration(session.cluster().options.request_timeout);
  const bool drained = co_await wakeup->Wait(patience);
  if (drained) co_return Status();
  keeper.EndChange(nullptr);
  co_return Status(StatusCode::kUnavailable,
                   "changes under way do not end: try again");
}

Result<View> Edited(const Edit& edit, const View& base) {
  Result<View> next = edit(base);
  if (!next) return next;
  View same = *next;
  same.epoch = base.epoch;
  if (EncodeView(same) == EncodeView(base)) return same;
  return next;
}

namespace {

void TakeOut(Session& session, Member& member) {
  if (member.state == MemberState::kDown) return;
  member.state = MemberState::kDown;
  member.lacking = false;
  member.since = session.WallMicros() / kMicrosPerSecond;
}

// A view that is stored, and the state file that it is to have.
struct StoredView {
  View view;
  StateFileDraft file;
};

// Makes the next view by `edit` and has it stored. Nothing is where the state
// file cannot be written: the records would keep all processes from the view in
// force, and none could go on to the next. Where another one stands in
// the way (another process went ahead, or an earlier try of this one got half
// way), what that one says holds too. As it is it may be installed only if no
// member must leave it.
Task<Result<StoredView>> StoreNext(Session& session, const Edit& edit) {
  Base base{*session.cluster().keeper.Newest(), {}};
  Result<View> next = edit(base.view);
  for (;;) {
    if (!next) co_return Fail(next.error());
    Result<StateFileDraft> file = session.cluster().DraftOnDisk(*next);
    if (!file) co_return Fail(file.error());
    std::optional<View> newer;
    Status status = co_await StoreViewRecord(session, *next, StoredAs::kNext,
                                             newer, base.never_in_force);
    if (newer) status = CheckMembers(session, session.cluster(), *newer);
    if (!status.ok()) co_return Fail(std::move(status));
    if (!newer) co_return StoredView{std::move(*next), std::move(*file)};
    Result<Base> found = co_await FindBase(session, std::move(base.view),
                                           std::move(*newer), next->epoch);
    if (!found) co_return Fail(found.error());
    base = std::move(*found);
    next = Edited(edit, base.view);
  }
}

// The next view by `edit`, which is stored, and no process acts under another.
// A process that has gone on to a later one may have done so because of a
// member that is in this one: then that is built upon.
Task<Result<View>> AgreeOnNext(Session& session, const Edit& edit) {
  const net::TimePoint deadline =
      session.runtime().Now() + session.cluster().options.operation_timeout;
  std::map<int, std::uint64_t> leaving;  // by member: its incarnation
  const Edit leave = [&](View base) -> Result<View> {
    Result<View> made = edit(std::move(base));
    if (!made || leaving.empty()) return made;
    for (const auto& [member, incarnation] : leaving) {
      Member& there = made->members[static_cast<std::size_t>(member)];
      if (there.incarnation == incarnation) TakeOut(session, there);
    }
    Status tolerated = CheckTolerated(session, *made);
    if (!tolerated.ok()) return Fail(std::move(tolerated));
    return made;
  };
  for (;;) {
    Result<StoredView> stored = co_await StoreNext(session, leave);
    if (!stored) co_return Fail(stored.error());
    View& next = stored->view;
    session.cluster().keeper.NoteStored(next);
    Status status = session.cluster().KeepOnDisk(std::move(stored->file));
    if (!status.ok()) co_return Fail(std::move(status));
    const Result<Agreement> agreed = co_await AwaitParticipants(session, next);
    if (!agreed) co_return Fail(agreed.error());
    if (agreed->all) co_return std::move(next);
    for (const int member : agreed->leaving) {
      leaving[member] =
          next.members[static_cast<std::size_t>(member)].incarnation;
    }
    if (session.runtime().Now() >= deadline) {
      co_return Fail(StatusCode::kUnavailable,
                     "other processes change the view all the time: try again");
    }
  }
}

// So that no search begins for the views whose numbers the log lacks.
void LogNumbersPassedOver(Session& session, std::uint64_t from,
                          std::uint64_t to) {
  if (to <= from + 1) return;
  session.cluster().Log(
      LogLevel::kInfo,
      fmt::format("view {}: comes after view {} here; numbers between are of "
                  "other processes, or of tries that others overtook",
                  to, from));
}

}  // namespace

Task<Status> Install(Session& session, const Edit& edit) {
  ViewKeeper& keeper = session.cluster().keeper;
  const std::uint64_t before = session.view()->epoch;
  Result<View> next = co_await AgreeOnNext(session, edit);
  if (!next) {
    keeper.EndChange(nullptr);
    co_return next.error();
  }
  auto view = std::make_shared<const View>(std::move(*next));
  keeper.EndChange(view);
  session.cluster().lease.Confirm(*view);
  LogNumbersPassedOver(session, before, view->epoch);
  co_return Status();
}

namespace {

// In `next`, does the member leave for what was done under the view in force?
// Not if it is out, or came back, or was replaced: then all that is of before,
// and void.
bool IsSameServer(Session& session, const View& next, int member) {
  const Member& is = next.members[member];
  return is.state != MemberState::kDown &&
         is.incarnation == session.view()->members[member].incarnation;
}

}  // namespace

Result<View> Without(Session& session, View next, std::vector<int> leaving) {
  ++next.epoch;
  const std::vector<int> in_doubt = session.cluster().keeper.MembersInDoubt();
  leaving.insert(leaving.end(), in_doubt.begin(), in_doubt.end());
  for (const int i : leaving) {
    if (!IsSameServer(session, next, i)) continue;
    TakeOut(session, next.members[i]);
  }
  Status tolerated = CheckTolerated(session, next);
  if (!tolerated.ok()) return Fail(std::move(tolerated));
  return next;
}

Result<View> WithBackfill(Session& session, View next, int member,
                          const std::string& boot_mark) {
  const std::int64_t now = session.WallMicros();
  Member& filled = next.members[member];
  filled.state = MemberState::kBackfilling;
  filled.lacking = false;
  if (!Planted(PlantedBug::kSameIncarnation)) {
    filled.incarnation =
        std::max(filled.incarnation + 1, static_cast<std::uint64_t>(now));
  }
  filled.joined = next.epoch + 1;
  filled.boot_mark = boot_mark;
  filled.since = now / kMicrosPerSecond;
  Status distinct = CheckDistinct(next);
  if (!distinct.ok()) return Fail(std::move(distinct));
  return Without(session, std::move(next), {});
}

Task<Status> ChangeAll(Session& session, const Edit& edit,
                       std::vector<int> leaving) {
  Status drained = co_await Drain(session, std::move(leaving));
  if (!drained.ok()) co_return drained;
  co_return co_await Install(session, edit);
}

}  // namespace ers::store
