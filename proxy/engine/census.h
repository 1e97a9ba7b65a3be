// Census: how many objects there are of each scheme and width.
#ifndef ERS_PROXY_ENGINE_CENSUS_H_
#define ERS_PROXY_ENGINE_CENSUS_H_

#include <cstdint>
#include <map>
#include <string>
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

  void Add(const ObjectInfo& info) {
    Sum& sum =
        sums[{FormatScheme(info.scheme), WidthName(info.scheme, info.width)}];
    ++sum.objects;
    sum.bytes += info.length;
  }
  [[nodiscard]] Sum Total() const {
    Sum total;
    for (const auto& [form, sum] : sums) {
      total.objects += sum.objects;
      total.bytes += sum.bytes;
    }
    return total;
  }

  std::map<std::pair<std::string, std::string>, Sum> sums;
  std::int64_t counted_at_s = 0;  // Unix time; 0: never
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
