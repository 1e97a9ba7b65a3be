// Packing for jobs: which small values go into packs, and which packs are
// mostly empty by now (docs/internals/packs.md).
#ifndef ERS_PROXY_JOBS_PACK_BATCH_H_
#define ERS_PROXY_JOBS_PACK_BATCH_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ers/status.h"
#include "jobs/selection.h"
#include "net/task.h"
#include "store/format/manifest.h"
#include "store/membership/session.h"
#include "store/objects/store.h"

namespace ers::proxy {

// What packing would do with an object. kImpossible: it is no small value, or
// would take no less memory.
Need NeedOfPacking(store::Session& session, const store::Manifest& manifest);

// A value that is to be packed.
struct ToPack {
  std::string key;
  std::uint64_t length = 0;
  store::ChangeId pack;  // the one that it is in: none, or a mostly empty one
  int form = 0;          // its scheme and width, by number
};

// What became of such values.
struct PackOutcome {
  std::uint64_t changed = 0;
  std::uint64_t already = 0;  // packed meanwhile
  // Read or changed meanwhile, or too few for a pack.
  std::uint64_t kept = 0;
  std::uint64_t gone = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes_read = 0;  // of blocks
  std::uint64_t bytes_written = 0;
  Status why;  // of the last failure
};

// Packs those that are still as `select` has them. They have one form, and go
// into one pack. The store outlives the task.
net::Task<PackOutcome> PackBatch(store::Store& store, const Selection& select,
                                 std::vector<ToPack> values,
                                 std::int64_t now_us);

// The values that are left, and, while all objects are listed, how much of each
// pack is named. Loop thread only.
class PackQueue {
 public:
  void Clear();
  // Of each object of the listing, packs among them.
  void Note(std::shared_ptr<const store::Manifest> manifest);
  void Add(const store::Manifest& value);
  // The listing has ended: adds, too, what is left in packs of which less than
  // half is named, and that are old enough to go; while `going`, and up to
  // `most` values in all. Clear may be called meanwhile.
  net::Task<void> AddSparse(store::Store& store, store::Session& session,
                            const std::function<bool()>& going,
                            std::uint64_t most);

  // As many as fill a pack, of one form.
  std::vector<ToPack> Take();
  // In front.
  void PutBack(const std::vector<ToPack>& values);

  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] std::uint64_t size() const { return values_.size(); }
  // Of the values.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  using Named = std::map<store::ChangeId, std::uint64_t>;

  static bool IsSparse(const store::Manifest& pack, const Named& named,
                       std::int64_t now_us);
  int FormOf(const store::Manifest& manifest);

  std::deque<ToPack> values_;
  std::uint64_t bytes_ = 0;
  std::vector<std::pair<Scheme, Width>> forms_;
  Named named_;  // bytes of keys and values
  std::vector<std::shared_ptr<const store::Manifest>> packs_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_PACK_BATCH_H_
