// ServingWatch: shows whether a daemon can serve, and which servers do not
// answer, also while it has no requests.
#ifndef ERS_PROXY_JOBS_SERVING_WATCH_H_
#define ERS_PROXY_JOBS_SERVING_WATCH_H_

#include <functional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "ers/status.h"
#include "net/runtime.h"
#include "store/membership/session.h"

namespace ers::proxy {

// A plain value.
struct ServingState {
  bool known = false;  // the servers were checked
  Status status;       // OK: it serves; else why not
  // Why each server does not answer; empty where it does.
  std::vector<std::string> unreachable;

  [[nodiscard]] bool serves() const { return known && status.ok(); }
};

class ServingWatch {
 public:
  // Called on the thread of Note, at first and where serving begins or ends.
  using Changed = std::function<void(const ServingState&)>;
  // Before the first Note.
  void OnChange(Changed changed) { changed_ = std::move(changed); }

  // What the last check came to. Writes to the log what has become other, and
  // once a minute that nothing is served. One thread.
  void Note(store::Session& session, const Status& serves);

  // Any thread.
  [[nodiscard]] ServingState state() const;

 private:
  Changed changed_;
  net::TimePoint logged_{};  // in the log, that nothing is served
  mutable Mutex mutex_;
  ServingState state_ ERS_GUARDED_BY(mutex_);
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_SERVING_WATCH_H_
