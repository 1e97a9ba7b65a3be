#include "store/replicas/confirm.h"

#include <vector>

#include "store/replicas/replica_key.h"
#include "store/replicas/replica_writer.h"

namespace ers::store {

net::Task<void> ConfirmCopies(Session& session, std::string key,
                              ReplicasRead read) {
  const ReplicaKey at(session, key, nullptr);
  ReplicaWriter writer(at);
  Manifest confirmed = *read.primary().manifest;
  confirmed.confirmed = true;
  std::vector<const ReplicaCopy*> replicas;
  for (const ReplicaCopy& copy : read.copies) replicas.push_back(&copy);
  (void)co_await writer.AtOnce(replicas, [&](const ReplicaCopy& copy) {
    return writer.Write(SendStep::kFence, *read.view, copy, &confirmed);
  });
}

}  // namespace ers::store
