// Admin: HTTP to watch a daemon by, /healthz, /status and /metrics, to have it
// change objects in the background, /v1/, and to reach its servers, CONNECT.
// The room's entry points: Admin, Tunnels, and Facts, which the daemon fills
// in. It asks jobs/, never the store.
#ifndef ERS_PROXY_ADMIN_ADMIN_H_
#define ERS_PROXY_ADMIN_ADMIN_H_

#include <functional>
#include <memory>
#include <string>

#include "admin/facts.h"
#include "admin/tunnels.h"
#include "ers/status.h"
#include "shared/listener.h"

namespace ers::proxy {

// Has a thread and an event loop of its own, so that a slow reader holds up no
// client. Methods: the thread that owns it.
class Admin {
 public:
  // What it shows. Called on its thread.
  struct Sources {
    std::function<Facts()> facts;
    // Those of the facts, alone: once a second, where the facts would have
    // servers asked for what no page shows.
    std::function<RequestSums()> requests;
  };

  // Serves the clients of `listener`. `token`: as for SetToken. `jobs` and
  // `tunnels` end after it. kNoMemory: also where there is no file descriptor.
  static Result<std::unique_ptr<Admin>> Open(Listener listener,
                                             std::string token, Sources sources,
                                             Jobs& jobs, Tunnels& tunnels);
  // Cuts readers off.
  ~Admin();
  Admin(const Admin&) = delete;
  Admin& operator=(const Admin&) = delete;

  // Any thread: from now on requests must carry it; empty: none needs one.
  void SetToken(std::string token);
  // As bound.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  struct Loop;
  Admin(std::string name, std::unique_ptr<Loop> loop);

  const std::string name_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_ADMIN_H_
