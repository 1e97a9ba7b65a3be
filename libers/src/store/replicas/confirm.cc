#include "store/replicas/confirm.h"

#include <utility>
#include <vector>

#include "store/membership/batch.h"
#include "store/replicas/replica_key.h"
#include "store/replicas/replica_writer.h"

namespace ers::store {
namespace {

net::Task<void> Finish(net::Task<std::vector<CasResult>> writes,
                       net::Latch& latch) {
  (void)co_await std::move(writes);
  latch.CountDown();
}

}  // namespace

net::Task<void> ConfirmCopies(Session& session, std::string key,
                              ReplicasRead read) {
  const ReplicaKey at(session, key, nullptr);
  ReplicaWriter writer(at);
  Manifest confirmed = *read.primary().manifest;
  confirmed.confirmed = true;
  std::vector<const ReplicaCopy*> replicas;
  for (const ReplicaCopy& copy : read.copies) replicas.push_back(&copy);
  const auto write = [&](const ReplicaCopy& copy) {
    return writer.Write(SendStep::kFence, *read.view, copy, &confirmed);
  };
  net::Latch latch(session.runtime(), 1);
  net::Spawn(Finish(writer.AtOnce(replicas, write), latch));
  // Right behind: to the server the new item has not been read yet.
  net::Request access;
  access.verb = net::Verb::kHead;
  access.key = at.item;
  Batch batch(session.runtime());
  batch.Send(SendStep::kReadPrimary, session.link(read.primary().member),
             access);
  co_await batch;
  co_await latch;
}

}  // namespace ers::store
