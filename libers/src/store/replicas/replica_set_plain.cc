// The end of an object whose value goes on as a plain item.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/micros.h"
#include "store/format/expiry.h"
#include "store/format/planted_bug.h"
#include "store/replicas/replica_set.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

// Plain items count as nothing there, for as long as this lives and no longer:
// a read must go on taking them for what they are.
class While {
 public:
  explicit While(bool& flag) : flag_(flag), before_(flag) { flag_ = true; }
  While(const While&) = delete;
  While& operator=(const While&) = delete;
  ~While() { flag_ = before_; }

 private:
  bool& flag_;
  const bool before_;
};

bool IsForm(const ReplicaCopy& copy, const PlainForm& form) {
  return copy.kind == ReplicaCopy::Kind::kPlain && copy.member == form.member &&
         copy.plain == form.value && copy.plain_flags == form.client_flags;
}

// Nothing but the object, or what a hand-over that was cut off left of it.
bool MayGoOn(const ReplicasRead& read, const ChangeId& base) {
  const bool begun = std::any_of(
      read.copies.begin(), read.copies.end(), [](const ReplicaCopy& copy) {
        return copy.kind == ReplicaCopy::Kind::kPlain;
      });
  return std::all_of(
      read.copies.begin(), read.copies.end(), [&](const ReplicaCopy& copy) {
        return copy.shown() == base ||
               (begun && copy.kind != ReplicaCopy::Kind::kManifest &&
                copy.kind != ReplicaCopy::Kind::kCorrupt);
      });
}

}  // namespace

// All replicas, if they let the value go on as a plain item.
Task<Result<ReplicasRead>> ReplicaSet::CollectPlain(const PlainForm& form,
                                                    SendStep step) {
  const While replaces_plain(replaces_plain_);
  Result<ReplicasRead> read = co_await Collect(step);
  if (!read) co_return read;
  bool reachable = false;
  for (const ReplicaCopy& copy : read->copies) {
    reachable = reachable || copy.member == form.member;
    if (copy.kind == ReplicaCopy::Kind::kPlain && !IsForm(copy, form)) {
      co_return Fail(
          StatusCode::kConflict,
          fmt::format("key '{}' holds an object and, on {}, a plain item of "
                      "another value: remove one of them",
                      key_, session_.member_name(copy.member)));
    }
  }
  if (!reachable) {
    co_return Fail(StatusCode::kUnavailable,
                   fmt::format("{} is out, where plain clients look for key "
                               "'{}': bring it back",
                               session_.member_name(form.member), key_));
  }
  co_return read;
}

// Puts a plain item in its own place, so that no change under way finds its
// token there any more.
Task<ReplicaSet::CasResult> ReplicaSet::CasPlain(SendStep step,
                                                 const View& view,
                                                 const ReplicaCopy& replica) {
  const std::int64_t now = session_.WallMicros();
  const iovec body{const_cast<char*>(replica.plain.data()),
                   replica.plain.size()};
  net::Request request;
  request.verb = net::Verb::kCas;
  request.client_flags = replica.plain_flags;
  request.exptime = PlainExptime(
      replica.plain_ttl < 0 ? 0 : now / kMicrosPerSecond + replica.plain_ttl,
      now);
  request.body = {&body, 1};
  const ChangeId none;
  co_return co_await CasItem(step, view, replica, none, request);
}

Task<Result<bool>> ReplicaSet::CheckPlain(const ChangeId& base,
                                          const PlainForm& form) {
  const InStep step(steps_, Step::kManifest);
  const Result<ReplicasRead> read =
      co_await CollectPlain(form, SendStep::kReadReplicas);
  if (!read) co_return Fail(read.error());
  co_return read->primary().shown() == base;
}

Task<Result<std::optional<ReplicasRead>>> ReplicaSet::PreparePlain(
    const ChangeId& base, const PlainForm& form) {
  const InStep step(steps_, Step::kManifest);
  const While replaces_plain(replaces_plain_);
  Result<ReplicasRead> read = co_await CollectPlain(form, SendStep::kPrepare);
  if (!read) co_return Fail(read.error());
  if (Planted(PlantedBug::kExportOldValue)) co_return std::move(*read);
  if (read->primary().shown() != base) co_return std::nullopt;
  if (MayGoOn(*read, base)) co_return std::move(*read);
  Result<ReplicasRead> reconciled = co_await Reconcile();
  if (!reconciled) co_return Fail(reconciled.error());
  co_return std::nullopt;
}

Task<CommitResult> ReplicaSet::CommitPlain(const ReplicasRead& base,
                                           const PlainForm& form) {
  const InStep step(steps_, Step::kCommit);
  const While replaces_plain(replaces_plain_);
  const iovec body{const_cast<char*>(form.value.data()), form.value.size()};
  for (std::size_t i = 0; i < base.copies.size(); ++i) {
    const ReplicaCopy& replica = base.copies[i];
    const SendStep send = i + 1 == base.copies.size()
                              ? SendStep::kExportPrimary
                              : SendStep::kExportReplica;
    CasResult result;
    if (replica.member == form.member) {
      net::Request request;
      request.verb = net::Verb::kCas;
      request.client_flags = form.client_flags;
      request.exptime = PlainExptime(form.expiry, session_.WallMicros());
      request.body = {&body, 1};
      const ChangeId none;
      result = co_await CasItem(send, *base.view, replica, none, request);
    } else {
      result = co_await Cas(send, *base.view, replica, nullptr);
    }
    if (result.outcome == Outcome::kOk) continue;
    const bool no_room = result.outcome == Outcome::kNoMemory ||
                         result.outcome == Outcome::kTooLarge;
    const bool untouched =
        i == 0 && !result.resent && result.outcome != Outcome::kLost;
    if (!no_room) {
      co_return CommitResult{
          untouched ? CommitFate::kNotHappened : CommitFate::kUnknown,
          Status()};
    }
    CommitResult ended{CommitFate::kNotHappened, Status()};
    ended.status =
        Status(result.outcome == Outcome::kNoMemory ? StatusCode::kNoMemory
                                                    : StatusCode::kTooLarge,
               fmt::format("{} has no room for the plain item: {}",
                           session_.member_name(replica.member), result.error));
    if (i == 0) co_return ended;
    // The primary has the object still: the replicas before it get it back.
    Result<ReplicasRead> reconciled = co_await Reconcile();
    if (!reconciled) {
      co_return CommitResult{
          CommitFate::kUnknown,
          Status(StatusCode::kOutcomeUnknown, reconciled.error().message())};
    }
    co_return ended;
  }
  co_return CommitResult{CommitFate::kCommitted, Status()};
}

}  // namespace ers::store
