#include "engine/changing_keys.h"

namespace ers::proxy {

ChangingKeys::Hold::Hold(ChangingKeys& all, std::string_view key) : all_(all) {
  const std::lock_guard lock(all_.mutex_);
  at_ = all_.keys_.emplace(key);
}

ChangingKeys::Hold::~Hold() {
  const std::lock_guard lock(all_.mutex_);
  all_.keys_.erase(at_);
}

std::vector<std::string> ChangingKeys::WithPrefix(
    std::string_view prefix) const {
  std::vector<std::string> found;
  const std::lock_guard lock(mutex_);
  for (auto at = keys_.lower_bound(prefix);
       at != keys_.end() && at->starts_with(prefix); ++at) {
    if (found.empty() || found.back() != *at) found.push_back(*at);
  }
  return found;
}

}  // namespace ers::proxy
