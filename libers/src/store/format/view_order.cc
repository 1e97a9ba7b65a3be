#include "store/format/view_order.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace ers::store {
namespace {

// How far a member has come: an incarnation begins with its backfill, and ends
// when it is down.
std::pair<std::uint64_t, int> ProgressOf(const Member& member) {
  const int stage = member.state == MemberState::kDown ? 2
                    : member.InSync()                  ? 1
                                                       : 0;
  return {member.incarnation, stage};
}

// How many flushes at once `view` is ahead of `other`; negative: behind it.
// Marks go round.
int MarksAhead(const View& view, const View& other) {
  const FlushMark ahead = (view.flush_mark - other.flush_mark) & kMaxFlushMark;
  if (ahead <= kMaxFlushMark / 2) return static_cast<int>(ahead);
  return -static_cast<int>((other.flush_mark - view.flush_mark) &
                           kMaxFlushMark);
}

// Is the last flush at once of `other` part of `view`? It takes what is of
// before it, so those before it count for nothing.
bool HasLastFlush(const View& view, const View& other) {
  if (other.flushes.empty()) return true;
  // So many newer ones have pushed it out of the list.
  if (MarksAhead(view, other) >= static_cast<int>(View::kFlushesKept)) {
    return true;
  }
  return std::find(view.flushes.begin(), view.flushes.end(),
                   other.flushes.front()) != view.flushes.end();
}

// The times of flushes with a delay.
std::vector<std::uint64_t> TimesOf(const View& view) {
  std::vector<std::uint64_t> times = view.flush_at;
  if (view.flushed_before != 0) times.push_back(view.flushed_before);
  return times;
}

// Flushes with a delay that `other` has and `view` lacks. Those in effect count
// for nothing behind a later one, nor behind a flush at once.
std::vector<std::uint64_t> MissingTimes(const View& view, const View& other,
                                        std::int64_t now_us) {
  const auto now = static_cast<std::uint64_t>(now_us);
  const std::vector<std::uint64_t> there = TimesOf(view);
  const bool flushed = view.flush_mark != other.flush_mark;
  std::vector<std::uint64_t> missing = TimesOf(other);
  std::erase_if(missing, [&](std::uint64_t time) {
    const bool past = time <= now;
    return (past && flushed) ||
           std::any_of(there.begin(), there.end(), [&](std::uint64_t known) {
             return known == time || (past && known > time && known <= now);
           });
  });
  return missing;
}

}  // namespace

bool SameOrigin(const View& a, const View& b) {
  for (std::size_t i = 0; i < a.members.size(); ++i) {
    const bool never_returned =
        a.members[i].joined == 0 && b.members[i].joined == 0;
    if (never_returned &&
        a.members[i].incarnation != b.members[i].incarnation) {
      return false;
    }
  }
  return true;
}

bool Includes(const View& view, const View& other, std::int64_t now_us) {
  if (!SameOrigin(view, other)) return false;
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    if (ProgressOf(view.members[i]) < ProgressOf(other.members[i]))
      return false;
  }
  return HasLastFlush(view, other) && MissingTimes(view, other, now_us).empty();
}

View Merge(View view, const View& other, std::int64_t now_us) {
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    if (ProgressOf(view.members[i]) < ProgressOf(other.members[i])) {
      view.members[i] = other.members[i];
    }
  }
  if (!HasLastFlush(view, other)) {
    const bool beside = !HasLastFlush(other, view);
    if (MarksAhead(other, view) > 0) view.flush_mark = other.flush_mark;
    // Behind all that was made under either of the two.
    if (beside) view.FlushAll(other.flushes.front(), now_us);
    if (!beside) view.flushes = other.flushes;
  }
  const std::vector<std::uint64_t> times = MissingTimes(view, other, now_us);
  if (!times.empty()) view.AddFlushes(times, now_us);
  return view;
}

}  // namespace ers::store
