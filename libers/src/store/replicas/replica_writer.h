// ReplicaWriter: writes to one replica of a key, if it still has what was read.
#ifndef ERS_STORE_REPLICAS_REPLICA_WRITER_H_
#define ERS_STORE_REPLICAS_REPLICA_WRITER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "net/request.h"
#include "net/task.h"
#include "store/membership/send.h"
#include "store/replicas/replica_copy.h"
#include "store/replicas/replica_key.h"

namespace ers::store {

struct CasResult {
  net::Outcome outcome = net::Outcome::kNotSent;
  bool view_changed = false;
  // The first try's reply was lost: a refusal may be of its own making.
  bool resent = false;
  std::string error;            // in the server's words
  std::uint64_t new_token = 0;  // of what was stored; 0: not known, or not
                                // asked for (Request::then_token)
};

inline bool NoRoom(net::Outcome outcome) {
  return outcome == net::Outcome::kNoMemory ||
         outcome == net::Outcome::kTooLarge;
}

// Loop thread only. `view` is the one that `replica` was read under.
class ReplicaWriter {
 public:
  explicit ReplicaWriter(const ReplicaKey& key);

  // One manifest write; null: nothing is to be there. What takes no memory
  // works where there is none: the item is deleted, also in place of a
  // tombstone, and a copy that shows this already gets another token alone.
  net::Task<CasResult> Write(SendStep step, const View& view,
                             const ReplicaCopy& replica,
                             const Manifest* manifest);
  // `write` for each of `replicas`, all under way together; in their order.
  net::Task<std::vector<CasResult>> AtOnce(
      const std::vector<const ReplicaCopy*>& replicas,
      const std::function<net::Task<CasResult>(const ReplicaCopy&)>& write);
  // Puts a plain item in its own place, so that no change under way finds its
  // token there any more.
  net::Task<CasResult> WritePlainBack(SendStep step, const View& view,
                                      const ReplicaCopy& replica);
  // Does to the copy what `request` says, for the change `id`, if it is still
  // the one that was read. A lost reply is asked for again by sending the same
  // over a new connection to the same server process: whichever of the two
  // comes second is refused by the token, so both are harmless once the second
  // was answered.
  net::Task<CasResult> WriteItem(SendStep step, const View& view,
                                 const ReplicaCopy& replica, const ChangeId& id,
                                 net::Request& request);

  // The same in parts, for what waits for several: Admit -> Address, and the
  // request is sent -> End, or EndLost where the reply was lost.
  //
  // True: the write is counted until its end.
  bool Admit(const View& view, int member);
  void Address(const View& view, const ReplicaCopy& replica, const ChangeId& id,
               net::Request& request);
  CasResult End(const ReplicaCopy& replica, const net::Request& request);
  net::Task<CasResult> EndLost(const View& view, const ReplicaCopy& replica,
                               net::Request& request);

 private:
  CasResult ResultOf(const net::Request& request);
  net::Task<bool> Repeat(const ReplicaCopy& replica, net::Request& request,
                         bool& resent);

  const ReplicaKey& key_;
};

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_REPLICA_WRITER_H_
