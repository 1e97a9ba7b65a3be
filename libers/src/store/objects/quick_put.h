// QuickPut: a PUT of a value that rides in its manifest, over one that this
// process has put last: by the tokens that it has kept. No coroutine waits for
// the servers.
#ifndef ERS_STORE_OBJECTS_QUICK_PUT_H_
#define ERS_STORE_OBJECTS_QUICK_PUT_H_

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/recycled.h"
#include "ers/object_info.h"
#include "ers/options.h"
#include "net/task.h"
#include "store/commit/pending_change.h"
#include "store/membership/session.h"
#include "store/replicas/replica_set.h"

namespace ers::store {

// Begin -> the call at its end -> Committed -> where that is null, Finish. The
// session outlives that end. Loop thread only.
class QuickPut : public Recycled {
 public:
  using Call = void (*)(void* context);

  // Null: nothing was sent, and the put takes its time, or fails. `call` is
  // called once, by the loop, and may destroy it; else it has to stay until
  // then.
  static std::unique_ptr<QuickPut> Begin(Session& session,
                                         const ClientOptions& client,
                                         std::string_view key,
                                         std::string_view value,
                                         const PutOptions& options, Call call,
                                         void* context);
  QuickPut(Session& session, Manifest manifest);

  // The object as it is now, without its value. Null: that is not known yet.
  const Manifest* Committed();
  // As Store::PutContent goes on.
  net::Task<Result<ObjectInfo>> Finish();

 private:
  bool Start(std::size_t min_copies, Call call, void* context);

  ReplicaSet replicas_;
  PendingChange change_;
  std::unique_ptr<CommitWrites> writes_;
  std::shared_ptr<const Manifest> committed_;
};

}  // namespace ers::store

#endif  // ERS_STORE_OBJECTS_QUICK_PUT_H_
