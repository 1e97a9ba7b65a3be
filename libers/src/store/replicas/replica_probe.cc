#include "store/replicas/replica_probe.h"

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

}  // namespace ers::store
