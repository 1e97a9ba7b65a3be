// What a check of all objects is asked for, and what it finds.
#ifndef ERS_VERIFY_H_
#define ERS_VERIFY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "ers/export.h"

namespace ers {

// What is wrong with a block, or with an object's manifests.
enum class Fault {
  kMissing,         // the block is gone from a server that answers, or goes
                    // before the object does
  kCorrupt,         // its checksum fails, or it is another block
  kParityMismatch,  // sound parity of other data than is stored
  kNeverStored,     // it was not stored, as its server was out
  kOutOfReach,      // its server does not answer, or is out
  kReplicasDiffer,  // a server shows another manifest than the object's
  kUnreadable,      // the object cannot be read
};
inline constexpr std::size_t kFaults = 7;
// "parity-mismatch". Static storage.
ERS_API std::string_view FaultName(Fault fault);

struct Finding {
  std::string_view key;
  Fault fault = Fault::kMissing;
  int group = -1;           // of a block; else -1
  int block = -1;           // its id in the group (docs/reference/format.md)
  std::string_view server;  // empty for kUnreadable
  std::string_view detail;  // kUnreadable: why
};

struct VerifyReport {
  std::uint64_t objects = 0;
  std::uint64_t damaged = 0;   // of these: something was found
  std::uint64_t repaired = 0;  // of these: are whole now
  std::uint64_t unreadable = 0;
  // Changed by others each time they were read.
  std::uint64_t unchecked = 0;
  std::uint64_t plain_items = 0;  // have no redundancy, and nothing to check
  std::uint64_t blocks = 0;       // that the manifests name
  std::uint64_t bytes = 0;        // read of these
  std::uint64_t repaired_blocks = 0;
  std::uint64_t faults[kFaults] = {};  // by Fault

  [[nodiscard]] std::uint64_t of(Fault fault) const {
    return faults[static_cast<std::size_t>(fault)];
  }
  [[nodiscard]] bool Whole() const {
    return damaged == repaired && unchecked == 0;
  }
};

// How far it is: `total` grows better as it goes.
struct VerifyProgress {
  std::uint64_t objects = 0;
  std::uint64_t total = 0;
  std::uint64_t bytes = 0;
};

struct VerifyOptions {
  // Repairs what is found as far as it can be. Without it nothing is written,
  // and no view changed.
  bool repair = false;
  std::uint64_t bytes_per_second = 0;  // read and written; 0: no limit
  // Objects at a time: of each the blocks of one group are in memory, up to
  // 8 MiB of data and their parity.
  int parallel = 4;
  // Whether to check the object of this key; empty: all are checked.
  std::function<bool(std::string_view key)> wanted;
  // Takes each finding as it is made; what it points to lives for the call.
  std::function<void(const Finding&)> found;
  // Asked after each object; false ends the check (kUnavailable).
  std::function<bool(const VerifyProgress&)> progress;
};

}  // namespace ers

#endif  // ERS_VERIFY_H_
