// The processes that share a cluster: the registry of them, one record under
// kParticipantsKey, and the entry of each, an item of its own under EntryKey,
// which no other process writes (docs/internals/view.md, Several processes).
#ifndef ERS_STORE_FORMAT_PARTICIPANT_H_
#define ERS_STORE_FORMAT_PARTICIPANT_H_

#include <chrono>
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
  std::string label;     // for people: "process 17 on host"
};

// A process of an older version, which has all that an entry says here.
struct OlderParticipant {
  std::uint64_t id = 0;
  std::uint64_t heartbeat = 0;  // rises while it is there
  std::string label;
};

struct Registry {
  std::vector<Participant> participants;
  // A record of format 1 has these alone, and is replaced once they are gone.
  std::vector<OlderParticipant> older;

  [[nodiscard]] bool Lists(std::uint64_t id) const;
};

// Format 2. kNotManaged, kUnsupportedFormat or kCorruption where it is none.
std::string EncodeRegistry(const std::vector<Participant>& participants);
Result<Registry> DecodeRegistry(std::string_view text);

// What a process says of itself.
struct EntryTerms {
  // It sends no manifest write under an earlier view, and none is under way.
  std::uint64_t epoch = 0;
  // Nor any later than so long after it sent a heartbeat.
  std::chrono::milliseconds lease_for{};

  bool operator==(const EntryTerms&) const = default;
};

struct Entry {
  std::uint64_t id = 0;
  EntryTerms terms;
  // Rises each time the entry is written. A heartbeat gives it another CAS
  // number instead.
  std::uint64_t count = 0;
};

std::string EncodeEntry(const Entry& entry);
Result<Entry> DecodeEntry(std::string_view bytes);

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_PARTICIPANT_H_
