// Participant: one process of those that share a cluster, as its line in the
// record under kParticipantsKey describes it (docs/internals/view.md, Several
// processes).
#ifndef ERS_STORE_FORMAT_PARTICIPANT_H_
#define ERS_STORE_FORMAT_PARTICIPANT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ers/status.h"

namespace ers::store {

// A process that comes when so many are there is refused.
inline constexpr std::size_t kMaxParticipants = 256;

struct Participant {
  std::uint64_t id = 0;  // random; never zero
  // It sends no manifest write under an earlier view, and none is under way.
  std::uint64_t epoch = 0;
  // Rises with every heartbeat.
  std::uint64_t heartbeat = 0;
  std::string label;  // for people: "process 17 on host"
};

// One record for all. kNotManaged, kUnsupportedFormat or kCorruption where it
// is none.
std::string EncodeParticipants(const std::vector<Participant>& participants);
Result<std::vector<Participant>> DecodeParticipants(std::string_view text);

// Takes up what `more` has of processes that `participants` does not have, or
// has less new.
void MergeParticipants(const std::vector<Participant>& more,
                       std::vector<Participant>& participants);

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_PARTICIPANT_H_
