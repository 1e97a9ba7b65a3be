// KeyTurn: when an operation may change a key, how it gives way to rivals, and
// for how long it tries.
#ifndef ERS_STORE_REPLICAS_KEY_TURN_H_
#define ERS_STORE_REPLICAS_KEY_TURN_H_

#include <memory>
#include <optional>

#include "net/task.h"
#include "store/format/manifest.h"
#include "store/membership/key_lines.h"
#include "store/replicas/replica_key.h"

namespace ers::store {

// Loop thread only.
class KeyTurn {
 public:
  // The cluster's operation_timeout begins. `out_of_turn`: it takes no turn, as
  // what gives way to all others, and need not come to an end, must not have
  // others wait for it.
  KeyTurn(const ReplicaKey& key, bool out_of_turn);

  // Waits until no change of the key that came before is under way in this
  // process, and lets none come between until this is destroyed. What others
  // have made of the object meanwhile is remembered then. At once where it has
  // been done already. kUnavailable: they do not come to an end.
  net::Task<Status> Take();
  // The same where there is nothing to wait for; else false.
  bool TryTake();
  [[nodiscard]] bool taken() const { return turn_.has_value(); }
  // Had to wait for it.
  [[nodiscard]] bool waited() const { return turn_ && turn_->waited(); }
  // What the key shows now, also for the next in line.
  void Remember(const std::shared_ptr<const Manifest>& manifest);

  // A rival, of another process, was first: waits by chance, longer each time.
  net::Task<void> GiveWay();

  // The operation_timeout begins anew.
  void RestartDeadline();
  // Is it over?
  [[nodiscard]] bool Expired() const;
  [[nodiscard]] Status ChangedWithoutEnd() const;

 private:
  net::Task<Status> Wait();

  const ReplicaKey& key_;
  const bool out_of_turn_;
  std::optional<KeyLines::Turn> turn_;
  net::TimePoint deadline_;
  int gave_way_ = 0;  // times
};

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_KEY_TURN_H_
