// ViewWatch: puts changes of the view into the event log, whichever process
// made them.
#ifndef ERS_PROXY_JOBS_VIEW_WATCH_H_
#define ERS_PROXY_JOBS_VIEW_WATCH_H_

#include <cstddef>
#include <memory>
#include <string>

#include "ers/options.h"
#include "store/format/view.h"
#include "store/membership/session.h"

namespace ers::proxy {

// One thread.
class ViewWatch {
 public:
  // To be called from time to time: notes what differs from the last time. The
  // library has it in the log already.
  void Scan(store::Session& session);

 private:
  struct Change {
    LogLevel level = LogLevel::kInfo;
    std::string text;  // empty: none
  };
  // Of a member, which `session` may know the reason of.
  static Change ChangeOf(store::Session& session, const store::Member& before,
                         const store::Member& now, std::size_t member);

  std::shared_ptr<const store::View> seen_;  // null: none yet
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_VIEW_WATCH_H_
