// Job: objects that are to change their width or scheme, or to be deleted, and
// how far it is.
#ifndef ERS_PROXY_JOBS_JOB_H_
#define ERS_PROXY_JOBS_JOB_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ers/options.h"
#include "jobs/selection.h"

namespace ers::proxy {

inline constexpr int kMaxParallel = 64;
inline constexpr int kDefaultParallel = 4;

enum class JobState : std::uint8_t {
  kListing,  // searches for its objects
  kRunning,
  kPaused,
  kDone,  // all objects were tried
  kCancelled,
  kFailed,  // its objects could not be listed
};
inline constexpr std::string_view kJobStates[] = {
    "listing", "running", "paused", "done", "cancelled", "failed"};
std::string_view JobStateName(JobState state);
// Empty: no such state.
std::optional<JobState> ParseJobState(std::string_view name);
// It will not change any more.
bool Ended(JobState state);

// What a job that deletes has in place of a target.
inline constexpr std::string_view kDeleteTarget = "delete";

// Of one that packs small values.
inline constexpr std::string_view kPackTarget = "pack";

struct JobSpec {
  std::string to = "wide";  // as it was given
  bool deletes = false;     // `to` is kDeleteTarget
  bool packs = false;       // `to` is kPackTarget
  TransitionTarget target;  // what `to` means
  Selection select;
  int parallel = kDefaultParallel;       // objects at a time
  std::uint64_t bytes_per_second = 0;    // read and written; 0: no limit
  std::uint64_t objects_per_second = 0;  // of one that deletes; 0: no limit
};

// Objects. What the selection took is in one of these or left.
struct JobCounts {
  std::uint64_t changed = 0;
  std::uint64_t already = 0;  // had what the job asks for
  std::uint64_t gone = 0;     // while they waited for their turn
  std::uint64_t failed = 0;
  std::uint64_t left = 0;
  // Of a job that packs: they stay as they are.
  std::uint64_t kept = 0;

  [[nodiscard]] std::uint64_t selected() const {
    return changed + already + gone + failed + left + kept;
  }
};

// A value type.
struct Job {
  std::uint64_t id = 0;
  JobState state = JobState::kListing;
  JobSpec spec;
  std::int64_t created = 0;  // Unix seconds
  std::int64_t ended = 0;    // Unix seconds; 0: not yet
  JobCounts counts;
  std::uint64_t bytes_read = 0;  // of blocks, from servers
  std::uint64_t bytes_written = 0;
  std::uint64_t bytes_left = 0;  // of the values that are left
  double active_seconds = 0;     // in kListing and kRunning
  std::optional<double> seconds_left;
  std::string last_error;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_JOB_H_
