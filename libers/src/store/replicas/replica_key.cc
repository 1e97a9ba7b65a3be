#include "store/replicas/replica_key.h"

#include "store/format/keys.h"
#include "store/membership/view_changer.h"
#include "store/membership/view_checks.h"

namespace ers::store {

ReplicaKey::ReplicaKey(Session& at, std::string_view key, StepTimer* timer)
    : session(at), name(key), item(ManifestKey(key)), steps(timer) {}

Result<Replicas> ReplicaKey::ReplicasUnder(const View& view) const {
  if (known_.members.empty() || known_epoch_ != view.epoch) {
    known_ = ReplicasOf(view, session.ring(), name);
    known_epoch_ = view.epoch;
  }
  if (!known_.primary_in_sync) {
    return Fail(AllReplicasOut(session, view, name));
  }
  return known_;
}

net::Task<Status> ReplicaKey::OnSilent(int member) const {
  const net::ServerLink& link = session.link(member);
  const net::ServerLink::State state = link.state();
  // Idle: its slot has another server since.
  if (state == net::ServerLink::State::kConnecting ||
      state == net::ServerLink::State::kUp ||
      state == net::ServerLink::State::kIdle) {
    return net::Task<Status>::Ready();
  }
  return MarkDown(session, member, link.last_error());
}

}  // namespace ers::store
