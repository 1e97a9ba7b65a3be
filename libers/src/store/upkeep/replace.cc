#include "store/upkeep/replace.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/format/keys.h"
#include "store/format/planted_bug.h"
#include "store/membership/batch.h"
#include "store/membership/succession.h"
#include "store/membership/view_changer.h"
#include "store/membership/view_checks.h"
#include "store/membership/view_edit.h"
#include "store/membership/view_loader.h"

namespace ers::store {
namespace {

using net::Task;

// Which members answer with the memory that the view knows them by. Over
// connections of their own: a member that died unnoticed must not count, nor
// one that is only waited for after a lost request be taken for dead.
Task<std::vector<bool>> AskMembers(Session& session,
                                   std::shared_ptr<const View> view) {
  std::vector<std::unique_ptr<net::ServerLink>> links;
  std::deque<net::Request> requests;
  Batch batch(session.runtime());
  for (int i = 0; i < session.members(); ++i) {
    links.push_back(session.NewStrangerLink(i));
    net::Request& ask = requests.emplace_back();
    ask.verb = net::Verb::kHead;
    ask.key = kViewKey;
    ask.no_bump = true;
    batch.Send(SendStep::kAskMark, *links.back(), ask);
  }
  co_await batch;
  std::vector<bool> answer;
  for (std::size_t i = 0; i < links.size(); ++i) {
    answer.push_back(net::Answered(requests[i].outcome) &&
                     links[i]->facts().boot_mark == view->members[i].boot_mark);
  }
  co_return answer;
}

// A server that answers has blocks, and goes only while all others are in sync
// and answer; one that is dead, while enough do for the change not to end half
// way.
Status CheckOthers(const View& view, int member,
                   const std::vector<bool>& answer) {
  const auto at = static_cast<std::size_t>(member);
  const Member& slot = view.members[at];
  int good = 0;
  std::string out;
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    if (i == at) continue;
    const Member& other = view.members[i];
    const bool in_sync = other.InSync();
    if (in_sync && answer[i]) {
      ++good;
      continue;
    }
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", other.server(),
                       in_sync ? "does not answer" : "is not in sync");
  }
  const bool lives =
      answer[at] && slot.shown_state() != MemberState::kBackfilling;
  if (lives && !out.empty()) {
    return {StatusCode::kUnavailable,
            fmt::format("{} is needed: it answers, and {}; nothing is changed: "
                        "wait until all others are in sync",
                        slot.server(), out)};
  }
  if (good < view.Quorum()) {
    return {
        StatusCode::kUnavailable,
        fmt::format("only {} of the {} servers needed are in sync and answer "
                    "({}); nothing is changed: start what does not answer, and "
                    "wait until what is not in sync is backfilled",
                    good, view.Quorum(), out)};
  }
  return {};
}

}  // namespace

Task<Status> ReplaceServer(Session& session, std::string old_server,
                           std::string new_server) {
  const Result<Succession> asked = ParseSuccession(old_server, new_server);
  if (!asked) co_return asked.error();
  Status status = co_await EnsureView(session);
  if (!status.ok()) co_return status;
  int member = 0;
  Result<std::string> mark = Fail(StatusCode::kUnavailable, "not asked yet");
  for (;;) {
    const std::uint64_t epoch = session.view()->epoch;
    const Result<Place> found = FindPlace(*session.view(), *asked);
    if (!found) co_return found.error();
    if (found->done) co_return Status();
    member = found->member;
    std::uint64_t taken = 0;
    mark = co_await MarkOfEmpty(session, session.view(), member, *asked, taken);
    if (mark) break;
    if (mark.error().code() != StatusCode::kInvalidArgument) {
      co_return mark.error();
    }
    // It may just have got the place, from another process.
    status = co_await FollowView(session);
    if (status.ok() && session.view()->epoch > epoch) continue;
    if (taken <= epoch) co_return mark.error();
    if (!status.ok()) co_return status;
    co_return Status(
        StatusCode::kUnavailable,
        fmt::format("{} takes the place of {} in a view that too few "
                    "servers show yet: try again; if that does not help, "
                    "restart it, so that it is empty",
                    asked->new_server.name(), asked->old_server.name()));
  }
  co_await ClaimChange(session);
  const std::vector<bool> answer = co_await AskMembers(session, session.view());
  const Edit edit = [&session, &asked, &mark, member,
                     &answer](View view) -> Result<View> {
    // Others may have come first, with the same or something else.
    const Result<Place> place = FindPlace(view, *asked);
    if (!place || place->member != member) {
      return Fail(StatusCode::kConflict,
                  place ? "another server was replaced at the same time"
                        : place.error().message());
    }
    if (place->done) return Without(session, std::move(view), {});
    Member& slot = view.members[static_cast<std::size_t>(member)];
    Status others = CheckOthers(view, member, answer);
    if (!others.ok()) return Fail(std::move(others));
    GiveSlot(slot, asked->new_server.name());
    Result<View> next = WithBackfill(session, std::move(view), member, *mark);
    if (next && Planted(PlantedBug::kReplacedIsInSync)) {
      next->members[static_cast<std::size_t>(member)].state =
          MemberState::kInSync;
    }
    return next;
  };
  status = co_await ChangeAll(session, edit);
  if (status.ok()) {
    session.cluster().Log(
        LogLevel::kWarning,
        fmt::format(
            "view {}: {} has taken the place of {} and is backfilled: put "
            "it into the list of servers",
            session.view()->epoch, asked->new_server.name(),
            asked->old_server.name()));
  }
  co_return status;
}

}  // namespace ers::store
