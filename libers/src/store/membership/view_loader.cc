#include "store/membership/view_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/micros.h"
#include "store/format/keys.h"
#include "store/format/planted_bug.h"
#include "store/membership/ensure_lease.h"
#include "store/membership/listing_check.h"
#include "store/membership/view_changer.h"
#include "store/membership/view_checks.h"
#include "store/membership/view_records.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Task;

// The view of a cluster that was never used yet, or that lost all its memory:
// `before` is what it was then, where that is known. Its epoch is the clock's
// milliseconds: above that of whatever was lost, which a process may still go
// by or a server that was silent may have.
View FirstView(Session& session, int max_failures, const View* before) {
  constexpr int kMicrosPerMilli = 1000;
  View view;
  view.max_failures = max_failures;
  if (before != nullptr) view.flush_mark = before->flush_mark;
  view.placement = before != nullptr
                       ? before->placement
                       : session.cluster().placement.value_or(net::Placement());
  const std::int64_t now = session.WallMicros();
  view.epoch = std::max<std::uint64_t>(
      before == nullptr ? 1 : before->epoch + 1,
      static_cast<std::uint64_t>(now / kMicrosPerMilli));
  for (int i = 0; i < session.members(); ++i) {
    const net::ServerLink& link = session.link(i);
    const bool up = link.state() == net::ServerLink::State::kUp;
    Member member;
    if (before != nullptr) member = before->members[i];
    if (before == nullptr) {
      const net::Endpoint& given =
          session.cluster().endpoints[static_cast<std::size_t>(i)];
      member.name = session.member_name(i);
      member.label = given.label;
      member.position = given.position;
    }
    member.weight = link.endpoint().weight;
    member.incarnation = static_cast<std::uint64_t>(now);
    member.state = up ? MemberState::kInSync : MemberState::kDown;
    member.boot_mark = up ? link.facts().boot_mark : "";
    member.joined = 0;
    member.since = now / kMicrosPerSecond;
    view.members.push_back(std::move(member));
  }
  return view;
}

// Where it is stored, `records` say so.
Task<Result<View>> CreateFirst(Session& session, ViewRecords& records,
                               int max_failures, const View* before) {
  const int members = session.members();
  if (max_failures >= members) {
    co_return Fail(
        StatusCode::kInvalidArgument,
        fmt::format("{} of the cluster's servers are listed, and what survives "
                    "the loss of {} needs at least {}: list every server, or "
                    "choose a scheme, or max_failures, of a smaller m",
                    members, max_failures, max_failures + 1));
  }
  if (members - records.answered > max_failures) {
    co_return Fail(StatusCode::kUnavailable,
                   fmt::format("{} of {} servers do not answer ({}): a new "
                               "cluster needs at least {}: start what does not "
                               "answer",
                               members - records.answered, members,
                               records.silent, members - max_failures));
  }
  const View view = FirstView(session, max_failures, before);
  const Status distinct = CheckDistinct(view);
  if (!distinct.ok()) co_return Fail(distinct);
  if (view.NotInSync() > max_failures) {
    co_return Fail(StatusCode::kUnavailable,
                   "servers went away while the cluster was set up: try again");
  }
  std::optional<View> newer;
  const Status stored =
      co_await StoreViewRecord(session, view, StoredAs::kFirst, newer);
  if (newer) co_return *newer;
  if (!stored.ok()) co_return Fail(stored);
  records.best = view;
  records.holders = view.Quorum();
  session.cluster().Log(LogLevel::kInfo,
                        fmt::format("new view {} over {} servers, f={}",
                                    view.epoch, members, max_failures));
  co_return view;
}

// f of a first view; 0: none is to be made.
int ChosenF(Session& session, const Scheme* first) {
  const int option = session.cluster().options.max_failures;
  return option != 0 || first == nullptr ? option : first->m;
}

// A view stays for good: none is made for what would be refused under it.
Status CheckFirst(Session& session, const Scheme* first, int max_failures) {
  if (first == nullptr) return {};
  Status enough = CheckMemberCount(session, *first);
  if (!enough.ok() || first->m <= max_failures) return enough;
  return {StatusCode::kInvalidArgument,
          fmt::format("scheme {} has m = {}, and max_failures is {}: choose a "
                      "smaller m, or a larger max_failures",
                      FormatScheme(*first), first->m, max_failures)};
}

// What to go by, given what was read.
Task<Result<View>> Decide(Session& session, ViewRecords& records,
                          const Scheme* first) {
  const int members = session.members();
  std::optional<View> best = records.best;
  const Result<View> filed = session.cluster().state_file.Read();
  if (!filed && filed.error().code() != StatusCode::kNotFound) {
    co_return Fail(filed.error());
  }
  if (!records.best && records.answered == members && filed) {
    // All members answer and none knows a view: they all lost their memory,
    // and there is nothing left that an old view could protect. Were it evicted
    // alone, another process might have gone on to a later one.
    const Status fits = CheckMembers(session, session.cluster(), *filed);
    if (!fits.ok()) co_return Fail(fits);
    co_return co_await CreateFirst(session, records, filed->max_failures,
                                   &*filed);
  }
  if (filed && (!best || filed->epoch > best->epoch)) best = *filed;
  if (!best) {
    const int chosen = ChosenF(session, first);
    if (chosen != 0) {
      const Status fits = CheckFirst(session, first, chosen);
      if (!fits.ok()) co_return Fail(fits);
      co_return co_await CreateFirst(session, records, chosen, nullptr);
    }
    if (records.answered < members) {
      co_return Fail(NoneKnows(records, members));
    }
    co_return Fail(StatusCode::kNotFound,
                   "nothing was ever stored in this cluster");
  }
  const Status fits = CheckMembers(session, session.cluster(), *best);
  if (!fits.ok()) co_return Fail(fits);
  if (records.answered < best->Quorum()) {
    co_return Fail(TooFewAnswer(records, members, best->Quorum()));
  }
  co_return *best;
}

// A change that was cut off half way is finished: others must find what this
// process goes by.
Task<Result<View>> Complete(Session& session, const ViewRecords& records,
                            View view) {
  const bool held = records.best && records.best->epoch == view.epoch &&
                    records.holders >= view.Quorum();
  if (held) co_return view;
  Base base{std::move(view), {}};
  for (;;) {
    std::optional<View> newer;
    Status status = co_await StoreViewRecord(
        session, base.view, StoredAs::kNext, newer, base.never_in_force);
    if (newer) status = CheckMembers(session, session.cluster(), *newer);
    if (!status.ok()) co_return Fail(std::move(status));
    if (!newer) co_return std::move(base.view);
    const std::uint64_t tried = base.view.epoch;
    Result<Base> found = co_await FindBase(session, std::move(base.view),
                                           std::move(*newer), tried);
    if (!found) co_return Fail(found.error());
    base = std::move(*found);
  }
}

bool Reconnecting(Session& session) {
  for (int i = 0; i < session.members(); ++i) {
    if (session.link(i).state() == net::ServerLink::State::kConnecting) {
      return true;
    }
  }
  return false;
}

// A process that was given an old list of servers goes by the view's.
void LogOutdated(Session& session, const View& view) {
  for (const std::string& line : Outdated(session.cluster().endpoints, view)) {
    session.cluster().Log(
        LogLevel::kWarning,
        fmt::format("view {}: {}: put it into the list of servers", view.epoch,
                    line));
  }
}

// Members in `view` whose memory is not the one that it knows, by connections
// that were made while none was known.
std::vector<int> Restarted(Session& session, const View& view) {
  std::vector<int> restarted;
  for (int i = 0; i < session.members(); ++i) {
    const net::ServerLink& link = session.link(i);
    if (view.members[i].state != MemberState::kDown &&
        link.state() == net::ServerLink::State::kUp &&
        link.facts().boot_mark != view.members[i].boot_mark) {
      restarted.push_back(i);
    }
  }
  return restarted;
}

Task<Status> LoadViewFor(Session& session, std::string_view key) {
  Status status = co_await EnsureView(session);
  if (status.code() != StatusCode::kNotFound) co_return status;
  co_return Status(
      StatusCode::kNotFound,
      fmt::format("key '{}' holds no object: {}", key, status.message()));
}

Task<Status> LoadView(Session& session, const Scheme* first) {
  co_await ClaimChange(session);
  ViewKeeper& keeper = session.cluster().keeper;
  if (session.view()) {
    keeper.EndChange(nullptr);
    co_return co_await EnsureLease(session);
  }
  Result<ViewRecords> records = co_await FindViewRecords(session);
  // A connection that only broke gets another try: a first view without its
  // server would keep that out.
  if (records && !records->best && Reconnecting(session)) {
    records = co_await FindViewRecords(session);
  }
  // The cluster may be one that has just lost its memory, and a server that is
  // silent here may still be read by a process that goes by what was lost.
  if (records && !records->best && records->answered < session.members() &&
      session.members() - records->answered <= ChosenF(session, first) &&
      !Planted(PlantedBug::kNoWaitAfterLoss)) {
    const std::shared_ptr<Wakeup> leases = Wakeup::New(session.runtime());
    (void)co_await leases->Wait(kLongGoneAfter);
    records = co_await FindViewRecords(session);
  }
  if (!records) {
    keeper.EndChange(nullptr);
    co_return records.error();
  }
  const bool found = records->best.has_value();
  Result<View> view = co_await Decide(session, *records, first);
  if (view) view = co_await Complete(session, *records, std::move(*view));
  Status status;
  if (view) {
    Result<StateFileDraft> file = session.cluster().DraftOnDisk(*view);
    status =
        file ? session.cluster().KeepOnDisk(std::move(*file)) : file.error();
  } else {
    status = view.error();
  }
  if (!status.ok()) {
    keeper.EndChange(nullptr);
    co_return status;
  }
  if (found) {
    session.cluster().Log(
        LogLevel::kInfo,
        fmt::format("view {}: found, {} of {} servers are in sync", view->epoch,
                    session.members() - view->NotInSync(), session.members()));
  }
  LogOutdated(session, *view);
  const std::vector<int> restarted = Restarted(session, *view);
  keeper.EndChange(std::make_shared<const View>(std::move(*view)));
  // Of more than f, operations that need them say what is in the way.
  for (const int member : restarted) {
    (void)co_await MarkDown(session, member, "it was restarted");
  }
  Status leased = co_await EnsureLease(session);
  // Nothing waits for that.
  session.Detach(LogServersWithoutListing(session));
  co_return leased;
}

}  // namespace

// Of every call: no coroutine where there is nothing to wait for.
Task<Status> EnsureView(Session& session, const Scheme* first) {
  if (session.view()) return EnsureLease(session);
  return LoadView(session, first);
}

Task<Status> EnsureViewFor(Session& session, std::string_view key) {
  Status status = ValidateKey(key, session.cluster().options.binary_keys);
  if (!status.ok()) return Task<Status>::Ready(std::move(status));
  if (session.view()) return EnsureLease(session);
  return LoadViewFor(session, key);
}

}  // namespace ers::store
