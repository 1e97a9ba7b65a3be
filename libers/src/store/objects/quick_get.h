// QuickGet: the begin of a GET, and all of it where the answer of one server
// has the value. No coroutine waits for that.
#ifndef ERS_STORE_OBJECTS_QUICK_GET_H_
#define ERS_STORE_OBJECTS_QUICK_GET_H_

#include <memory>
#include <optional>
#include <string_view>

#include "base/recycled.h"
#include "net/task.h"
#include "store/membership/session.h"
#include "store/replicas/copy_read.h"
#include "store/replicas/replica_set.h"

namespace ers::store {

// Begin -> the call at its end -> Hit -> where that is null, Store::GetUpTo
// with it. It is late servers' answers, hedged, that it ends with, as any read
// is. The session outlives that end. Loop thread only.
class QuickGet : public Recycled {
 public:
  using Call = void (*)(void* context);

  // Null: nothing was sent, as no view is in force, no lease is held, or the
  // key cannot be one. `call` is called once, by the loop, and may destroy it;
  // else it has to stay until then.
  static std::unique_ptr<QuickGet> Begin(Session& session, std::string_view key,
                                         Call call, void* context);
  QuickGet(Session& session, std::string_view key, const PrimaryTerms& terms);

  // The living object, with its value. Null: the answer's bytes are freed.
  const Manifest* Hit();

  // For Store::GetUpTo: what the primary shows.
  net::Task<Result<ShownManifest>> Finish();
  [[nodiscard]] ReplicaSet& replicas() { return replicas_; }
  [[nodiscard]] const net::Request& request() const { return copy_.request(); }
  [[nodiscard]] bool bumps_lru() const { return terms_.report_access; }

 private:
  Session& session_;
  const PrimaryTerms terms_;
  ReplicaSet replicas_;
  CopyRead copy_;
  std::optional<Result<ShownManifest>> answer_;
};

}  // namespace ers::store

#endif  // ERS_STORE_OBJECTS_QUICK_GET_H_
