// The JSON forms of jobs: what clients send and get, and what the journal
// keeps.
#ifndef ERS_PROXY_JOBS_JOB_JSON_H_
#define ERS_PROXY_JOBS_JOB_JSON_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ers/status.h"
#include "jobs/job.h"

namespace ers::proxy {

// {"to": ..., "select": {...}, ...} of a new job. kInvalidArgument names the
// field at fault.
Result<JobSpec> ParseJobSpec(std::string_view text);

// One object to change.
struct OneTransition {
  std::string key;
  std::string to;
  TransitionTarget target;
};
Result<OneTransition> ParseOneTransition(std::string_view text);

// The job as clients see it (docs/reference/protocol.md).
nlohmann::ordered_json JobJson(const Job& job);

// As text; bytes that are no UTF-8 are replaced.
std::string JsonText(const nlohmann::ordered_json& root);

// What the journal keeps of a job.
struct JournalEntry {
  Job job;
  // Its objects were listed at least once: `changed`, `already` and `gone`
  // count those that a new listing does not show.
  bool listed = false;
  // The counts are of this time, Unix microseconds among those of the ids of
  // changes with this nonce, and count none of these keys, which were being
  // changed by such.
  std::int64_t saved_us = 0;
  std::uint64_t nonce = 0;
  std::vector<std::string> under_way;
};
std::string JournalText(const JournalEntry& entry);
// kUnsupportedFormat: a newer version wrote it. kInvalidArgument says what is
// wrong.
Result<JournalEntry> ParseJournalText(std::string_view text);

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_JOB_JSON_H_
