#include "store/replicas/copy_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "store/format/planted_bug.h"
#include "store/membership/send.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::TimePoint;

// What a manifest takes at least.
constexpr std::size_t kManifestBytes = 256;

bool IsInSync(const View& view, int member) {
  return view.members[static_cast<std::size_t>(member)].state ==
         MemberState::kInSync;
}

}  // namespace

CopyRead::CopyRead(const ReplicaKey& key, const ReplicaReader& reader,
                   PlainItems plain, const PrimaryTerms& terms)
    : Alarm([](Alarm& self) { static_cast<CopyRead&>(self).OnAlarm(); }),
      key_(key),
      reader_(reader),
      plain_(plain),
      terms_(terms),
      going_(key.session.runtime()) {}

CopyRead::~CopyRead() { assert(!is_set()); }

bool CopyRead::UnderThisView() const {
  return view_->epoch == key_.session.view()->epoch;
}

std::optional<Result<ShownManifest>> CopyRead::TakeAnswer() {
  // The view may have changed since.
  if (!UnderThisView()) answer_.reset();
  return std::exchange(answer_, std::nullopt);
}

void CopyRead::FreeBytes() {
  for (const auto& asked : asked_) {
    if (asked && !asked->under_way) std::string().swap(asked->request.value);
  }
}

// --- Asking -----------------------------------------------------------------

Status CopyRead::Start() {
  Session& session = key_.session;
  view_ = session.view();
  Result<Replicas> replicas = key_.ReplicasUnder(*view_);
  if (!replicas) return replicas.error();
  replicas_ = std::move(*replicas);
  asked_.clear();
  answer_.reset();
  silent_ = false;
  hedged_ = false;
  const std::shared_ptr<const Manifest> known =
      session.manifests().Find(key_.name);
  // What is remembered has no value in it.
  bytes_ = known ? 0 : session.item_lengths().longest();
  going_.Add();
  member_ = First();
  Ask(member_);
  decides_ = asked_.front().get();
  if (member_ != replicas_->primary() && !AsksAny()) {
    session.counters().hedges_at_once.Add();
    Probe(replicas_->primary());
  }
  SetAlarm();
  return {};
}

// Of several the primary, unless it is known to be late.
int CopyRead::First() const {
  const int primary = replicas_->primary();
  Session& session = key_.session;
  const LateServers& servers = session.late_servers();
  if (AsksAny()) {
    std::vector<int> in_sync;
    for (const int member : replicas_->members) {
      if (IsInSync(*view_, member)) in_sync.push_back(member);
    }
    return in_sync[session.runtime().Random() % in_sync.size()];
  }
  if (!servers.any()) return primary;
  const TimePoint now = session.runtime().Now();
  if (!servers.IsShunned(primary, now)) return primary;
  for (const int member : replicas_->members) {
    if (IsInSync(*view_, member) && session.Readable(member) &&
        !servers.IsShunned(member, now)) {
      return member;
    }
  }
  return primary;
}

// That may be sooner than those that were asked: the primary above all.
std::optional<int> CopyRead::Another() const {
  Session& session = key_.session;
  const TimePoint now = session.runtime().Now();
  for (auto i = replicas_->members.rbegin(); i != replicas_->members.rend();
       ++i) {
    const bool asked = std::any_of(asked_.begin(), asked_.end(),
                                   [member = *i](const auto& before) {
                                     return before->wait.member == member;
                                   });
    if (!asked && IsInSync(*view_, *i) && session.Readable(*i) &&
        !session.late_servers().IsShunned(*i, now)) {
      return *i;
    }
  }
  return std::nullopt;
}

std::unique_ptr<CopyRead::Asked> CopyRead::Prepare(int member) const {
  Session& session = key_.session;
  const TimePoint now = session.runtime().Now();
  auto asked = std::make_unique<Asked>();
  asked->at_primary = member == replicas_->primary();
  asked->asked_us = session.WallMicros();
  asked->wait = {member, now,
                 session.late_servers().Patience(member, bytes_, now)};
  net::Request& request = asked->request;
  request.verb = net::Verb::kGet;
  request.key = key_.item;
  request.no_bump = terms_.no_bump;
  request.report_access = terms_.report_access;
  return asked;
}

void CopyRead::Ask(int member) {
  Asked& asked = *asked_.emplace_back(Prepare(member));
  asked.read = this;
  asked.under_way = true;
  asked.request.context = &asked;
  asked.request.done = [](net::Request& request) {
    auto& done = *static_cast<Asked*>(request.context);
    done.read->OnDone(done);
  };
  Send(key_.session.runtime(), SendStep::kReadPrimary,
       key_.session.link(member), asked.request);
}

// One that is slow shows whether it still is.
void CopyRead::Probe(int member) const {
  Session& session = key_.session;
  if (!session.late_servers().TakeProbe(member, session.runtime().Now())) {
    return;
  }
  std::unique_ptr<Asked> asked = Prepare(member);
  net::Request& request = asked->request;
  request.no_bump = true;
  asked->key = key_.item;
  request.key = asked->key;
  const PatientWait wait = asked->wait;
  AbandonProbe(session, wait, request, std::move(asked));
  Send(session.runtime(), SendStep::kReadPrimary, session.link(member),
       request);
}

// --- What comes -------------------------------------------------------------

void CopyRead::OnDone(Asked& asked) {
  Session& session = key_.session;
  const bool answered = Answered(asked.request.outcome);
  asked.under_way = false;
  session.late_servers().OnEnd(asked.wait.member, asked.wait.late, answered);
  if (answered) {
    session.hedge_budget().OnRead(asked.request.item_bytes,
                                  session.late_servers().OneIsSlow());
    session.item_lengths().Note(asked.request.item_bytes);
  }
  answer_ = AnswerOf(asked);
  if (answer_) decides_ = &asked;
  if (answer_ && hedged_ && &asked != asked_.front().get()) {
    session.counters().hedges_won.Add();
  }
  EndIfDone();
}

std::optional<Result<ShownManifest>> CopyRead::AnswerOf(
    const Asked& asked) const {
  const Outcome outcome = asked.request.outcome;
  if (!Answered(outcome) || !UnderThisView()) return std::nullopt;
  const int member = asked.wait.member;
  if (outcome != Outcome::kOk && outcome != Outcome::kMiss) {
    if (!asked.at_primary) return std::nullopt;
    return Fail(StatusCode::kUnavailable,
                fmt::format("{}: {}", key_.session.member_name(member),
                            asked.request.value));
  }
  Result<ReplicaCopy> copy =
      InterpretCopy(*view_, member, key_.name, plain_, asked.request);
  if (!copy && !asked.at_primary) return std::nullopt;
  if (!copy) return Fail(copy.error());
  const bool takes_it =
      (asked.at_primary && terms_.take_uncommitted) ||
      (Planted(PlantedBug::kBelieveHedge) && hedged_ && !asked.at_primary);
  if (!copy->manifest || (!takes_it && !reader_.IsCommitted(*copy))) {
    return std::nullopt;
  }
  ShownManifest shown = reader_.Shown(copy->manifest, asked.asked_us, terms_);
  // A longer life that is under way is at the primary before it is everywhere.
  if (!shown && !asked.at_primary) return std::nullopt;
  return shown;
}

// --- What is late -----------------------------------------------------------

void CopyRead::SetAlarm() {
  Session& session = key_.session;
  if (!session.late_servers().on()) return;
  TimePoint due = TimePoint::max();
  for (const auto& asked : asked_) {
    if (!asked->under_way || asked->wait.late) continue;
    due = std::min(due, asked->wait.due());
  }
  if (due == TimePoint::max()) {
    session.alarms().Clear(*this);
  } else {
    session.alarms().Set(*this, due);
  }
}

void CopyRead::OnAlarm() {
  LateServers& servers = key_.session.late_servers();
  const TimePoint now = key_.session.runtime().Now();
  for (const auto& asked : asked_) {
    if (!asked->under_way || asked->wait.late || asked->wait.due() > now) {
      continue;
    }
    asked->wait.late = true;
    servers.OnLate(asked->wait.member, asked->wait.patience, now);
  }
  Hedge();
  SetAlarm();
}

void CopyRead::Hedge() {
  const std::optional<int> other = Another();
  if (!other) return;
  Session& session = key_.session;
  if (!session.hedge_budget().Spend(bytes_ + kManifestBytes)) {
    session.counters().hedges_refused.Add();
    return;
  }
  session.counters().hedges_sent.Add();
  if (!std::exchange(hedged_, true) && key_.steps != nullptr) {
    key_.steps->Begin(RequestStep::kHedge);
  }
  Ask(*other);
}

// --- The end ----------------------------------------------------------------

void CopyRead::EndIfDone() {
  const Asked& first = *asked_.front();
  const bool is_one_under_way =
      std::any_of(asked_.begin(), asked_.end(),
                  [](const auto& asked) { return asked->under_way; });
  const bool first_answered =
      !first.under_way && Answered(first.request.outcome);
  if (!answer_ && !first_answered && is_one_under_way) return;
  silent_ = !first.under_way && !first_answered;
  Session& session = key_.session;
  session.alarms().Clear(*this);
  if (hedged_ && key_.steps != nullptr) key_.steps->End(RequestStep::kHedge);
  for (std::unique_ptr<Asked>& asked : asked_) {
    if (!asked->under_way) continue;
    Asked& left = *asked;
    left.key = key_.item;
    left.request.key = left.key;
    Abandon(session, left.wait, left.request, std::move(asked));
  }
  going_.CountDown();
  // The last thing that is done here: it may destroy this.
  const auto on_end = std::exchange(on_end_, nullptr);
  if (on_end != nullptr) on_end(on_end_context_);
}

}  // namespace ers::store
