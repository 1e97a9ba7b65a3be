#include "store/blocks/block_reader.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace ers::store {

using layout::BlockId;
using net::Outcome;
using net::TimePoint;

BlockReader::BlockReader(const BlockGroup& group, const plan::Plan& plan,
                         const Parts& parts)
    : Alarm([](Alarm& self) { static_cast<BlockReader&>(self).OnAlarm(); }),
      group_(group),
      plan_(plan),
      parts_(parts),
      going_(group.session.runtime(), 1) {}

BlockReader::~BlockReader() { assert(!is_set()); }

void BlockReader::Start(Ahead ahead) {
  Session& session = group_.session;
  if (ahead == Ahead::kWindow) {
    window_.emplace(session.link_speed(), session.runtime().Now());
  }
  hedged_ = parts_.hedge.goes_around();
  if (hedged_) group_.Begin(RequestStep::kHedge);
  transfers_.reserve(plan_.reads.size());
  AskForMore();
  EndIfDone();
}

BlockReader::End BlockReader::Finish() {
  if (window_) window_->End(group_.session.runtime().Now());
  return *end_;
}

// --- Asking -----------------------------------------------------------------

void BlockReader::AskForMore() {
  const std::vector<BlockId>& reads = plan_.reads;
  if (next_ == reads.size() || lost_) return;
  const TimePoint now = group_.session.runtime().Now();
  while (next_ < reads.size() && !lost_) {
    if (window_ && !window_->IsOpen() && !NextSharesStep()) break;
    const BlockId block = reads[next_++];
    if (parts_.buffers.Have(block) != nullptr) continue;
    ++coming_;
    // The hedge may have asked for it before its turn.
    Transfer* const asked = hedged_ ? Coming(block) : nullptr;
    if (asked != nullptr) {
      asked->of_plan = true;
      continue;
    }
    Transfer& transfer = Ask(block, now);
    transfer.of_plan = true;
    if (window_) {
      window_->Asked(transfer.bytes);
      transfer.in_window = true;
      transfer.request.on_placed = [](net::Request& request) {
        auto& coming = *static_cast<Transfer*>(request.context);
        coming.reader->OnPlaced(coming);
      };
    }
    Send(transfer);
  }
  SetAlarm();
}

// Does the same step wait for the next block and the one before?
bool BlockReader::NextSharesStep() const {
  return next_ > 0 &&
         parts_.steps.ShareStep(plan_.reads[next_ - 1], plan_.reads[next_]);
}

BlockReader::Transfer& BlockReader::Ask(BlockId block, TimePoint now) {
  Transfer& transfer = *transfers_.emplace_back(std::make_unique<Transfer>());
  transfer.reader = this;
  SetTransfer(group_, SendStep::kReadBlock, net::Verb::kGet, block,
              group_.map.KeyOf(group_.group, block),
              parts_.buffers.ForStored(block), transfer);
  transfer.request.into = transfer.item;
  transfer.request.context = &transfer;
  transfer.request.done = [](net::Request& request) {
    auto& done = *static_cast<Transfer*>(request.context);
    done.reader->OnDone(done);
  };
  transfer.wait = {transfer.member, now,
                   group_.session.late_servers().Patience(transfer.member,
                                                          transfer.bytes, now)};
  transfer.late_at = transfer.wait.due();
  group_.Begin(RequestStep::kRead);
  return transfer;
}

void BlockReader::Send(Transfer& transfer) {
  if (transfer.in_window) {
    window_->AskedAgain(std::exchange(transfer.counted, 0));
  }
  SendTransfer(group_.session, transfer);
}

// --- What comes -------------------------------------------------------------

void BlockReader::OnPlaced(Transfer& transfer) {
  const TimePoint now = group_.session.runtime().Now();
  if (transfer.counted == 0) window_->Travelled(now - transfer.wait.asked_at);
  const std::size_t came = std::min(transfer.request.placed, transfer.bytes);
  window_->Came(came - std::exchange(transfer.counted, came), now);
  AskForMore();
}

void BlockReader::OnDone(Transfer& transfer) {
  if (TakeRepeat(group_.session, transfer)) {
    Send(transfer);
    return;
  }
  transfer.under_way = false;
  if (transfer.of_plan) --coming_;
  group_.session.late_servers().OnEnd(transfer.member, transfer.wait.late,
                                      net::Answered(transfer.request.outcome));
  CountRest(transfer);
  Take(transfer);
  if (transfer.wait.late) OnLateEnd(transfer.member);
  if (holds_) GiveTime();
  AskForMore();
  group_.End(RequestStep::kRead);
  EndIfDone();
}

// Of one that has ended. After one that failed no more is asked for.
void BlockReader::CountRest(const Transfer& transfer) {
  if (!transfer.in_window || transfer.request.outcome != Outcome::kOk) return;
  window_->Came(transfer.bytes - transfer.counted,
                group_.session.runtime().Now());
}

void BlockReader::Take(const Transfer& transfer) {
  const Outcome outcome = transfer.request.outcome;
  const BlockId block = transfer.block;
  const ObjectMap& map = group_.map;
  const BlockHeader expected{map.GenerationOf(group_.group, block),
                             map.Number(group_.group, block)};
  if (outcome == Outcome::kOk &&
      VerifyBlock(expected, transfer.header, parts_.buffers.ForStored(block),
                  transfer.bytes)) {
    parts_.buffers.SetHave(block);
    BlockTraffic& traffic = parts_.traffic;
    ++(map.geometry().IsData(block) ? traffic.data_reads
                                    : traffic.parity_reads);
    traffic.bytes_read += transfer.bytes;
    Session& session = group_.session;
    session.hedge_budget().OnRead(transfer.bytes,
                                  session.late_servers().OneIsSlow());
    parts_.steps.OnInput(block);
    if (hedged_) AbandonRecovered();
    return;
  }
  if (transfer.of_plan) lost_ = true;
  if (outcome == Outcome::kMiss) {
    parts_.missing.SetGone(block);
  } else if (outcome == Outcome::kOk || outcome == Outcome::kWrongSize) {
    parts_.missing.SetDamaged(block);
  } else {
    parts_.missing.SetSilent(block, transfer.member);
  }
  // What is late is then to be replaced by others still.
  if (parts_.hedge.any_late()) AskForHedge();
}

// --- What is late -----------------------------------------------------------

void BlockReader::SetAlarm() {
  if (!group_.session.late_servers().on()) return;
  TimePoint due = TimePoint::max();
  for (const auto& transfer : transfers_) {
    if (!transfer->MayBeLate() || transfer->held) continue;
    due = std::min(due, transfer->late_at);
  }
  Alarms& alarms = group_.session.alarms();
  if (due == TimePoint::max()) {
    alarms.Clear(*this);
  } else {
    alarms.Set(*this, due);
  }
}

void BlockReader::OnAlarm() {
  const TimePoint now = group_.session.runtime().Now();
  if (WaitsForTooMany(now)) {
    Hold(now);
    return;
  }
  bool more = false;
  for (const auto& transfer : transfers_) {
    if (!transfer->IsOver(now)) continue;
    more |= !parts_.hedge.IsLate(transfer->member);
    SetLate(*transfer, now);
  }
  SetAlarm();
  if (more) AskForHedge();
  EndIfDone();
}

// Where more members are waited for than others can replace, no hedge helps
// yet. They may have too much to do, or this process has.
bool BlockReader::WaitsForTooMany(TimePoint now) const {
  TimePoint asked_at;
  for (const auto& transfer : transfers_) {
    if (transfer->IsOver(now)) {
      asked_at = std::max(asked_at, transfer->wait.asked_at);
    }
  }
  std::set<int> members;
  for (const auto& transfer : transfers_) {
    if (transfer->under_way && transfer->wait.asked_at <= asked_at) {
      members.insert(transfer->member);
    }
  }
  return !parts_.hedge.CanReplace(members);
}

void BlockReader::Hold(TimePoint now) {
  for (const auto& transfer : transfers_) {
    if (transfer->IsOver(now)) holds_ = transfer->held = true;
  }
  SetAlarm();
}

// Something has come: what is still under way is late if it is later by much.
void BlockReader::GiveTime() {
  const TimePoint now = group_.session.runtime().Now();
  holds_ = false;
  for (const auto& transfer : transfers_) {
    if (!std::exchange(transfer->held, false)) continue;
    transfer->late_at = now + transfer->wait.patience / 2;
  }
  SetAlarm();
}

void BlockReader::SetLate(Transfer& transfer, TimePoint now) {
  transfer.wait.late = true;
  parts_.hedge.SetLate(transfer.member);
  group_.session.late_servers().OnLate(transfer.member, transfer.wait.patience,
                                       now);
}

// Where more members were late than others can replace, those that still are
// may be fewer now.
void BlockReader::OnLateEnd(int member) {
  for (const auto& transfer : transfers_) {
    const bool late = transfer->under_way && transfer->wait.late;
    if (late && transfer->member == member) return;
  }
  Hedge& hedge = parts_.hedge;
  hedge.SetCame(member);
  if (hedge.any_late() && !hedge.has_plan()) AskForHedge();
}

void BlockReader::AskForHedge() {
  const std::vector<BlockId> more = parts_.hedge.Plan(
      [this](BlockId block) { return Coming(block) != nullptr; });
  if (more.empty()) return;
  if (!std::exchange(hedged_, true)) group_.Begin(RequestStep::kHedge);
  const TimePoint now = group_.session.runtime().Now();
  for (const BlockId block : more) {
    Send(Ask(block, now));
  }
  SetAlarm();
}

BlockReader::Transfer* BlockReader::Coming(BlockId block) const {
  for (const auto& transfer : transfers_) {
    if (transfer->under_way && transfer->block == block) return transfer.get();
  }
  return nullptr;
}

// A block of a member that was avoided, and was asked for after all: its place
// has its content by now.
void BlockReader::AbandonRecovered() {
  for (std::unique_ptr<Transfer>& transfer : transfers_) {
    if (!transfer->under_way || transfer->of_plan ||
        parts_.buffers.Have(transfer->block) == nullptr) {
      continue;
    }
    group_.End(RequestStep::kRead);
    LetGo(std::exchange(transfer, std::make_unique<Transfer>()));
    transfer->under_way = false;
  }
}

void BlockReader::LetGo(std::unique_ptr<Transfer> transfer) const {
  Transfer& left = *transfer;
  Abandon(group_.session, left.wait, left.request, std::move(transfer));
}

// --- The end ----------------------------------------------------------------

std::optional<BlockReader::End> BlockReader::Ended() const {
  if (coming_ == 0 && lost_) return End::kLost;
  if (coming_ == 0 && next_ == plan_.reads.size()) return End::kWhole;
  if (parts_.hedge.IsReady()) return End::kReplaced;
  return {};
}

void BlockReader::EndIfDone() {
  if (end_) return;
  end_ = Ended();
  if (!end_) return;
  group_.session.alarms().Clear(*this);
  for (std::unique_ptr<Transfer>& transfer : transfers_) {
    if (!transfer->under_way) continue;
    group_.End(RequestStep::kRead);
    LetGo(std::move(transfer));
  }
  if (hedged_) group_.End(RequestStep::kHedge);
  going_.CountDown();
}

}  // namespace ers::store
