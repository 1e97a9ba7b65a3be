// What a job has to do with an object of its listing.
#ifndef ERS_PROXY_JOBS_JOB_NEED_H_
#define ERS_PROXY_JOBS_JOB_NEED_H_

#include "jobs/job.h"
#include "jobs/journal.h"
#include "jobs/selection.h"
#include "store/format/manifest.h"
#include "store/membership/session.h"

namespace ers::proxy {

Need NeedOfJob(const JobSpec& spec, store::Session& session,
               const store::Manifest& manifest);

// Was it changed by the process before, of which `before` is left, and is not
// counted there?
bool ChangedBefore(const JournalEntry& before, const store::Manifest& manifest);

// Was it changed after the job was started?
bool IsNewer(const Job& job, const store::Manifest& manifest);

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_JOB_NEED_H_
