// Exporter: the end of an object whose value goes on as a plain item
// (docs/internals/commit.md#export).
#ifndef ERS_STORE_REPLICAS_EXPORTER_H_
#define ERS_STORE_REPLICAS_EXPORTER_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "net/task.h"
#include "store/replicas/committer.h"
#include "store/replicas/reconciler.h"
#include "store/replicas/replica_copy.h"
#include "store/replicas/replica_key.h"
#include "store/replicas/replica_reader.h"
#include "store/replicas/replica_writer.h"

namespace ers::store {

// An object's value as the item that a plain client is to find.
struct PlainForm {
  int member = 0;  // where it reads
  std::string_view value;
  std::uint32_t client_flags = 0;
  std::int64_t expiry = 0;  // Unix seconds, 0 never
};

// The two steps of a change, for this one. Loop thread only.
class Exporter {
 public:
  Exporter(const ReplicaKey& key, ReplicaReader& reader, ReplicaWriter& writer,
           Reconciler& reconciler);

  // What Prepare would say, and writes nothing; false where the object has to
  // be read anew.
  net::Task<Result<bool>> Check(const ChangeId& base, const PlainForm& form);
  // Empty where the replicas do not show `base`, whole, and it has to be read
  // anew. kConflict: a plain item of another value is there, too.
  net::Task<Result<std::optional<ReplicasRead>>> Prepare(const ChangeId& base,
                                                         const PlainForm& form);
  // With kOk, kNotHappened and kUnknown both ask to read the replicas anew.
  net::Task<CommitResult> Commit(const ReplicasRead& base,
                                 const PlainForm& form);

 private:
  net::Task<Result<ReplicasRead>> Collect(const PlainForm& form, SendStep step);
  net::Task<CasResult> Write(SendStep step, const View& view,
                             const ReplicaCopy& replica, const PlainForm& form);
  net::Task<CommitResult> OnFailure(bool first, const ReplicaCopy& replica,
                                    const CasResult& failed);

  const ReplicaKey& key_;
  ReplicaReader& reader_;
  ReplicaWriter& writer_;
  Reconciler& reconciler_;
};

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_EXPORTER_H_
