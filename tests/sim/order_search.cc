// SearchOrder: is there an order of one key's operations that explains what
// every client was told?
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/checker.h"

namespace ers::sim {
namespace {

// 0 is the absent state; others number the contents met so far.
using State = std::uint32_t;

class Search {
 public:
  // Without `all_untold`, a PUT of unknown outcome that no read shows is left
  // out: it seldom explains anything, and each one doubles the search.
  Search(const std::vector<const Operation*>& operations,
         const CheckOptions& options, bool all_untold)
      : options_(options) {
    for (const Operation* operation : operations) {
      if (!Matters(*operation, operations)) continue;
      const bool unseen = !Told(operation) && PutsWhole(operation->kind) &&
                          !Seen(*operation, operations);
      if (all_untold || !unseen) operations_.push_back(operation);
    }
    std::sort(operations_.begin(), operations_.end(),
              [](const Operation* a, const Operation* b) {
                return a->invoked < b->invoked;
              });
    done_.assign((operations_.size() + 7) / 8, '\0');
    left_ = static_cast<std::size_t>(
        std::count_if(operations_.begin(), operations_.end(), &Told));
  }

  SearchResult Run() {
    if (Explain(0, 0)) return SearchResult::kExplained;
    return steps_ > options_.search_limit ? SearchResult::kGaveUp
                                          : SearchResult::kImpossible;
  }

 private:
  // It happened, or was seen not to, before its client went on.
  static bool Told(const Operation* operation) {
    return operation->ending == Ending::kAcked ||
           operation->ending == Ending::kNotFound ||
           operation->ending == Ending::kRefused;
  }
  static bool Seen(const Operation& operation,
                   const std::vector<const Operation*>& all) {
    return std::any_of(all.begin(), all.end(), [&](const Operation* other) {
      return std::find(other->cells.begin(), other->cells.end(),
                       operation.id) != other->cells.end();
    });
  }
  // It was told something, and no state is another one for it.
  static bool Looks(const Operation& operation) {
    return operation.ending == Ending::kNotFound ||
           operation.ending == Ending::kRefused ||
           (operation.ending == Ending::kAcked &&
            (operation.kind == OperationKind::kGet ||
             operation.kind == OperationKind::kTransition ||
             operation.kind == OperationKind::kExport));
  }
  static bool Matters(const Operation& operation,
                      const std::vector<const Operation*>& all) {
    if (operation.ending == Ending::kFailed) return false;
    if (Told(&operation)) return true;
    // Of unknown outcome: an update that nobody saw explains nothing. An append
    // may have made room for a later update.
    if (operation.kind == OperationKind::kUpdate) {
      return Seen(operation, all);
    }
    return PutsWhole(operation.kind) ||
           operation.kind == OperationKind::kAppend ||
           operation.kind == OperationKind::kDelete;
  }

  [[nodiscard]] bool IsDone(std::size_t i) const {
    return (done_[i / 8] >> (i % 8) & 1) != 0;
  }
  void Flip(std::size_t i) {
    done_[i / 8] = static_cast<char>(done_[i / 8] ^ (1 << (i % 8)));
  }

  State Number(Cells cells) {
    const auto [found, added] = numbers_.try_emplace(
        std::move(cells), static_cast<State>(contents_.size() + 1));
    if (added) contents_.push_back(&found->first);
    return found->second;
  }

  [[nodiscard]] const Cells& ContentOf(State state) const {
    return *contents_[state - 1];
  }

  // Is `state` one that fits the condition of a put?
  bool LetsIn(const Operation& put, State state) const {
    if (put.kind == OperationKind::kAdd) return state == 0;
    if (state == 0) return false;
    return put.kind != OperationKind::kCas || options_.cas_may_repeat ||
           ContentOf(state) == put.expected;
  }
  // And one that does not? Contents without a cell cannot be told apart.
  bool Refuses(const Operation& put, State state) const {
    if (state == 0) return false;
    return put.kind == OperationKind::kAdd || put.expected.empty() ||
           ContentOf(state) != put.expected;
  }

  // False: it cannot happen in `state`. What is left of a value that vanished
  // may still be updated, moved or deleted; that does not bring it back.
  bool Apply(const Operation& operation, State state, State* after) {
    *after = state;
    if (operation.ending == Ending::kNotFound) {
      *after = 0;
      return state == 0 || options_.values_may_vanish;
    }
    if (operation.ending == Ending::kRefused) {
      return Refuses(operation, state) || options_.values_may_vanish;
    }
    switch (operation.kind) {
      case OperationKind::kCas:
      case OperationKind::kAdd:
      case OperationKind::kReplace:
        if (!LetsIn(operation, state) && !options_.values_may_vanish) {
          return false;
        }
        [[fallthrough]];
      case OperationKind::kPut:
        *after = Number(Cells(operation.cell_count, operation.id));
        return true;
      case OperationKind::kUpdate: {
        if (state == 0) return options_.values_may_vanish;
        Cells cells = ContentOf(state);
        const std::size_t end = operation.first_cell + operation.cell_count;
        if (end > cells.size()) return false;
        for (std::size_t i = operation.first_cell; i < end; ++i) {
          cells[i] = operation.id;
        }
        *after = Number(std::move(cells));
        return true;
      }
      case OperationKind::kAppend: {
        if (state == 0) return options_.values_may_vanish;
        Cells cells = ContentOf(state);
        cells.insert(cells.end(), operation.cell_count, operation.id);
        *after = Number(std::move(cells));
        return true;
      }
      case OperationKind::kGet:
        return state != 0 && ContentOf(state) == operation.cells;
      case OperationKind::kDelete:
        *after = 0;
        return state != 0 || options_.values_may_vanish;
      case OperationKind::kTransition:
      case OperationKind::kExport:
        return state != 0 || options_.values_may_vanish;
    }
    return false;
  }

  // From `low` on, in the order of invocation: those that may come next.
  std::vector<std::size_t> Candidates(std::size_t low) const {
    TimePoint first_return = TimePoint::max();
    std::vector<std::size_t> found;
    std::vector<std::size_t> untold;  // last: they need not come at all
    for (std::size_t i = low; i < operations_.size(); ++i) {
      const Operation& operation = *operations_[i];
      if (operation.invoked > first_return) break;
      if (IsDone(i)) continue;
      if (Told(&operation)) {
        found.push_back(i);
        first_return = std::min(first_return, operation.returned);
      } else {
        untold.push_back(i);
      }
    }
    found.insert(found.end(), untold.begin(), untold.end());
    return found;
  }

  bool Explain(std::size_t low, State state) {
    if (left_ == 0) return true;
    std::string visited = done_;
    visited.append(std::to_string(state));
    if (!visited_.insert(std::move(visited)).second) return false;
    if (++steps_ > options_.search_limit) return false;
    while (low < operations_.size() && IsDone(low)) ++low;
    const std::vector<std::size_t> candidates = Candidates(low);
    // What only looks, and sees what is true now, may as well come now.
    for (const std::size_t i : candidates) {
      State after = state;
      if (Looks(*operations_[i]) && Apply(*operations_[i], state, &after) &&
          after == state) {
        return Try(i, low, after);
      }
    }
    return std::any_of(
        candidates.begin(), candidates.end(), [&](std::size_t i) {
          State after = state;
          return Apply(*operations_[i], state, &after) && Try(i, low, after);
        });
  }

  bool Try(std::size_t i, std::size_t low, State after) {
    const std::size_t told = Told(operations_[i]) ? 1 : 0;
    Flip(i);
    left_ -= told;
    const bool explained = Explain(low, after);
    left_ += told;
    Flip(i);
    return explained;
  }

  const CheckOptions& options_;
  std::vector<const Operation*> operations_;
  std::string done_;      // one bit each
  std::size_t left_ = 0;  // told and not done
  std::size_t steps_ = 0;
  std::map<Cells, State> numbers_;
  std::vector<const Cells*> contents_;
  std::unordered_set<std::string> visited_;
};

}  // namespace

SearchResult SearchOrder(const std::vector<const Operation*>& operations,
                         const CheckOptions& options) {
  const SearchResult seen = Search(operations, options, false).Run();
  if (seen == SearchResult::kExplained) return seen;
  return Search(operations, options, true).Run();
}

}  // namespace ers::sim
