#include "engine/changing_keys.h"

#include "base/mutex.h"

namespace ers::proxy {

ChangingKeys::Hold::Hold(ChangingKeys& all, std::string_view key) : all_(all) {
  const MutexLock lock(all_.mutex_);
  at_ = all_.keys_.emplace(key);
}

ChangingKeys::Hold::~Hold() {
  const MutexLock lock(all_.mutex_);
  all_.keys_.erase(at_);
}

std::vector<std::string> ChangingKeys::WithPrefix(
    std::string_view prefix) const {
  std::vector<std::string> found;
  const MutexLock lock(mutex_);
  for (auto at = keys_.lower_bound(prefix);
       at != keys_.end() && at->starts_with(prefix); ++at) {
    if (found.empty() || found.back() != *at) found.push_back(*at);
  }
  return found;
}

}  // namespace ers::proxy
