#include "store/format/view_base.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "store/format/view_order.h"

namespace ers::store {
namespace {

using Parts = std::vector<const ShownView*>;

// How many of those that show `other` have kept the memory that `view` knows?
// What another memory has says nothing of it.
int Kept(const View& view, const ShownView& other) {
  const auto kept = std::count_if(
      other.shown.begin(), other.shown.end(), [&view](const auto& one) {
        const auto at = static_cast<std::size_t>(one.first);
        return view.members[at].boot_mark == one.second;
      });
  return static_cast<int>(kept);
}

// On how many members is a record that neither has all of the view nor is part
// of it? None of these has had it, nor will take it.
int RefusedBy(const std::vector<ShownView>& all, const View& view,
              std::int64_t now_us) {
  int refused = 0;
  for (const ShownView& other : all) {
    const bool related = Includes(view, other.view, now_us) ||
                         Includes(other.view, view, now_us);
    if (!related) refused += Kept(view, other);
  }
  return refused;
}

// How many members show one of these that is of the view's origin.
int ShownBy(const Parts& parts, const View& view) {
  int shown = 0;
  for (const ShownView* part : parts) {
    if (SameOrigin(part->view, view)) shown += Kept(view, *part);
  }
  return shown;
}

// Of first views that were made at the same time, while some members are
// silent, the one that most have; of views of one origin the latest.
const ShownView* MostShown(const Parts& parts) {
  const auto rank = [&parts](const ShownView* part) {
    return std::pair(ShownBy(parts, part->view), part->view.epoch);
  };
  return *std::max_element(parts.begin(), parts.end(),
                           [&rank](const ShownView* a, const ShownView* b) {
                             return rank(a) < rank(b);
                           });
}

bool IsShown(const std::vector<ShownView>& all, const std::string& text) {
  return std::any_of(all.begin(), all.end(), [&text](const ShownView& one) {
    return one.text == text;
  });
}

}  // namespace

Base ChooseBase(const std::vector<ShownView>& all, std::uint64_t tried,
                std::int64_t now_us) {
  Base base;
  std::uint64_t latest = tried;
  Parts parts;
  for (const ShownView& one : all) {
    latest = std::max(latest, one.view.epoch);
    if (RefusedBy(all, one.view, now_us) > one.view.max_failures) {
      base.never_in_force.insert(one.text);
    } else {
      parts.push_back(&one);
    }
  }
  // Where none of them was in force, any is as good.
  if (parts.empty()) parts.push_back(&all.front());
  base.view = MostShown(parts)->view;
  for (const ShownView* part : parts) {
    if (!SameOrigin(base.view, part->view)) {
      base.never_in_force.insert(part->text);
      continue;
    }
    const std::uint64_t epoch = std::max(base.view.epoch, part->view.epoch);
    base.view = Merge(std::move(base.view), part->view, now_us);
    base.view.epoch = epoch;
  }
  // Of two views of one epoch neither may count: the next one reconciles it.
  const bool as_it_is = base.view.epoch == latest && latest > tried &&
                        IsShown(all, EncodeView(base.view));
  if (!as_it_is) base.view.epoch = latest + 1;
  return base;
}

}  // namespace ers::store
