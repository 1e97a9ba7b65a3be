#include "store/blocks/hedge.h"

#include <algorithm>
#include <utility>

#include "store/blocks/block_transfer.h"
#include "store/replicas/abandoned_read.h"

namespace ers::store {
namespace {

// Asks for a block of a slow member, to see whether it still is slow.
void ProbeByRead(const BlockGroup& group, layout::BlockId block) {
  Session& session = group.session;
  auto read = std::make_unique<BlockTransfer>();
  BlockTransfer& sent = *read;
  // Nothing is written to its payload's memory: it has none.
  SetTransfer(group, SendStep::kReadBlock, net::Verb::kGet, block,
              group.map.KeyOf(group.group, block), nullptr, sent);
  sent.request.into = sent.item;
  sent.request.no_bump = true;
  const net::TimePoint now = session.runtime().Now();
  const PatientWait wait{
      sent.member, now,
      session.late_servers().Patience(sent.member, sent.bytes, now)};
  AbandonProbe(session, wait, sent.request, std::move(read));
  SendTransfer(session, sent);
}

}  // namespace

using layout::BlockId;

Hedge::Hedge(const BlockGroup& group, const BlockBuffers& buffers,
             const MissingBlocks& missing, const Planner& planner)
    : group_(group), buffers_(buffers), missing_(missing), planner_(planner) {}

// --- From the start ---------------------------------------------------------

// Where not all that are shunned can be done without, one of them perhaps can.
std::optional<plan::Plan> Hedge::Begin() {
  avoided_.clear();
  late_.clear();
  plan_.reset();
  std::optional<plan::Plan> best = planner_(missing_.all());
  if (!best || !group_.session.late_servers().any()) return best;
  const std::set<int> shunned = Shunned();
  int waits = WaitsFor(*best, shunned);
  if (waits == 0) return best;
  Probe(*best);
  std::vector<std::set<int>> choices = {shunned};
  if (shunned.size() > 1) {
    for (const int member : shunned) choices.push_back({member});
  }
  for (const std::set<int>& choice : choices) {
    std::optional<plan::Plan> plan = Without(choice);
    if (!plan || WaitsFor(*plan, shunned) >= waits) continue;
    const std::size_t bytes = BytesOf(plan->reads);
    if (!Afford(bytes - std::min(bytes, BytesOf(best->reads)))) continue;
    waits = WaitsFor(*plan, shunned);
    avoided_ = choice;
    best = std::move(plan);
    if (waits == 0) break;
  }
  if (goes_around()) group_.session.counters().hedges_at_once.Add();
  return best;
}

// What is late now may come at once. What is slow does not.
int Hedge::WaitsFor(const plan::Plan& plan,
                    const std::set<int>& shunned) const {
  constexpr int kSlowCounts = 1000;
  int waits = 0;
  for (const int member : shunned) {
    const bool slow = group_.session.late_servers().IsSlow(member);
    waits += ReadsOf(plan, {member}) * (slow ? kSlowCounts : 1);
  }
  return waits;
}

std::set<int> Hedge::Shunned() const {
  Session& session = group_.session;
  const net::TimePoint now = session.runtime().Now();
  std::set<int> shunned;
  for (int node = 0; node < group_.map.geometry().node_count(); ++node) {
    const int member = group_.map.MemberAt(group_.group, node);
    if (session.late_servers().IsShunned(member, now)) shunned.insert(member);
  }
  return shunned;
}

// Of each member that the plan would wait for, one block at most.
void Hedge::Probe(const plan::Plan& plain) {
  Session& session = group_.session;
  const net::TimePoint now = session.runtime().Now();
  for (const BlockId block : plain.reads) {
    const int member = group_.map.MemberOf(group_.group, block);
    if (!session.late_servers().TakeProbe(member, now)) continue;
    ProbeByRead(group_, block);
  }
}

// --- Under way --------------------------------------------------------------

bool Hedge::CanReplace(std::set<int> members) const {
  members.insert(late_.begin(), late_.end());
  return Without(members).has_value();
}

// A member that was avoided may yet be sooner than one that is late. The plan
// of before stays, also with late blocks, where there is no other.
std::vector<BlockId> Hedge::Plan(const std::function<bool(BlockId)>& coming) {
  if (plan_ && missing_.ReadBy(*plan_)) plan_.reset();
  std::set<int> both = late_;
  both.insert(avoided_.begin(), avoided_.end());
  std::optional<plan::Plan> plan = Without(both);
  if (!plan && both.size() > late_.size()) plan = Without(late_);
  if (!plan || ReadsOf(*plan, late_) > 0) return {};
  std::vector<BlockId> more;
  for (const BlockId block : plan->reads) {
    if (buffers_.Have(block) == nullptr && !coming(block)) {
      more.push_back(block);
    }
  }
  if (!Afford(BytesOf(more))) return {};
  if (!more.empty()) group_.session.counters().hedges_sent.Add();
  plan_ = std::move(plan);
  return more;
}

bool Hedge::IsReady() const {
  return plan_ && std::all_of(plan_->reads.begin(), plan_->reads.end(),
                              [this](BlockId block) {
                                return buffers_.Have(block) != nullptr;
                              });
}

plan::Plan Hedge::Take() {
  group_.session.counters().hedges_won.Add();
  avoided_.clear();
  late_.clear();
  return *std::exchange(plan_, std::nullopt);
}

// --- Both -------------------------------------------------------------------

// As blocks, not as nodes: new blocks may be put there.
std::optional<plan::Plan> Hedge::Without(const std::set<int>& members) const {
  const ObjectMap& map = group_.map;
  plan::Missing missing = missing_.all();
  for (const BlockId block : map.geometry().StoredBlocks(map.width())) {
    if (buffers_.Have(block) == nullptr &&
        members.contains(map.MemberOf(group_.group, block))) {
      missing.blocks.push_back(block);
    }
  }
  return planner_(missing);
}

// Those that are not in hand.
int Hedge::ReadsOf(const plan::Plan& plan, const std::set<int>& members) const {
  return static_cast<int>(
      std::count_if(plan.reads.begin(), plan.reads.end(), [&](BlockId block) {
        return buffers_.Have(block) == nullptr &&
               members.contains(group_.map.MemberOf(group_.group, block));
      }));
}

std::size_t Hedge::BytesOf(const std::vector<BlockId>& blocks) const {
  std::size_t bytes = 0;
  for (const BlockId block : blocks) bytes += group_.BlockBytes(block);
  return bytes;
}

bool Hedge::Afford(std::size_t bytes) {
  if (bytes == 0) return true;
  Session& session = group_.session;
  if (session.hedge_budget().Spend(bytes)) return true;
  session.counters().hedges_refused.Add();
  return false;
}

}  // namespace ers::store
