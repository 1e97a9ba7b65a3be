#include "store/membership/participants.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "net/stat_lines.h"
#include "store/format/keys.h"
#include "store/format/planted_bug.h"
#include "store/format/record.h"
#include "store/membership/batch.h"
#include "store/membership/spare_room.h"
#include "store/membership/view_checks.h"
#include "store/membership/view_records.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

// Others that write the record at the same time: one of them gets through each
// time.
constexpr int kWriteTries = static_cast<int>(kMaxParticipants);
constexpr net::Duration kAskAgainAfter = std::chrono::milliseconds(20);

// What becomes of the record on a member: from what is there to what is to be.
using Edit = std::function<std::vector<Participant>(std::vector<Participant>)>;

struct Written {
  bool done = false;
  Status newer_format;              // of the record, which stays
  net::TimePoint sent;              // when the record left
  std::vector<Participant> before;  // what was there
};

// Changes the record of one member. `behind` is sent behind the write, on the
// same connection, if not null.
Task<Written> WriteParticipants(Session& session, net::ServerLink& link,
                                SendStep step, const Edit& edit,
                                net::Request* behind) {
  Written written;
  for (int i = 0; i < kWriteTries; ++i) {
    net::Request read;
    read.verb = net::Verb::kVivify;
    read.key = kParticipantsKey;
    Batch batch(session.runtime());
    batch.Send(SendStep::kReadParticipants, link, read);
    co_await batch;
    if (read.outcome != Outcome::kOk && read.outcome != Outcome::kCreated) {
      break;
    }
    Result<std::vector<Participant>> there = DecodeParticipants(read.value);
    if (IsNewerFormat(there)) {
      written.newer_format = NewerFormat(link, there.error());
      break;
    }
    written.before = there ? std::move(*there) : std::vector<Participant>();
    const std::string text = EncodeParticipants(edit(written.before));
    const iovec body{const_cast<char*>(text.data()), text.size()};
    net::Request write;
    write.verb = net::Verb::kCas;
    write.key = kParticipantsKey;
    write.token = read.item_token;
    write.only_connection = read.connection;
    write.body = {&body, 1};
    written.sent = session.runtime().Now();
    if (behind != nullptr) behind->only_connection = read.connection;
    co_await WriteRecord(session, step, link, write, behind);
    written.done = write.outcome == Outcome::kOk;
    if (write.outcome != Outcome::kExists) break;
  }
  co_return written;
}

// What a member's view record says to a process that joins under `view`, whose
// record is `text`: nearly always the same.
void CompareViews(net::ServerLink& link, const View& view,
                  const std::string& text, const std::string& record,
                  Heartbeat& heartbeat) {
  if (record == text) {
    heartbeat.epoch = std::max(heartbeat.epoch, view.epoch);
    return;
  }
  const Result<View> there = DecodeView(record);
  if (IsNewerFormat(there)) {
    heartbeat.newer_format = NewerFormat(link, there.error());
  }
  heartbeat.outdated |= !there || there->epoch < view.epoch;
  if (!there) return;
  heartbeat.epoch = std::max(heartbeat.epoch, there->epoch);
  heartbeat.split |= there->epoch == view.epoch;
}

// Gives one member of `view` a heartbeat. A process that joins reads the
// member's view record behind it: one that stores a view after that finds the
// line. `text`: the view's own record, of use to a process that joins.
Task<void> HeartbeatOn(Session& session, net::ServerLink& link,
                       const View& view, const std::string& text,
                       Purpose purpose, Heartbeat& heartbeat,
                       net::Latch& latch) {
  const int member = link.member();
  const bool joins = purpose == Purpose::kJoin;
  Lease& lease = session.cluster().lease;
  const Edit edit = [&](std::vector<Participant> participants) {
    const net::TimePoint now = session.runtime().Now();
    lease.Observe(participants, now);
    return lease.WithOwnEntry(participants, view.epoch, now,
                              session.runtime().Random());
  };
  net::Request view_record;
  view_record.verb = net::Verb::kGet;
  view_record.key = kViewKey;
  view_record.no_bump = true;
  const Written written =
      co_await WriteParticipants(session, link, SendStep::kWriteParticipants,
                                 edit, joins ? &view_record : nullptr);
  MergeParticipants(written.before, heartbeat.participants);
  if (!written.newer_format.ok()) heartbeat.newer_format = written.newer_format;
  bool held = written.done;
  if (joins && held) {
    held = net::Answered(view_record.outcome);
    CompareViews(link, view, text, view_record.value, heartbeat);
  }
  if (held) {
    ++heartbeat.held;
    if (view.members[member].state == MemberState::kInSync) ++heartbeat.in_sync;
    lease.Renewed(member, written.sent);
    if (!session.spare_room().Has(link, kViewKey, 1)) {
      KeepRoom(session, link, kViewKey, EncodeView(view).size());
    }
    // Without waiting for a member that takes its time.
    const bool goes_on =
        purpose == Purpose::kGoOn && lease.Holds(session.runtime().Now());
    if (goes_on) lease.Confirm(view);
  } else {
    heartbeat.silent.push_back(member);
  }
  latch.CountDown();
}

// What a member's clock shows, on the way.
Task<void> AskClock(Session& session, net::ServerLink& link,
                    net::Latch& latch) {
  net::Request ask;
  ask.verb = net::Verb::kStats;
  const net::TimePoint asked = session.runtime().Now();
  Batch batch(session.runtime());
  batch.Send(SendStep::kServerStats, link, ask);
  co_await batch;
  const auto seconds = net::StatNumber(ask.value, "time");
  if (ask.outcome == Outcome::kOk && seconds) {
    session.cluster().clock.Note(session.runtime(), link.member(), *seconds,
                                 asked);
  }
  latch.CountDown();
}

Task<void> LeaveOn(Session& session, net::ServerLink& link, net::Latch& latch) {
  Lease& lease = session.cluster().lease;
  const Edit edit = [&lease](std::vector<Participant> participants) {
    return lease.WithoutOwnEntry(std::move(participants));
  };
  (void)co_await WriteParticipants(session, link, SendStep::kLeaveParticipants,
                                   edit, nullptr);
  latch.CountDown();
}

std::string Labels(const std::vector<Participant>& participants) {
  std::string labels;
  for (const Participant& participant : participants) {
    labels += (labels.empty() ? "" : ", ") + participant.label;
  }
  return labels;
}

}  // namespace

Task<std::unique_ptr<HeartbeatClaim>> HeartbeatClaim::Await(Session& session) {
  Lease& lease = session.cluster().lease;
  for (;;) {
    std::shared_ptr<Wakeup> wakeup = Wakeup::New(session.runtime());
    if (lease.BeginHeartbeat(session.runtime().Now(), wakeup->Callback())) {
      break;
    }
    co_await wakeup->Wait(session.cluster().options.operation_timeout);
  }
  co_return std::make_unique<HeartbeatClaim>(lease);
}

std::unique_ptr<HeartbeatClaim> HeartbeatClaim::Try(Session& session) {
  Lease& lease = session.cluster().lease;
  if (!lease.BeginHeartbeat(session.runtime().Now(), {})) return nullptr;
  return std::make_unique<HeartbeatClaim>(lease);
}

Task<Heartbeat> HeartbeatAll(Session& session, ViewLinks& links,
                             const View& view, Purpose purpose) {
  Heartbeat heartbeat;
  std::string text;
  if (purpose == Purpose::kJoin) text = EncodeView(view);
  net::Latch latch(session.runtime());
  const bool asks = session.cluster().clock.TakeTurn(session.runtime().Now());
  for (int i = 0; i < session.members(); ++i) {
    if (view.members[i].state == MemberState::kDown) continue;
    if (asks) {
      latch.Add();
      net::Spawn(AskClock(session, links.At(i), latch));
    }
    latch.Add();
    net::Spawn(HeartbeatOn(session, links.At(i), view, text, purpose, heartbeat,
                           latch));
  }
  co_await latch;
  for (const Participant& participant : heartbeat.participants) {
    heartbeat.epoch = std::max(heartbeat.epoch, participant.epoch);
  }
  co_return heartbeat;
}

Status Stalled(const std::vector<Participant>& behind) {
  return {StatusCode::kUnavailable,
          fmt::format("{} goes on under an old view of the servers: stop it",
                      Labels(behind))};
}

Task<void> AskLater(Session& session) {
  const std::shared_ptr<Wakeup> nap = Wakeup::New(session.runtime());
  (void)co_await nap->Wait(kAskAgainAfter);
}

Task<Result<bool>> AwaitParticipants(Session& session, const View& next) {
  Lease& lease = session.cluster().lease;
  lease.RaiseEpoch(next.epoch);
  ViewLinks links(session, next);
  const net::TimePoint deadline =
      session.runtime().Now() + session.cluster().options.operation_timeout;
  for (;;) {
    std::unique_ptr<HeartbeatClaim> claim =
        co_await HeartbeatClaim::Await(session);
    const Heartbeat heartbeat =
        co_await HeartbeatAll(session, links, next, Purpose::kChange);
    claim.reset();
    if (!heartbeat.newer_format.ok()) co_return Fail(heartbeat.newer_format);
    // One that is backfilled has not seen the lines of before.
    if (heartbeat.in_sync < next.Quorum()) {
      std::string silent;
      for (const int member : heartbeat.silent) {
        silent += (silent.empty() ? "" : "; ") + session.Describe(member);
      }
      co_return Fail(
          StatusCode::kUnavailable,
          fmt::format("only {} of the {} servers needed took the new view "
                      "({}): start what does not answer",
                      heartbeat.in_sync, next.Quorum(), silent));
    }
    if (heartbeat.epoch > next.epoch) {
      co_await AskLater(session);
      co_return false;
    }
    const net::TimePoint now = session.runtime().Now();
    const std::vector<Participant> behind =
        lease.Behind(heartbeat.participants, next.epoch, now);
    if (behind.empty() || Planted(PlantedBug::kNoParticipants)) co_return true;
    if (now >= deadline) co_return Fail(Stalled(behind));
    co_await AskLater(session);
  }
}

Task<void> LeaveParticipants(Session& session) {
  net::Latch latch(session.runtime());
  // A heartbeat that is under way goes ahead of this on each connection. A
  // server that is refused has another memory, which never took the line.
  for (int i = 0; i < session.members(); ++i) {
    net::ServerLink& link = session.link(i);
    if (link.state() != net::ServerLink::State::kUp) continue;
    latch.Add();
    net::Spawn(LeaveOn(session, link, latch));
  }
  co_await latch;
}

}  // namespace ers::store
