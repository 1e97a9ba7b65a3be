#include "store/replace.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/batch.h"
#include "store/keys.h"
#include "store/planted_bug.h"
#include "store/seats.h"
#include "store/view_changer.h"
#include "store/view_checks.h"
#include "store/view_edit.h"

namespace ers::store {
namespace {

using net::Task;

struct Replacement {
  net::Endpoint old_server;
  net::Endpoint new_server;
};

Result<Replacement> Parse(const std::string& old_server,
                          const std::string& new_server) {
  Result<net::Endpoint> before = net::ParseEndpoint(old_server);
  if (!before) return Fail(before.error());
  Result<net::Endpoint> after = net::ParseEndpoint(new_server);
  if (!after) return Fail(after.error());
  return Replacement{std::move(*before), std::move(*after)};
}

struct Place {
  int member = 0;
  bool done = false;  // the new server has it already
};

bool Had(const Member& seat, const std::string& server) {
  return seat.name == server || seat.previous == server;
}

Result<Place> FindPlace(const View& view, const Replacement& asked) {
  const std::string before = asked.old_server.name();
  const std::string after = asked.new_server.name();
  std::string servers;
  Place place{-1, false};
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    const Member& seat = view.members[i];
    servers += (servers.empty() ? "" : ", ") + seat.server();
    const bool done =
        before != after && seat.server() == after && Had(seat, before);
    if (done || seat.server() == before) {
      place = {static_cast<int>(i), done};
      if (done) return place;
    }
  }
  if (place.member < 0) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("{} is none of the servers of this cluster, which "
                            "are {}",
                            before, servers));
  }
  const Member& seat = view.members[static_cast<std::size_t>(place.member)];
  for (const Member& other : view.members) {
    if (other.server() != after && (&other == &seat || !Had(other, after))) {
      continue;
    }
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("{} is, or was, the server in the place of {}: "
                            "name another",
                            after, other.name));
  }
  if (asked.new_server.weight != 1 && asked.new_server.weight != seat.weight) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("{} takes over the weight of {}, which is {}: give "
                            "that, or none",
                            after, before, seat.weight));
  }
  return place;
}

// Counts the items that a server lists.
void CountLine(net::Request& request, std::string_view line) {
  if (line.starts_with("key=")) {
    ++*static_cast<std::uint64_t*>(request.line_context);
  }
}

// The mark of the new server's memory, in which nothing else may be: what it
// had in another life could pass for what it has in this. `taken`: it has a
// view in which it has the place; that one's epoch.
Task<Result<std::string>> MarkOfEmpty(Session& session, int member,
                                      const Replacement& asked,
                                      std::uint64_t& taken) {
  const std::string name = asked.new_server.name();
  const std::unique_ptr<net::ServerLink> link =
      session.NewStrangerLink(member, asked.new_server);
  net::Request view;
  view.verb = net::Verb::kGet;
  view.key = kViewKey;
  Batch batch(session.runtime());
  batch.Send(SendStep::kAskMark, *link, view);
  co_await batch;
  const std::string mark = link->facts().boot_mark;
  if (mark.empty() || !net::Answered(view.outcome)) {
    const std::string why =
        link->last_error().empty() ? "no answer" : link->last_error();
    co_return Fail(StatusCode::kUnavailable, fmt::format("{}: {}", name, why));
  }
  if (view.outcome == net::Outcome::kOk) {
    const Result<View> there = DecodeView(view.value);
    const bool has_place =
        there && SameSeats(*there, *session.view()) &&
        there->members[static_cast<std::size_t>(member)].server() == name;
    if (has_place) taken = there->epoch;
    co_return Fail(StatusCode::kInvalidArgument,
                   fmt::format("{} is, or was, a server of a cluster: restart "
                               "it, so that it is empty",
                               name));
  }
  // Before it, memcached takes no other command.
  std::uint64_t items = 0;
  net::Request list;
  list.verb = net::Verb::kMetadump;
  list.on_line = CountLine;
  list.line_context = &items;
  batch.Send(SendStep::kAskMark, *link, list);
  co_await batch;
  if (list.outcome != net::Outcome::kOk) {
    const std::string_view why =
        list.value.empty() ? link->last_error() : list.value;
    co_return Fail(StatusCode::kUnavailable,
                   fmt::format("{} cannot list its keys: {}: try again", name,
                               why.empty() ? "no answer" : why));
  }
  // The mark is one.
  if (items > 1) {
    co_return Fail(StatusCode::kInvalidArgument,
                   fmt::format("{} holds {} items: restart it, so that it is "
                               "empty",
                               name, items - 1));
  }
  co_return mark;
}

// Which members answer with the memory that the view knows them by. Over
// connections of their own: who died unnoticed must not count, nor who is only
// waited for after a lost request be taken for dead.
Task<std::vector<bool>> WhoAnswers(Session& session,
                                   std::shared_ptr<const View> view) {
  std::vector<std::unique_ptr<net::ServerLink>> links;
  std::deque<net::Request> requests;
  Batch batch(session.runtime());
  for (int i = 0; i < session.members(); ++i) {
    links.push_back(session.NewStrangerLink(i));
    net::Request& ask = requests.emplace_back();
    ask.verb = net::Verb::kHead;
    ask.key = kViewKey;
    ask.uncounted = true;
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

// A server that answers has blocks, and goes only while all others are full and
// answer; one that is dead, while enough do for the change not to end half way.
Status CheckOthers(const View& view, int member,
                   const std::vector<bool>& answer) {
  const auto at = static_cast<std::size_t>(member);
  const Member& seat = view.members[at];
  int good = 0;
  std::string out;
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    if (i == at) continue;
    const Member& other = view.members[i];
    const bool full = other.InSync();
    if (full && answer[i]) {
      ++good;
      continue;
    }
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", other.server(),
                       full ? "does not answer" : "is not full");
  }
  const bool lives = answer[at] && seat.shown_state() != MemberState::kFilling;
  if (lives && !out.empty()) {
    return {StatusCode::kUnavailable,
            fmt::format("{} is needed: it answers, and {}; nothing is changed: "
                        "wait until all others are full",
                        seat.server(), out)};
  }
  if (good < view.Quorum()) {
    return {StatusCode::kUnavailable,
            fmt::format("only {} of the {} servers needed are full and answer "
                        "({}); nothing is changed: bring one back",
                        good, view.Quorum(), out)};
  }
  return {};
}

}  // namespace

Task<Status> ReplaceServer(Session& session, std::string old_server,
                           std::string new_server) {
  const Result<Replacement> asked = Parse(old_server, new_server);
  if (!asked) co_return asked.error();
  Status status = co_await EnsureView(session, 0);
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
    mark = co_await MarkOfEmpty(session, member, *asked, taken);
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
        fmt::format("{} takes the place of {} in a view that is not told by "
                    "enough servers yet: try again; if that does not help, "
                    "restart it, so that it is empty",
                    asked->new_server.name(), asked->old_server.name()));
  }
  co_await ClaimChange(session);
  const std::vector<bool> answer = co_await WhoAnswers(session, session.view());
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
    Member& seat = view.members[static_cast<std::size_t>(member)];
    Status others = CheckOthers(view, member, answer);
    if (!others.ok()) return Fail(std::move(others));
    const std::string after = asked->new_server.name();
    seat.previous = std::exchange(seat.address, after);
    if (after == seat.name) seat.address.clear();
    Result<View> next = WithFilling(session, std::move(view), member, *mark);
    if (next && Planted(PlantedBug::kReplacedIsFull)) {
      next->members[static_cast<std::size_t>(member)].state =
          MemberState::kFull;
    }
    return next;
  };
  status = co_await ChangeAll(session, edit);
  if (status.ok()) {
    session.cluster().Log(
        LogLevel::kWarning,
        fmt::format("view {}: {} has taken the place of {} and is filled: put "
                    "it into the list of servers",
                    session.view()->epoch, asked->new_server.name(),
                    asked->old_server.name()));
  }
  co_return status;
}

}  // namespace ers::store
