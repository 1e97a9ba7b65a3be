#include "store/upkeep/damped_returns.h"

#include <algorithm>
#include <utility>

namespace ers::store {

void DampedReturns::Note(const View& view, net::TimePoint now) {
  const bool known = !members_.empty();
  members_.resize(view.members.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& is = view.members[i];
    Seen& seen = members_[i];
    const auto before = std::exchange(seen.incarnation, is.incarnation);
    if (known && before != is.incarnation && seen.boot_mark == is.boot_mark) {
      seen.returns.push_front(now);
      seen.news = true;
    }
    seen.boot_mark = is.boot_mark;
    while (!seen.returns.empty() && now - seen.returns.back() > kRemembered) {
      seen.returns.pop_back();
    }
  }
}

net::Duration DampedReturns::Wait(int member, const std::string& boot_mark,
                                  net::TimePoint now) const {
  const auto at = static_cast<std::size_t>(member);
  if (at >= members_.size()) return {};
  const Seen& seen = members_[at];
  if (seen.returns.empty() || seen.boot_mark != boot_mark) return {};
  net::Duration wait = kFirstWait;
  for (std::size_t i = 1; i < seen.returns.size() && wait < kMaxWait; ++i) {
    wait *= 2;
  }
  wait = std::min(wait, kMaxWait);
  return std::max(seen.returns.front() + wait - now, net::Duration());
}

bool DampedReturns::TakeNews(int member) {
  return std::exchange(members_[static_cast<std::size_t>(member)].news, false);
}

}  // namespace ers::store
