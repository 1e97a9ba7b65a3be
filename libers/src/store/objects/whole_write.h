// Writing a whole value, inline or as blocks, up to the commit: what PUT and
// REWRITE share.
#ifndef ERS_STORE_OBJECTS_WHOLE_WRITE_H_
#define ERS_STORE_OBJECTS_WHOLE_WRITE_H_

#include <optional>
#include <string_view>

#include "ers/options.h"
#include "net/task.h"
#include "store/commit/change.h"
#include "store/format/manifest.h"
#include "store/membership/session.h"
#include "store/support/content.h"

namespace ers::store {

// What a put asks for, apart from its key and its value.
Status CheckPut(const Scheme& scheme, const PutOptions& options);
// All but how and where the value is stored; of a change that begins now.
Manifest ManifestOfPut(Session& session, std::string_view key,
                       const Scheme& scheme, const PutOptions& options);
// What is stored next had better wait: memory is being given back for it.
bool IsRoomBeingMade(Session& session);

struct PutJob {
  Session& session;
  const ClientOptions& client;
  Content& content;
  // All but how and where the value is stored; becomes the new object.
  Manifest manifest;
  StepTimer* steps = nullptr;
};

// The view is in force, the scheme checked. `replicas` is of the job's key, and
// `prepared` what Prepare gave already, if anything.
net::Task<ChangeOutcome> WriteWhole(PutJob& job, ReplicaSet& replicas,
                                    Check check, ClientCas cas,
                                    std::optional<ReplicasRead> prepared = {});

}  // namespace ers::store

#endif  // ERS_STORE_OBJECTS_WHOLE_WRITE_H_
