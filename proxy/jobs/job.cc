#include "jobs/job.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace ers::proxy {

std::string_view JobStateName(JobState state) {
  return kJobStates[static_cast<std::size_t>(state)];
}

std::optional<JobState> ParseJobState(std::string_view name) {
  const auto* const at =
      std::find(std::begin(kJobStates), std::end(kJobStates), name);
  if (at == std::end(kJobStates)) return std::nullopt;
  return static_cast<JobState>(at - std::begin(kJobStates));
}

bool Ended(JobState state) { return state >= JobState::kDone; }

}  // namespace ers::proxy
