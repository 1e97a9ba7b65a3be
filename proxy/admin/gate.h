// Gate: which requests the admin port answers.
#ifndef ERS_PROXY_ADMIN_GATE_H_
#define ERS_PROXY_ADMIN_GATE_H_

#include <optional>
#include <string>

#include "admin/http.h"
#include "base/mutex.h"

namespace ers::proxy {

// Any thread.
class Gate {
 public:
  // Empty: all that reaches the port may ask, which has to be loopback.
  void SetToken(std::string token);

  // What a request that may not be answered gets. /healthz and /readyz are for
  // all: they say nothing but that the daemon is there, and serves. So is the
  // page at /: it shows nothing but what it may read itself.
  [[nodiscard]] std::optional<HttpReply> Refuse(
      const HttpRequest& request) const;
  // May the sender of this ask anything?
  [[nodiscard]] bool Knows(const HttpRequest& request) const {
    return !RefuseStranger(request).has_value();
  }

 private:
  [[nodiscard]] std::optional<HttpReply> RefuseConnect(
      const HttpRequest& request) const;
  [[nodiscard]] std::optional<HttpReply> RefuseStranger(
      const HttpRequest& request) const;
  [[nodiscard]] std::string token() const;

  mutable Mutex mutex_;
  std::string token_ ERS_GUARDED_BY(mutex_);
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_GATE_H_
