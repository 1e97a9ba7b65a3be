#include "store/membership/memory_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "base/micros.h"
#include "base/mutex.h"
#include "store/format/planted_bug.h"
#include "store/membership/view_checks.h"

namespace ers::store {
namespace {

// All servers are asked, over new connections: not at each request.
constexpr net::Duration kProbeEvery = std::chrono::milliseconds(200);

// Of the server's process: of a boot mark all but what marks its memory, which
// may have been emptied.
std::string_view LifeOf(std::string_view boot_mark) {
  return boot_mark.substr(0, boot_mark.rfind('/'));
}

// "a, b, c and 4 more".
std::string Names(const std::vector<std::string>& names) {
  constexpr std::size_t kMax = 3;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMax; ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() <= kMax) return text;
  return fmt::format("{} and {} more", text, names.size() - kMax);
}

// What stands in the way, and what to do.
Status SomeSilent(const View& base, const std::vector<ServerMemory>& memories) {
  const Loss loss = LossOf(base, memories);
  std::string why;
  for (const ServerMemory& memory : memories) {
    if (memory.boot_mark.empty() && why.empty()) why = memory.error;
  }
  const std::string gone =
      loss.lost.empty() ? ""
                        : fmt::format("{} lost {} memory; ", Names(loss.lost),
                                      loss.lost.size() == 1 ? "its" : "their");
  const bool one = loss.silent.size() == 1;
  return {StatusCode::kUnavailable,
          fmt::format(
              "{} servers are out, and this cluster survives {}: {}{} {} "
              "not answer ({}): start {}, with or without {} memory, "
              "or give {} place{} to others: ersctl recover",
              loss.out, base.max_failures, gone, Names(loss.silent),
              one ? "does" : "do", why, one ? "it" : "them",
              one ? "its" : "their", one ? "its" : "their", one ? "" : "s")};
}

// Taken in as it is: whatever its manifests say is void.
void TakeIn(Member& member, const std::string& boot_mark, std::uint64_t epoch,
            std::int64_t now_us) {
  member.state = MemberState::kInSync;
  member.incarnation =
      std::max(member.incarnation + 1, static_cast<std::uint64_t>(now_us));
  member.joined = epoch;
  member.boot_mark = boot_mark;
  member.since = now_us / kMicrosPerSecond;
}

}  // namespace

bool IsOut(const Member& member, const ServerMemory& memory) {
  return member.state != MemberState::kInSync ||
         memory.boot_mark != member.boot_mark;
}

Loss LossOf(const View& base, const std::vector<ServerMemory>& memories) {
  Loss loss;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    const Member& member = base.members[i];
    if (!IsOut(member, memories[i])) {
      ++loss.kept;
      continue;
    }
    ++loss.out;
    if (memories[i].boot_mark.empty()) {
      loss.silent.push_back(member.server());
    } else if (memories[i].boot_mark != member.boot_mark) {
      loss.lost.push_back(member.server());
    }
  }
  loss.all_is_lost = loss.kept <= base.max_failures;
  return loss;
}

Result<View> AfterLoss(const View& base,
                       const std::vector<ServerMemory>& memories,
                       std::int64_t now_us) {
  int out = 0;
  bool silent = false;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    if (!IsOut(base.members[i], memories[i])) continue;
    ++out;
    silent |= memories[i].boot_mark.empty();
  }
  if (out <= base.max_failures) return base;
  if (silent) return Fail(SomeSilent(base, memories));
  const int kept = static_cast<int>(memories.size()) - out;
  const bool proven =
      kept > base.max_failures || Planted(PlantedBug::kTrustsFewAfterLoss);
  View next = base;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    Member& member = next.members[i];
    const bool stays = proven && !IsOut(member, memories[i]);
    if (stays) continue;
    TakeIn(member, memories[i].boot_mark, base.epoch + 1, now_us);
    // Where all is void there is nothing to backfill it with.
    member.lacking = proven;
  }
  Status distinct = CheckDistinct(next);
  if (!distinct.ok()) return Fail(std::move(distinct));
  return next;
}

net::TimePoint LostBy(const View& base,
                      const std::vector<ServerMemory>& memories,
                      net::TimePoint seen) {
  std::optional<net::TimePoint> last;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    const std::string& before = base.members[i].boot_mark;
    const std::string& now = memories[i].boot_mark;
    if (before == now) continue;
    const bool restarted = !before.empty() && LifeOf(before) != LifeOf(now);
    const net::TimePoint lost = restarted ? memories[i].began : seen;
    last = std::max(lost, last.value_or(lost));
  }
  return std::min(seen, last.value_or(seen));
}

net::TimePoint LossWatch::Saw(const std::vector<ServerMemory>& memories,
                              net::TimePoint now) {
  std::vector<std::string> marks;
  for (const ServerMemory& memory : memories) marks.push_back(memory.boot_mark);
  const MutexLock lock(mutex_);
  if (marks != marks_) {
    marks_ = std::move(marks);
    since_ = now;
  }
  return since_;
}

bool LossWatch::IsDue(net::TimePoint now) {
  const MutexLock lock(mutex_);
  if (now < next_probe_) return false;
  next_probe_ = now + kProbeEvery;
  return true;
}

Status LossWatch::last() const {
  const MutexLock lock(mutex_);
  return last_;
}

void LossWatch::SetLast(const Status& status) {
  const MutexLock lock(mutex_);
  last_ = status;
}

}  // namespace ers::store
