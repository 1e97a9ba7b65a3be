// CommitWrites: a new manifest on its way to all replicas of a key at once,
// each in place of what was read there. No coroutine runs for it as long as the
// servers answer.
#ifndef ERS_STORE_REPLICAS_COMMIT_WRITES_H_
#define ERS_STORE_REPLICAS_COMMIT_WRITES_H_

#include <string>
#include <vector>

#include "base/recycled.h"
#include "net/request.h"
#include "net/task.h"
#include "store/format/manifest.h"
#include "store/membership/known_changes.h"
#include "store/replicas/replica_copy.h"
#include "store/replicas/replica_key.h"
#include "store/replicas/replica_writer.h"

namespace ers::store {

// Are the tokens to be known that it has afterwards?
enum class NewToken { kForgotten, kKept };

// Start -> awaited, or the call at its end -> FollowUp -> results; once for
// those that have no plain item, and once more for those that have one, where
// there are any. Loop thread only.
class CommitWrites : public Recycled {
 public:
  // All of these outlive it.
  CommitWrites(const ReplicaKey& key, ReplicaWriter& writer,
               const ReplicasRead& base, const Manifest& next, NewToken token);
  CommitWrites(const CommitWrites&) = delete;
  CommitWrites& operator=(const CommitWrites&) = delete;

  // False: nothing was sent, and it has ended.
  bool Start(bool over_plain);
  auto operator co_await() { return going_.operator co_await(); }
  // In place of awaiting it, before the first Start: called at that one's end,
  // by the loop. May destroy this.
  void OnEnd(void (*call)(void* context), void* context) {
    on_end_ = call;
    on_end_context_ = context;
  }

  // Where a reply was lost it is asked for again.
  net::Task<void> FollowUp();
  // All that were begun did.
  [[nodiscard]] bool AllBegunTook() const;
  // All replicas did.
  [[nodiscard]] bool AllTook() const;
  // Of each of the copies in `base`.
  [[nodiscard]] std::vector<CasResult> Results() const;
  // Empty where one is not known.
  [[nodiscard]] std::vector<KeptTokens::Token> NewTokens() const;

 private:
  // To one replica.
  struct Write {
    CommitWrites* all = nullptr;
    const ReplicaCopy* replica = nullptr;
    bool begun = false;
    bool lost = false;  // and not asked for again
    std::string bytes;
    iovec body{};
    net::Request request;
    CasResult result;
  };

  void Begin(Write& write, std::int64_t now_us);
  void OnDone(Write& write);
  net::Task<void> FollowUpRest();

  const ReplicaKey& key_;
  ReplicaWriter& writer_;
  const ReplicasRead& base_;
  const Manifest& next_;
  const NewToken token_;
  const ManifestCopies copies_;
  std::vector<Write> writes_;
  int under_way_ = 0;  // requests
  net::Latch going_;
  void (*on_end_)(void* context) = nullptr;
  void* on_end_context_ = nullptr;
};

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_COMMIT_WRITES_H_
