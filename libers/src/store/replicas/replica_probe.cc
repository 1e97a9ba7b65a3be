#include "store/replicas/replica_probe.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "store/format/keys.h"
#include "store/membership/batch.h"
#include "store/membership/view_checks.h"
#include "store/replicas/replica_copy.h"

namespace ers::store {

net::Task<Result<std::optional<ReplicasRead>>> PeekAtReplicas(
    Session& session, std::shared_ptr<const View> view,
    const std::string& key) {
  ReplicasRead read;
  read.view = std::move(view);
  read.asked_us = session.WallMicros();
  const Replicas replicas = ReplicasOf(*read.view, session.ring(), key);
  if (!replicas.primary_in_sync) {
    co_return Fail(AllReplicasOut(session, *read.view, key));
  }
  const std::string item = ManifestKey(key);
  std::deque<net::Request> requests(replicas.members.size());
  Batch batch(session.runtime());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].verb = net::Verb::kGet;
    requests[i].key = item;
    requests[i].no_bump = true;
    batch.Send(SendStep::kReadReplicas, session.link(replicas.members[i]),
               requests[i]);
  }
  co_await batch;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!net::Answered(requests[i].outcome)) co_return std::nullopt;
    Result<ReplicaCopy> copy = InterpretCopy(
        *read.view, replicas.members[i], key, PlainItems::kTaken, requests[i]);
    if (!copy) co_return Fail(copy.error());
    read.copies.push_back(std::move(*copy));
  }
  co_return std::move(read);
}

net::Task<Result<Foreseen>> ForeseeReplicas(Session& session,
                                            std::shared_ptr<const View> view,
                                            const std::string& key) {
  const Result<std::optional<ReplicasRead>> peek =
      co_await PeekAtReplicas(session, view, key);
  if (!peek) co_return Fail(peek.error());
  if (!*peek) {
    co_return Fail(StatusCode::kUnavailable,
                   "the servers that hold the manifest did not answer");
  }
  const ReplicasRead& read = **peek;
  Foreseen foreseen;
  if (std::any_of(read.copies.begin(), read.copies.end(), IsPlain)) {
    for (const ReplicaCopy& copy : read.copies) {
      if (copy.manifest) foreseen.shown.push_back(copy.manifest);
    }
    co_return foreseen;
  }
  const Result<const ReplicaCopy*> deciding = DecidingCopy(read, key);
  if (!deciding) co_return Fail(deciding.error());
  const ShownManifest& shown = (*deciding)->manifest;
  if (!shown) co_return foreseen;
  foreseen.shown.push_back(shown);
  foreseen.ended = !shown->tombstone && !IsAlive(*shown, *view, read.asked_us);
  co_return foreseen;
}

}  // namespace ers::store
