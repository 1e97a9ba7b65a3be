// OldPool: one loop's connections to the servers of the old pool.
#ifndef ERS_PROXY_WARM_OLD_POOL_H_
#define ERS_PROXY_WARM_OLD_POOL_H_

#include <memory>
#include <string_view>
#include <vector>

#include "config/options.h"
#include "ers/status.h"
#include "net/ring.h"
#include "net/runtime.h"
#include "net/task.h"
#include "warm/old_link.h"

namespace ers::proxy {

// Loop thread only.
class OldPool {
 public:
  // The settings are complete, and name at least one server.
  OldPool(net::Runtime& runtime, const WarmFrom& settings,
          std::uint64_t max_value, const LogSink& log);

  // As OldLink has it, at the server that the old clients ask.
  // kInvalidArgument: the text protocol has no such key.
  net::Task<Result<OldReply>> Get(std::string_view key);
  net::Task<Result<OldReply>> Find(std::string_view key);
  net::Task<Result<OldReply>> Delete(std::string_view key);

 private:
  OldLink& LinkOf(std::string_view key) {
    return *links_[static_cast<std::size_t>(ring_.Walk(key, 1).front())];
  }

  net::Ring ring_;
  std::vector<std::unique_ptr<OldLink>> links_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_WARM_OLD_POOL_H_
