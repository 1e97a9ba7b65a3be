// Census: how many objects there are of each scheme and width.
#ifndef ERS_PROXY_ENGINE_CENSUS_H_
#define ERS_PROXY_ENGINE_CENSUS_H_

#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/mutex.h"
#include "ers/object_info.h"

namespace ers::proxy {

// As a listing of all objects found it. A plain value.
struct Census {
  struct Sum {
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;  // of their values
  };

  [[nodiscard]] Sum Total() const {
    Sum total;
    for (const auto& [form, sum] : sums) {
      total.objects += sum.objects;
      total.bytes += sum.bytes;
    }
    return total;
  }

  std::map<std::pair<std::string, std::string>, Sum> sums;
  std::uint64_t packed = 0;       // of the objects
  std::uint64_t packs = 0;        // that these are in
  std::int64_t counted_at_s = 0;  // Unix time; 0: never
};

// Makes one, object by object.
class CensusTaker {
 public:
  void Add(const ObjectInfo& info) {
    Census::Sum& sum = census_.sums[{FormatScheme(info.scheme),
                                     WidthName(info.scheme, info.width)}];
    ++sum.objects;
    sum.bytes += info.length;
    if (info.pack.empty()) return;
    ++census_.packed;
    if (packs_.insert(info.pack).second) ++census_.packs;
  }
  [[nodiscard]] const Census& census() const { return census_; }

 private:
  Census census_;
  std::unordered_set<std::string> packs_;
};

// The last one that was made. Any thread.
class CensusBoard {
 public:
  void Publish(Census census) {
    const MutexLock lock(mutex_);
    last_ = std::move(census);
  }
  [[nodiscard]] Census Last() const {
    const MutexLock lock(mutex_);
    return last_;
  }

 private:
  mutable Mutex mutex_;
  Census last_ ERS_GUARDED_BY(mutex_);
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_ENGINE_CENSUS_H_
