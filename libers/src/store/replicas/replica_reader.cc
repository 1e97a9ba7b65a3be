#include "store/replicas/replica_reader.h"

#include <fmt/format.h>

#include <utility>

#include "store/format/planted_bug.h"
#include "store/membership/batch.h"
#include "store/membership/ensure_lease.h"
#include "store/membership/known_changes.h"

namespace ers::store {

using net::Outcome;
using net::Task;

ReplicaReader::ReplicaReader(const ReplicaKey& key, const KeyTurn& turn)
    : key_(key), turn_(turn) {}

// The answers of `members`, the primary's last. A plain item on one that is
// being backfilled counts for nothing where the primary shows that an object
// was there since: the server has returned with it.
Status ReplicaReader::Interpret(const std::vector<net::Request>& requests,
                                const std::vector<int>& members,
                                PlainItems plain, ReplicasRead& read) const {
  const View& view = *read.view;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Result<ReplicaCopy> copy =
        InterpretCopy(view, members[i], key_.name, plain, requests[i]);
    // What a member has returned with is of before, if there is an object now.
    const auto at = static_cast<std::size_t>(members[i]);
    if (!copy && copy.error().code() == StatusCode::kNotManaged &&
        view.members[at].state == MemberState::kBackfilling) {
      const Result<ReplicaCopy> primary = InterpretCopy(
          view, members.back(), key_.name, plain, requests.back());
      if (primary && primary->manifest) {
        copy = InterpretCopy(view, members[i], key_.name, PlainItems::kTaken,
                             requests[i]);
      }
    }
    if (!copy) return copy.error();
    read.copies.push_back(std::move(*copy));
  }
  return {};
}

Task<Result<ReplicasRead>> ReplicaReader::Collect(SendStep step,
                                                  PlainItems plain) {
  Session& session = key_.session;
  while (!turn_.Expired()) {
    Status leave = co_await EnsureLease(session);
    if (!leave.ok()) co_return Fail(std::move(leave));
    ReplicasRead read;
    read.view = session.view();
    read.asked_us = session.WallMicros();
    Result<Replicas> replicas = key_.ReplicasUnder(*read.view);
    if (!replicas) co_return Fail(replicas.error());
    std::vector<net::Request> requests(replicas->members.size());
    Batch batch(session.runtime());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      requests[i].verb = step == SendStep::kReadReplicas ? net::Verb::kGet
                                                         : net::Verb::kVivify;
      requests[i].key = key_.item;
      requests[i].exptime = kStubSeconds;
      // A read has asked the primary before, and a change is none.
      requests[i].no_bump = true;
      batch.Send(step, session.link(replicas->members[i]), requests[i]);
    }
    co_await batch;
    bool retry = false;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const int member = replicas->members[i];
      const Outcome outcome = requests[i].outcome;
      if (!Answered(outcome)) {
        Status status = co_await key_.OnSilent(member);
        if (!status.ok()) co_return Fail(std::move(status));
        retry = true;
        continue;
      }
      if (outcome == Outcome::kNoMemory) session.cluster().needs.NoteShortage();
      if (outcome == Outcome::kServerError) {
        co_return Fail(StatusCode::kUnavailable,
                       fmt::format("{}: {}", session.member_name(member),
                                   requests[i].value));
      }
    }
    if (retry || session.view()->epoch != read.view->epoch) continue;
    Status known = Interpret(requests, replicas->members, plain, read);
    if (!known.ok()) co_return Fail(std::move(known));
    co_return read;
  }
  co_return Fail(StatusCode::kUnavailable,
                 "the servers that hold the manifest did not answer in time");
}

int ReplicaReader::Choose(const Replicas& replicas, const View& view) const {
  if (!AsksAny()) return replicas.primary();
  std::vector<int> in_sync;
  for (const int member : replicas.members) {
    const Member& is = view.members[static_cast<std::size_t>(member)];
    if (is.state == MemberState::kInSync) in_sync.push_back(member);
  }
  return in_sync[key_.session.runtime().Random() % in_sync.size()];
}

Status ReplicaReader::BeginPrimary(PrimaryRequest& primary) const {
  Session& session = key_.session;
  primary.view = session.view();
  Result<Replicas> replicas = key_.ReplicasUnder(*primary.view);
  if (!replicas) return replicas.error();
  primary.member = Choose(*replicas, *primary.view);
  primary.at_primary = primary.member == replicas->primary();
  primary.asked_us = session.WallMicros();
  primary.request = net::Request();
  primary.request.verb = net::Verb::kGet;
  primary.request.key = key_.item;
  primary.request.no_bump = primary.terms.no_bump;
  primary.request.report_access = primary.terms.report_access;
  return {};
}

std::optional<Result<ShownManifest>> ReplicaReader::PrimaryAnswer(
    const PrimaryRequest& primary, PlainItems plain) const {
  const Outcome outcome = primary.request.outcome;
  const Session& session = key_.session;
  if (!Answered(outcome) || primary.view->epoch != session.view()->epoch) {
    return std::nullopt;
  }
  if (outcome != Outcome::kOk && outcome != Outcome::kMiss) {
    return Fail(StatusCode::kUnavailable,
                fmt::format("{}: {}", session.member_name(primary.member),
                            primary.request.value));
  }
  Result<ReplicaCopy> copy = InterpretCopy(*primary.view, primary.member,
                                           key_.name, plain, primary.request);
  if (!copy && !primary.at_primary) return std::nullopt;
  if (!copy) return Fail(copy.error());
  const bool takes_it = primary.at_primary && primary.terms.take_uncommitted;
  if (!copy->manifest || (!takes_it && !IsCommitted(*copy))) {
    return std::nullopt;
  }
  ShownManifest shown = Shown(copy->manifest, primary.asked_us, primary.terms);
  // A longer life that is under way is at the primary before it is everywhere.
  if (!shown && !primary.at_primary) return std::nullopt;
  return shown;
}

bool ReplicaReader::IsCommitted(const ReplicaCopy& copy) const {
  if (!copy.manifest) return false;
  return copy.manifest->confirmed || Planted(PlantedBug::kBelieveAny) ||
         key_.session.cluster().known->Has(key_.name, copy.shown());
}

ShownManifest ReplicaReader::Shown(const ShownManifest& manifest,
                                   std::int64_t asked_us,
                                   const PrimaryTerms& terms) const {
  const bool shown =
      manifest &&
      (terms.take_ended || IsAlive(*manifest, *key_.session.view(), asked_us));
  return shown ? manifest : nullptr;
}

}  // namespace ers::store
