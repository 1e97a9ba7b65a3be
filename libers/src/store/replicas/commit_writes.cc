#include "store/replicas/commit_writes.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "store/format/expiry.h"
#include "store/format/planted_bug.h"
#include "store/membership/send.h"
#include "store/membership/view_checks.h"

namespace ers::store {

using net::Outcome;
using net::Task;

CommitWrites::CommitWrites(const ReplicaKey& key, ReplicaWriter& writer,
                           const ReplicasRead& base, const Manifest& next,
                           NewToken token)
    : key_(key),
      writer_(writer),
      base_(base),
      next_(next),
      token_(token),
      copies_(next),
      writes_(base.copies.size()),
      going_(key.session.runtime()) {
  for (std::size_t i = 0; i < writes_.size(); ++i) {
    writes_[i].all = this;
    writes_[i].replica = &base.copies[i];
  }
}

bool CommitWrites::Start(bool over_plain) {
  const std::int64_t now_us = key_.session.WallMicros();
  going_.Add();
  for (Write& write : writes_) {
    if (IsPlain(*write.replica) == over_plain) Begin(write, now_us);
  }
  if (under_way_ > 0) return true;
  going_.CountDown();
  return false;
}

void CommitWrites::Begin(Write& write, std::int64_t now_us) {
  const ReplicaCopy& replica = *write.replica;
  const bool at_primary = &replica == &base_.primary();
  write.begun = true;
  const bool left_out = Planted(PlantedBug::kAckBeforePrimary) && at_primary &&
                        writes_.size() > 1;
  if (left_out) return;
  // No item, nor memory for one: what ends the object has nothing to do.
  if (replica.token == 0) {
    write.result.outcome = next_.tombstone ? Outcome::kOk : Outcome::kNoMemory;
    return;
  }
  const View& view = *base_.view;
  if (!writer_.Admit(view, replica.member)) {
    write.result.view_changed = true;
    return;
  }
  write.bytes = copies_.For(
      replica.member,
      view.members[static_cast<std::size_t>(replica.member)].incarnation);
  write.body = {write.bytes.data(), write.bytes.size()};
  net::Request& request = write.request;
  request.verb = net::Verb::kCas;
  request.exptime = ManifestExptime(next_, now_us);
  request.body = {&write.body, 1};
  if (token_ == NewToken::kKept) {
    // By these the answer shows that the item is still this one.
    request.client_flags = ChecksumOf(write.bytes);
    request.then_token = true;
  }
  writer_.Address(view, replica, next_.id, request);
  request.outcome = Outcome::kPending;
  request.context = &write;
  request.done = [](net::Request& done) {
    auto& at = *static_cast<Write*>(done.context);
    at.all->OnDone(at);
  };
  ++under_way_;
  Send(key_.session.runtime(),
       at_primary ? SendStep::kCommitPrimary : SendStep::kCommitReplica,
       key_.session.link(replica.member), request);
}

void CommitWrites::OnDone(Write& write) {
  write.lost = write.request.outcome == Outcome::kLost;
  if (!write.lost) write.result = writer_.End(*write.replica, write.request);
  if (--under_way_ > 0) return;
  going_.CountDown();
  // The last thing that is done here: it may destroy this.
  const auto on_end = std::exchange(on_end_, nullptr);
  if (on_end != nullptr) on_end(on_end_context_);
}

Task<void> CommitWrites::FollowUp() {
  const bool answered =
      std::none_of(writes_.begin(), writes_.end(), [this](const Write& write) {
        return write.lost || write.result.view_changed ||
               (write.result.outcome == Outcome::kNoMemory && next_.tombstone);
      });
  return answered ? Task<void>::Ready() : FollowUpRest();
}

Task<void> CommitWrites::FollowUpRest() {
  std::vector<const ReplicaCopy*> lost;
  for (const Write& write : writes_) {
    if (write.lost) lost.push_back(write.replica);
  }
  const auto at = [this](const ReplicaCopy& replica) -> Write& {
    return writes_[static_cast<std::size_t>(&replica - base_.copies.data())];
  };
  const auto again = [&](const ReplicaCopy& replica) {
    return writer_.EndLost(*base_.view, replica, at(replica).request);
  };
  const std::vector<CasResult> answers = co_await writer_.AtOnce(lost, again);
  for (std::size_t i = 0; i < lost.size(); ++i) {
    Write& write = at(*lost[i]);
    write.lost = false;
    write.result = answers[i];
  }
  bool view_changed = false;
  for (Write& write : writes_) {
    view_changed = view_changed || write.result.view_changed;
    if (write.result.outcome != Outcome::kNoMemory || !next_.tombstone) {
      continue;
    }
    const SendStep step = write.replica == &base_.primary()
                              ? SendStep::kCommitPrimary
                              : SendStep::kCommitReplica;
    write.result =
        co_await writer_.Write(step, *base_.view, *write.replica, nullptr);
  }
  // It may wait for other processes: nothing to do until it is over.
  if (view_changed) co_await AwaitChange(key_.session);
}

bool CommitWrites::AllBegunTook() const {
  return std::all_of(writes_.begin(), writes_.end(), [](const Write& write) {
    return !write.begun || write.result.outcome == Outcome::kOk;
  });
}

bool CommitWrites::AllTook() const {
  return std::all_of(writes_.begin(), writes_.end(), [](const Write& write) {
    return write.result.outcome == Outcome::kOk;
  });
}

std::vector<CasResult> CommitWrites::Results() const {
  std::vector<CasResult> results;
  results.reserve(writes_.size());
  for (const Write& write : writes_) {
    results.push_back(write.result);
    // As refused: no server, nor view, was in its way.
    if (!write.begun) results.back().outcome = Outcome::kExists;
  }
  return results;
}

std::vector<KeptTokens::Token> CommitWrites::NewTokens() const {
  std::vector<KeptTokens::Token> tokens;
  tokens.reserve(writes_.size());
  for (const Write& write : writes_) {
    if (write.result.new_token == 0) return {};
    tokens.push_back({write.replica->member, write.result.new_token});
  }
  return tokens;
}

}  // namespace ers::store
