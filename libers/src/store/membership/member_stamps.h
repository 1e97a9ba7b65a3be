// MemberStamps: what each member has shown of the cluster's records, by their
// stamps. The stamp of a record is the CAS number of its item: it moves with
// each change, so a process that knows it reads the record only where it moved.
#ifndef ERS_STORE_MEMBERSHIP_MEMBER_STAMPS_H_
#define ERS_STORE_MEMBERSHIP_MEMBER_STAMPS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "ers/status.h"
#include "store/format/participant.h"
#include "store/format/view.h"

namespace ers::store {

// A view record, as far as it is compared. A plain value.
struct StampedView {
  std::uint64_t stamp = 0;  // 0: none was seen
  std::uint64_t epoch = 0;  // 0: no record that can be read
  std::size_t hash = 0;     // of its bytes
};

// A view record that was read.
struct DecodedView {
  std::shared_ptr<const View> view;
  std::size_t hash = 0;  // of its bytes
};

struct StampedRegistry {
  std::uint64_t stamp = 0;  // 0: none was seen
  std::shared_ptr<const Registry> registry;
};

// Of one process. Each fact holds for one life of the member's memory, which
// the boot mark names. Any thread.
class MemberStamps {
 public:
  [[nodiscard]] StampedView ViewOn(int member, std::string_view boot) const;
  void SetView(int member, std::string_view boot, const StampedView& view);
  // `registry` may be null: it is to be read again.
  [[nodiscard]] StampedRegistry RegistryOn(int member,
                                           std::string_view boot) const;
  void SetRegistry(int member, std::string_view boot, StampedRegistry registry);
  // As DecodeView does, but for the bytes of the last time that is known:
  // nearly all members show the same, and a record of many members is long to
  // read.
  Result<DecodedView> Decode(const std::string& text);
  // What this process's own entry says there. Those of epoch 0: it is not
  // there, or not known.
  [[nodiscard]] EntryTerms OwnTermsOn(int member, std::string_view boot) const;
  void SetOwnTerms(int member, std::string_view boot, const EntryTerms& terms);

 private:
  struct Shown {
    std::string boot;
    StampedView view;
    StampedRegistry registry;
    EntryTerms own;
  };
  // Null: it has shown nothing in that life.
  const Shown* FindLocked(int member, std::string_view boot) const
      ERS_REQUIRES(mutex_);
  Shown& AtLocked(int member, std::string_view boot) ERS_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<int, Shown> shown_ ERS_GUARDED_BY(mutex_);
  std::string text_ ERS_GUARDED_BY(mutex_);
  DecodedView decoded_ ERS_GUARDED_BY(mutex_);
};

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_MEMBER_STAMPS_H_
