// ChangingKeys: the objects that this process transitions right now.
#ifndef ERS_PROXY_ENGINE_CHANGING_KEYS_H_
#define ERS_PROXY_ENGINE_CHANGING_KEYS_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"

namespace ers::proxy {

// Shared by all workers and jobs. Any thread.
class ChangingKeys {
 public:
  // As long as it lives, its key is among them. The registry outlives it.
  class [[nodiscard]] Hold {
   public:
    Hold(ChangingKeys& all, std::string_view key);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    ChangingKeys& all_;
    std::multiset<std::string, std::less<>>::iterator at_;
  };

  // Each once, in order.
  [[nodiscard]] std::vector<std::string> WithPrefix(
      std::string_view prefix) const;

 private:
  mutable Mutex mutex_;
  // Two may be at the same key.
  std::multiset<std::string, std::less<>> keys_ ERS_GUARDED_BY(mutex_);
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_ENGINE_CHANGING_KEYS_H_
