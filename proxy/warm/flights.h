// WarmFlights: which keys the old pool is being asked for, so that of all that
// miss one asks.
#ifndef ERS_PROXY_WARM_FLIGHTS_H_
#define ERS_PROXY_WARM_FLIGHTS_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"

namespace ers::proxy {

// Shared by all workers. Any thread.
class WarmFlights {
 public:
  using Landed = std::function<void()>;

  // True: the caller asks, and calls End. False: another does; `landed` is
  // called once, on its thread, when it has come to its end.
  bool Begin(std::string_view key, Landed landed);
  void End(std::string_view key);

 private:
  Mutex mutex_;
  std::map<std::string, std::vector<Landed>, std::less<>> flights_
      ERS_GUARDED_BY(mutex_);
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_WARM_FLIGHTS_H_
