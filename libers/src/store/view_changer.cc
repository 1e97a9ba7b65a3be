#include "store/view_changer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "store/batch.h"
#include "store/keys.h"
#include "store/planted_bug.h"
#include "store/view_records.h"
#include "store/wakeup.h"

namespace ers::store {
namespace {

using net::Task;

constexpr std::int64_t kMicros = 1'000'000;

// Waits until this task alone may change the view.
Task<void> ClaimChange(Session& session) {
  for (;;) {
    std::shared_ptr<Wakeup> wakeup = Wakeup::New(session.runtime());
    if (session.cluster().keeper.BeginChange(wakeup->Callback())) co_return;
    co_await wakeup->Wait(session.cluster().options.operation_timeout);
  }
}

// The barrier: true when no admitted manifest write but those of leaving or
// stranded members is under way.
constexpr int kNobody = -1;

Task<bool> Drain(Session& session, int leaving) {
  std::shared_ptr<Wakeup> wakeup = Wakeup::New(session.runtime());
  if (session.cluster().keeper.Drained(leaving, wakeup->Callback())) {
    co_return true;
  }
  // Each write ends by its own deadline, its resend by another.
  const net::Duration patience =
      4 * net::Duration(session.cluster().options.request_timeout);
  co_return co_await wakeup->Wait(patience);
}

// The members' names and weights must be those that this process was given.
Status CheckMembers(const Session& session, ClusterState& cluster,
                    const View& view) {
  bool same = static_cast<int>(view.members.size()) == session.members();
  for (std::size_t i = 0; same && i < view.members.size(); ++i) {
    same = view.members[i].name == cluster.endpoints[i].name() &&
           view.members[i].weight == cluster.endpoints[i].weight;
  }
  if (!same) {
    std::string names;
    for (const Member& member : view.members) {
      names += (names.empty() ? "" : ",") + member.name;
      if (member.weight != 1) names += fmt::format(":{}", member.weight);
    }
    return {StatusCode::kIncompatible,
            fmt::format("this cluster was set up with the servers {}: give "
                        "exactly these (order is free)",
                        names)};
  }
  const int wanted = cluster.options.max_parity;
  if (wanted != 0 && wanted != view.max_parity) {
    return {StatusCode::kIncompatible,
            fmt::format("max_parity is {}, but this cluster was set up for {}: "
                        "give {}, or none",
                        wanted, view.max_parity, view.max_parity)};
  }
  return {};
}

// The view of a cluster that nobody used yet, or that lost all its memory.
View FirstView(Session& session, int max_parity, std::uint64_t epoch) {
  View view;
  view.epoch = epoch;
  view.max_parity = max_parity;
  const std::int64_t now = session.runtime().WallMicros();
  for (int i = 0; i < session.members(); ++i) {
    const net::ServerLink& link = session.link(i);
    const bool up = link.state() == net::ServerLink::State::kUp;
    Member member;
    member.name = session.member_name(i);
    member.weight = link.endpoint().weight;
    member.incarnation = static_cast<std::uint64_t>(now);
    member.state = up ? MemberState::kFull : MemberState::kDown;
    member.boot_mark = up ? link.facts().boot_mark : "";
    member.since = now / kMicros;
    view.members.push_back(std::move(member));
  }
  return view;
}

// Two names of one server would be taken for two servers.
Status CheckDistinct(const View& view) {
  std::map<std::string_view, std::string_view> names;
  for (const Member& member : view.members) {
    if (member.boot_mark.empty()) continue;
    const auto [other, fresh] = names.emplace(member.boot_mark, member.name);
    if (fresh) continue;
    return {StatusCode::kInvalidArgument,
            fmt::format("{} and {} are one and the same server: list it once",
                        other->second, member.name)};
  }
  return {};
}

Task<Result<View>> CreateFirst(Session& session, const ViewRecords& records,
                               int max_parity, std::uint64_t epoch) {
  const int members = session.members();
  if (max_parity >= members) {
    co_return Fail(
        StatusCode::kInvalidArgument,
        fmt::format("{} servers cannot hold objects with {} parity blocks: "
                    "list more servers",
                    members, max_parity));
  }
  if (members - records.answered > max_parity) {
    co_return Fail(StatusCode::kUnavailable,
                   fmt::format("{} of {} servers do not answer ({}): a new "
                               "cluster needs at least {}",
                               members - records.answered, members,
                               records.silent, members - max_parity));
  }
  const View view = FirstView(session, max_parity, epoch);
  const Status distinct = CheckDistinct(view);
  if (!distinct.ok()) co_return Fail(distinct);
  if (view.NotFull() > max_parity) {
    co_return Fail(StatusCode::kUnavailable,
                   "servers went away while the cluster was set up: try again");
  }
  std::optional<View> newer;
  const Status stored = co_await StoreViewRecord(session, view, newer);
  if (newer) co_return *newer;
  if (!stored.ok()) co_return Fail(stored);
  session.cluster().Log(LogLevel::kInfo,
                        fmt::format("new view {} over {} servers, M={}", epoch,
                                    members, max_parity));
  co_return view;
}

// What to go by, given what was read.
Task<Result<View>> Decide(Session& session, const ViewRecords& records,
                          int max_parity) {
  const int members = session.members();
  std::optional<View> best = records.best;
  const Result<View> filed = session.cluster().keeper.ReadStateFile();
  if (!filed && filed.error().code() != StatusCode::kNotFound) {
    co_return Fail(filed.error());
  }
  if (!records.best && records.answered == members && filed) {
    // All members answer and none knows a view: they all lost their memory,
    // and there is nothing left that an old view could protect.
    const Status fits = CheckMembers(session, session.cluster(), *filed);
    if (!fits.ok()) co_return Fail(fits);
    co_return co_await CreateFirst(session, records, filed->max_parity,
                                   filed->epoch + 1);
  }
  if (filed && (!best || filed->epoch > best->epoch)) best = *filed;
  if (!best) {
    const int chosen = session.cluster().options.max_parity != 0
                           ? session.cluster().options.max_parity
                           : max_parity;
    if (chosen != 0) {
      co_return co_await CreateFirst(session, records, chosen, 1);
    }
    if (records.answered < members) {
      co_return Fail(
          StatusCode::kUnavailable,
          fmt::format("{} of {} servers do not answer ({}), and "
                      "the others know of no objects: start them",
                      members - records.answered, members, records.silent));
    }
    co_return Fail(StatusCode::kNotFound,
                   "nothing was ever stored in this cluster");
  }
  const Status fits = CheckMembers(session, session.cluster(), *best);
  if (!fits.ok()) co_return Fail(fits);
  if (records.answered < best->Quorum()) {
    co_return Fail(StatusCode::kUnavailable,
                   fmt::format("{} of {} servers do not answer ({}): at least "
                               "{} must",
                               members - records.answered, members,
                               records.silent, best->Quorum()));
  }
  co_return *best;
}

bool Reconnecting(Session& session) {
  for (int i = 0; i < session.members(); ++i) {
    if (session.link(i).state() == net::ServerLink::State::kConnecting) {
      return true;
    }
  }
  return false;
}

// Members whose memory is not the one the view knows leave it.
Task<void> DropRestarted(Session& session) {
  for (int i = 0; i < session.members(); ++i) {
    const std::shared_ptr<const View> view = session.view();
    const net::ServerLink& link = session.link(i);
    if (view->members[i].state == MemberState::kDown ||
        link.state() != net::ServerLink::State::kUp ||
        link.facts().boot_mark == view->members[i].boot_mark) {
      continue;
    }
    // Too many of them: operations that need them say so.
    (void)co_await MarkDown(session, i, "it was restarted");
  }
}

// The view after `next`, without `leaving` and all whose writes are stranded.
Result<View> Without(Session& session, View next, std::vector<int> leaving) {
  ++next.epoch;
  const std::vector<int> stranded = session.cluster().keeper.Stranded();
  leaving.insert(leaving.end(), stranded.begin(), stranded.end());
  for (const int i : leaving) {
    if (next.members[i].state == MemberState::kDown) continue;
    next.members[i].state = MemberState::kDown;
    next.members[i].since = session.runtime().WallMicros() / kMicros;
  }
  if (next.NotFull() > next.max_parity) {
    std::string out;
    for (int i = 0; i < session.members(); ++i) {
      if (next.members[i].state == MemberState::kFull) continue;
      out += (out.empty() ? "" : "; ") + session.Describe(i);
    }
    return Fail(StatusCode::kUnavailable,
                fmt::format("{} servers are out and the cluster survives {} "
                            "({}): bring one back",
                            next.NotFull(), next.max_parity, out));
  }
  return next;
}

// Makes the next view by `edit` and has it stored. Where a newer one is found
// (another process went ahead, or an earlier try of this one got half way),
// what that one says holds too; but it may not be installed as it is: the
// members that must leave might still be in it.
using Edit = std::function<Result<View>(View)>;
Task<Result<View>> StoreNext(Session& session, const Edit& edit) {
  View base = *session.view();
  for (;;) {
    Result<View> next = edit(std::move(base));
    if (!next) co_return next;
    std::optional<View> newer;
    Status status = co_await StoreViewRecord(session, *next, newer);
    if (newer) status = CheckMembers(session, session.cluster(), *newer);
    if (!status.ok()) co_return Fail(std::move(status));
    if (!newer) co_return next;
    base = std::move(*newer);
  }
}

// Ends the change that was begun: with the view that `edit` makes, or none.
Task<Status> Install(Session& session, const Edit& edit) {
  ViewKeeper& keeper = session.cluster().keeper;
  Result<View> next = co_await StoreNext(session, edit);
  Status status = next ? keeper.WriteStateFile(*next) : next.error();
  keeper.EndChange(status.ok() ? std::make_shared<const View>(std::move(*next))
                               : nullptr);
  co_return status;
}

}  // namespace

namespace {

Task<Status> LoadViewFor(Session& session, std::string_view key) {
  Status status = co_await EnsureView(session, 0);
  if (status.code() != StatusCode::kNotFound) co_return status;
  co_return Status(
      StatusCode::kNotFound,
      fmt::format("key '{}' holds no object: {}", key, status.message()));
}

}  // namespace

Task<Status> EnsureView(Session& session, int max_parity) {
  if (session.view()) co_return Status();
  co_await ClaimChange(session);
  ViewKeeper& keeper = session.cluster().keeper;
  if (session.view()) {
    keeper.EndChange(nullptr);
    co_return Status();
  }
  Result<ViewRecords> records = co_await ReadViewRecords(session);
  // A connection that only broke gets another try: a first view without its
  // server would keep that out.
  if (records && !records->best && Reconnecting(session)) {
    records = co_await ReadViewRecords(session);
  }
  if (!records) {
    keeper.EndChange(nullptr);
    co_return records.error();
  }
  Result<View> view = co_await Decide(session, *records, max_parity);
  Status status = view ? keeper.WriteStateFile(*view) : view.error();
  if (!status.ok()) {
    keeper.EndChange(nullptr);
    co_return status;
  }
  keeper.EndChange(std::make_shared<const View>(std::move(*view)));
  co_await DropRestarted(session);
  co_return Status();
}

Task<Status> EnsureViewFor(Session& session, std::string_view key) {
  Status status = ValidateKey(key, session.cluster().options.binary_keys);
  const bool known = !status.ok() || session.view();
  if (known) return Task<Status>::Ready(std::move(status));
  return LoadViewFor(session, key);
}

Task<Status> MarkDown(Session& session, int member, std::string reason) {
  co_await ClaimChange(session);
  ViewKeeper& keeper = session.cluster().keeper;
  if (session.view()->members[member].state == MemberState::kDown) {
    keeper.EndChange(nullptr);
    co_return Status();
  }
  net::ServerLink& link = session.link(member);
  const net::ServerLink::State state = link.state();
  if (state != net::ServerLink::State::kFailed &&
      state != net::ServerLink::State::kRefused) {
    link.Abort("it left the view: " + reason);
  }
  if (!Planted(PlantedBug::kNoBarrier) && !co_await Drain(session, member)) {
    keeper.EndChange(nullptr);
    co_return Status(StatusCode::kUnavailable,
                     "changes under way do not end: try again");
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
  co_return status;
}

namespace {

// A change that nobody has to leave for.
Task<Status> ChangeAll(Session& session, const Edit& edit) {
  const bool drained = co_await Drain(session, kNobody);
  if (drained) co_return co_await Install(session, edit);
  session.cluster().keeper.EndChange(nullptr);
  co_return Status(StatusCode::kUnavailable,
                   "changes under way do not end: try again");
}

// The mark of the memory that a member has now.
Task<Result<std::string>> BootMarkOf(Session& session, int member) {
  const std::unique_ptr<net::ServerLink> link = session.NewStrangerLink(member);
  net::Request ask;
  ask.verb = net::Verb::kHead;
  ask.key = kViewKey;
  ask.uncounted = true;
  Batch batch(session.runtime());
  batch.Submit(*link, ask);
  co_await batch;
  if (link->facts().boot_mark.empty()) {
    co_return Fail(StatusCode::kUnavailable, session.Describe(*link));
  }
  co_return link->facts().boot_mark;
}

}  // namespace

Task<Status> BeginFilling(Session& session, int member) {
  const Result<std::string> mark = co_await BootMarkOf(session, member);
  if (!mark) co_return mark.error();
  co_await ClaimChange(session);
  if (session.view()->members[member].state != MemberState::kDown) {
    session.cluster().keeper.EndChange(nullptr);
    co_return Status();
  }
  const Edit edit = [&session, &mark, member](View view) -> Result<View> {
    const std::int64_t now = session.runtime().WallMicros();
    Member& back = view.members[member];
    back.state = MemberState::kFilling;
    if (!Planted(PlantedBug::kSameIncarnation)) {
      back.incarnation =
          std::max(back.incarnation + 1, static_cast<std::uint64_t>(now));
    }
    back.joined = view.epoch + 1;
    back.boot_mark = *mark;
    back.since = now / kMicros;
    Status distinct = CheckDistinct(view);
    if (!distinct.ok()) return Fail(std::move(distinct));
    return Without(session, std::move(view), {});
  };
  Status status = co_await ChangeAll(session, edit);
  if (status.ok()) {
    session.cluster().Log(
        LogLevel::kInfo,
        fmt::format("view {}: {} is back and is filled", session.view()->epoch,
                    session.member_name(member)));
  }
  co_return status;
}

Task<Status> EndFilling(Session& session, int member,
                        std::uint64_t incarnation) {
  co_await ClaimChange(session);
  const Edit edit = [&session, member, incarnation](View view) -> Result<View> {
    Member& filled = view.members[member];
    if (filled.incarnation != incarnation ||
        filled.state == MemberState::kDown) {
      return Fail(StatusCode::kUnavailable,
                  session.member_name(member) + " left while it was filled");
    }
    filled.state = MemberState::kFull;
    filled.since = session.runtime().WallMicros() / kMicros;
    return Without(session, std::move(view), {});
  };
  Status status = co_await ChangeAll(session, edit);
  if (status.ok()) {
    session.cluster().Log(
        LogLevel::kInfo,
        fmt::format("view {}: {} is full again", session.view()->epoch,
                    session.member_name(member)));
  }
  co_return status;
}

Task<Status> FlushBefore(Session& session, std::uint64_t time_us) {
  co_await ClaimChange(session);
  const Edit edit = [&session, time_us](View view) {
    view.flushed_before = time_us;
    return Without(session, std::move(view), {});
  };
  co_return co_await ChangeAll(session, edit);
}

}  // namespace ers::store
