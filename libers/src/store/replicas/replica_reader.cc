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
  read.copies.reserve(requests.size());
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
