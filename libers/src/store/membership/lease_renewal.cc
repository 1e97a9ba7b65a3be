#include "store/membership/lease_renewal.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "net/stat_lines.h"
#include "store/format/planted_bug.h"
#include "store/membership/batch.h"
#include "store/membership/lease.h"
#include "store/membership/member_records.h"
#include "store/membership/participants.h"
#include "store/membership/view_checks.h"

namespace ers::store {
namespace {

using net::Task;

// More than one that are asked may be late, and have not failed yet.
constexpr std::size_t kAskedMore = 1;

bool AnswersAtOnce(Session& session, int member) {
  const net::ServerLink::State state = session.link(member).state();
  return state != net::ServerLink::State::kFailed &&
         state != net::ServerLink::State::kRefused &&
         !session.cluster().lease.IsAsked(member);
}

// As many members as a lease takes and one more, each in turn; those first
// that, as far as is known, do not take their time. Twice as many, where the
// lease has not long to last.
std::vector<int> SomeMembers(Session& session, const View& view) {
  std::vector<int> members;
  for (int i = 0; i < session.members(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (view.members[at].state != MemberState::kDown) members.push_back(i);
  }
  Lease& lease = session.cluster().lease;
  std::size_t enough =
      static_cast<std::size_t>(Lease::MembersNeeded(view)) + kAskedMore;
  const net::TimePoint now = session.runtime().Now();
  if (lease.Holds(now) && !lease.Holds(now + lease.term() / 2)) enough *= 2;
  if (members.size() <= enough) return members;
  const std::size_t first = lease.TakeTurn(enough) % members.size();
  std::rotate(members.begin(),
              members.begin() + static_cast<std::ptrdiff_t>(first),
              members.end());
  std::partition(members.begin(), members.end(), [&session](int member) {
    return AnswersAtOnce(session, member);
  });
  members.resize(enough);
  return members;
}

// Says, while it lives, that a heartbeat to the member is under way.
class Asking {
 public:
  Asking(Lease& lease, int member) : lease_(lease), member_(member) {
    lease_.BeginAsking(member_);
  }
  ~Asking() { lease_.EndAsking(member_); }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  Lease& lease_;
  int member_;
};

// What there is no more on the member is put there anew: by one call at a time.
Task<RenewedEntry> PlaceAnew(Session& session, net::ServerLink& link,
                             std::uint64_t epoch) {
  const Placement placement =
      co_await PlaceEntry(session, link, epoch, /*comes=*/false);
  RenewedEntry renewed;
  renewed.sent = placement.sent;
  renewed.lease_for = placement.lease_for;
  if (placement.connection == 0) co_return renewed;
  renewed.records =
      co_await ReadRecords(session, link, placement.connection, nullptr);
  renewed.there =
      renewed.records.connection != 0 && ListsSelf(session, renewed.records);
  co_return renewed;
}

// Shared by what is under way to several members.
struct ToSeveral {
  ToSeveral(Session& its_session, std::shared_ptr<const View> its_view)
      : session(its_session),
        view(std::move(its_view)),
        over(session.runtime(), 1) {}

  Session& session;
  const std::shared_ptr<const View> view;
  int under_way = 0;
  net::Latch over;

  void End() {
    if (over.count() > 0) over.CountDown();
  }
};

// One heartbeat.
struct Beat : ToSeveral {
  using ToSeveral::ToSeveral;

  // A lease that is over by now may be taken for gone by others that are about
  // to act, until they see the entry move.
  const bool goes_on = session.cluster().lease.Holds(session.runtime().Now());
  Renewal renewal;
};

Task<void> RenewOn(std::shared_ptr<Beat> beat, int member) {
  Session& session = beat->session;
  const std::shared_ptr<const View>& view = beat->view;
  Renewal& renewal = beat->renewal;
  Lease& lease = session.cluster().lease;
  net::ServerLink& link = session.link(member);
  const Asking asking(lease, member);
  const EntryTerms wanted = lease.TermsOfEntry(view->epoch);
  const EntryTerms there = OwnTerms(session, link);
  RenewedEntry renewed;
  std::unique_ptr<PlacingClaim> claim;
  if (there != wanted) claim = PlacingClaim::Try(session);
  if (!claim && there.epoch == wanted.epoch) {
    renewed = co_await RenewEntry(session, link);
    const bool lost = !renewed.there && renewed.records.connection != 0;
    if (lost) claim = PlacingClaim::Try(session);
  }
  if (claim) renewed = co_await PlaceAnew(session, link, wanted.epoch);
  claim.reset();
  if (renewed.there) {
    const StampedView& shown = renewed.records.view;
    renewal.epoch = std::max(renewal.epoch, shown.epoch);
    renewal.outdated |= shown.epoch < view->epoch;
    lease.Shown(member, renewed.sent);
    // Processes of a later view have asked the member already; and one whose
    // lease is over by now may count as gone.
    if (beat->goes_on && shown.epoch <= view->epoch &&
        lease.Holds(session.runtime().Now())) {
      NoteRenewed(session, link, renewed.sent, renewed.lease_for);
      lease.Confirm(*view);
    }
    KeepRoomFor(session, link, renewed.records);
  }
  const bool later = renewal.epoch > view->epoch;
  if (--beat->under_way == 0 || later) beat->End();
}

// What a member's clock shows, on the way.
Task<void> AskClock(Session& session, int member) {
  net::Request ask;
  ask.verb = net::Verb::kStats;
  const net::TimePoint asked = session.runtime().Now();
  Batch batch(session.runtime());
  batch.Send(SendStep::kServerStats, session.link(member), ask);
  co_await batch;
  const auto seconds = net::StatNumber(ask.value, "time");
  if (ask.outcome == net::Outcome::kOk && seconds) {
    session.cluster().clock.Note(session.runtime(), member, *seconds, asked);
  }
}

// How long leases are to be, by how long enough members take for most answers.
void ChooseTerm(Session& session, const View& view) {
  constexpr double kUsualQuantile = 0.9;
  std::vector<net::Duration> took;
  for (int i = 0; i < session.members(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (view.members[at].state == MemberState::kDown) continue;
    const auto most = session.latency(i).OfReplies(0).Quantile(kUsualQuantile,
                                                               /*least=*/1);
    if (most) took.push_back(*most);
  }
  const int needed = Lease::MembersNeeded(view);
  if (static_cast<int>(took.size()) < needed) return;
  const auto last = took.begin() + needed - 1;
  std::nth_element(took.begin(), last, took.end());
  session.cluster().lease.ChooseTerm(*last);
}

}  // namespace

Task<Renewal> RenewLease(Session& session, std::shared_ptr<const View> view) {
  ChooseTerm(session, *view);
  const bool asks = session.cluster().clock.TakeTurn(session.runtime().Now());
  const auto beat = std::make_shared<Beat>(session, std::move(view));
  beat->renewal.epoch =
      session.cluster().lease.TermsOfEntry(beat->view->epoch).epoch;
  const std::vector<int> members = SomeMembers(session, *beat->view);
  beat->under_way = static_cast<int>(members.size());
  if (members.empty()) beat->End();
  for (const int member : members) {
    if (asks) session.Detach(AskClock(session, member));
    session.Detach(RenewOn(beat, member));
  }
  co_await beat->over;
  co_return beat->renewal;
}

namespace {

// Taking up a lease again.
struct Resumption : ToSeveral {
  using ToSeveral::ToSeveral;

  const int needed = Lease::MembersNeeded(*view);
  std::vector<std::pair<int, RenewedEntry>> moved;  // and not read yet
  int moved_on = 0;
  std::uint64_t epoch = 0;  // the newest view
};

// The second half: what the member shows behind that.
Task<void> ReadBehind(std::shared_ptr<Resumption> all, int member,
                      RenewedEntry entry) {
  Session& session = all->session;
  Lease& lease = session.cluster().lease;
  const MemberRecords records = co_await ReadRecords(
      session, session.link(member), entry.records.connection, nullptr);
  if (records.connection != 0 && records.refusal.ok()) {
    all->epoch = std::max(all->epoch, records.view.epoch);
    if (records.view.epoch <= all->view->epoch && ListsSelf(session, records)) {
      NoteRenewed(session, session.link(member), entry.sent, entry.lease_for);
    }
  }
  const bool current = all->epoch <= all->view->epoch;
  if (current) lease.Confirm(*all->view);
  if (--all->under_way == 0 || !current ||
      lease.Holds(session.runtime().Now())) {
    all->End();
  }
}

// The first half: the entry moves.
Task<void> MoveOn(std::shared_ptr<Resumption> all, int member) {
  Session& session = all->session;
  Lease& lease = session.cluster().lease;
  net::ServerLink& link = session.link(member);
  const Asking asking(lease, member);
  const std::uint64_t epoch = lease.TermsOfEntry(all->view->epoch).epoch;
  RenewedEntry renewed;
  // Of any length: it may be that of a moment ago.
  if (OwnTerms(session, link).epoch == epoch) {
    renewed = co_await RenewEntry(session, link);
  }
  if (renewed.there) {
    lease.Shown(member, renewed.sent);
    ++all->moved_on;
    if (Planted(PlantedBug::kResumesAtOnce) &&
        renewed.records.view.epoch <= all->view->epoch) {
      NoteRenewed(session, link, renewed.sent, renewed.lease_for);
      lease.Confirm(*all->view);
    }
    all->moved.emplace_back(member, std::move(renewed));
  }
  if (all->moved_on >= all->needed) {
    for (auto& [of, entry] : std::exchange(all->moved, {})) {
      ++all->under_way;
      session.Detach(ReadBehind(all, of, std::move(entry)));
    }
  }
  if (--all->under_way == 0) all->End();
}

// Until it holds, or all that were asked have answered.
Task<void> Resume(Session& session, std::shared_ptr<const View> view) {
  const auto all = std::make_shared<Resumption>(session, std::move(view));
  all->epoch = session.cluster().lease.TermsOfEntry(all->view->epoch).epoch;
  const std::vector<int> members = SomeMembers(session, *all->view);
  all->under_way = static_cast<int>(members.size());
  if (members.empty()) all->End();
  for (const int member : members) session.Detach(MoveOn(all, member));
  co_await all->over;
}

}  // namespace

Task<bool> HoldOrResume(Session& session) {
  const Lease& lease = session.cluster().lease;
  if (lease.Holds(session.runtime().Now())) co_return true;
  // A change of the view ends with a lease, and needs the claim for that.
  co_await AwaitChange(session);
  // One call does it for all.
  const std::unique_ptr<PlacingClaim> claim =
      co_await PlacingClaim::Await(session);
  const net::TimePoint now = session.runtime().Now();
  const std::shared_ptr<const View> view = session.view();
  ChooseTerm(session, *view);
  if (!lease.Holds(now) && lease.MayResume(*view, now)) {
    co_await Resume(session, view);
  }
  co_return lease.Holds(session.runtime().Now());
}

}  // namespace ers::store
