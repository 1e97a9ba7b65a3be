#include "jobs/policy_ledger.h"

#include <cstddef>

namespace ers::proxy {
namespace {

std::size_t Index(PolicyKind kind) { return static_cast<std::size_t>(kind); }

}  // namespace

void PolicyLedger::Count(PolicyKind kind, PolicyOutcome outcome,
                         std::uint64_t count) {
  const MutexLock lock(mutex_);
  counts_.objects[Index(kind)][static_cast<std::size_t>(outcome)] += count;
}

void PolicyLedger::CountMoved(PolicyKind kind, const TransitionInfo& info) {
  const MutexLock lock(mutex_);
  counts_.moved_bytes[Index(kind)] += info.bytes_read + info.bytes_written;
}

void PolicyLedger::SetWaiting(PolicyKind kind, std::uint64_t objects) {
  const MutexLock lock(mutex_);
  counts_.waiting[Index(kind)] = objects;
}

void PolicyLedger::NoteScan(std::int64_t now_s) {
  const MutexLock lock(mutex_);
  counts_.last_scan = now_s;
}

PolicyCounts PolicyLedger::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

}  // namespace ers::proxy
