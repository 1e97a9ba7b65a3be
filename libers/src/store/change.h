// What all changes share: the loop from prepare to commit, and what becomes of
// the blocks on either side of it.
#ifndef ERS_STORE_CHANGE_H_
#define ERS_STORE_CHANGE_H_

#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "net/task.h"
#include "store/home_chain.h"

namespace ers::store {

// What a change thinks of the manifest that it is about to replace.
enum class Verdict {
  kGoOn,
  kRestart,  // it was planned on another one
};

struct ChangeOutcome {
  // OK: committed, unless `restart` is set.
  Status status;
  bool restart = false;
  std::shared_ptr<const Manifest> committed;
};

// Commits `next` (with its id, its blocks staged). `check` sees the living
// manifest that would be replaced (null: none) before each try and may still
// set fields of `next`; its failure ends the change. `prepared` may hold what
// Prepare gave already. Blocks that did not make it, or were replaced, are
// dropped; after an unknown outcome all stay.
using Check =
    std::function<Result<Verdict>(const Manifest* living, Manifest& next)>;
net::Task<ChangeOutcome> CommitChange(Session& session, HomeChain& chain,
                                      Manifest next,
                                      std::optional<HomesRead> prepared,
                                      Check check);

// Takes members that failed to store blocks out of the view, as far as it
// bears that: changes after this one must not wait for them again.
net::Task<void> MarkFailed(Session& session, std::set<int> members);

// The client CAS of new content: rises with every change, also when the
// maker's clock is behind.
std::uint64_t NextCas(const Manifest& next, const Manifest* living);

}  // namespace ers::store

#endif  // ERS_STORE_CHANGE_H_
