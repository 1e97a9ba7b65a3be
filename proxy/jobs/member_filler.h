// MemberFiller: brings servers back that have left the view and answer again.
#ifndef ERS_PROXY_JOBS_MEMBER_FILLER_H_
#define ERS_PROXY_JOBS_MEMBER_FILLER_H_

#include "jobs/job_run.h"
#include "net/runtime.h"
#include "net/task.h"
#include "store/fill.h"

namespace ers::proxy {

// Loop thread only; ends only when it is not at work.
class MemberFiller {
 public:
  // `host` gives the session, the store and whether to stop; it outlives this.
  explicit MemberFiller(JobHost& host) : host_(host) {}

  // To be called from time to time: looks who is out, unless it is at work.
  void Look();
  // The host is stopping: ends soon. The next process goes on.
  void Stop();
  [[nodiscard]] bool at_work() const { return at_work_; }

 private:
  net::Task<void> Work();
  net::Task<bool> KnowView();
  net::Task<void> FillAll();
  net::Task<void> CallAll();
  net::Task<void> Fill(int member);

  JobHost& host_;
  bool at_work_ = false;
  bool unfinished_ = false;  // a member is in the view, and not full
  net::Duration pause_{};    // before the next look
  net::TimePoint not_before_{};
  store::ListingStop stop_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_MEMBER_FILLER_H_
