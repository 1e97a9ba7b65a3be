// SearchOrder: is there an order of one key's operations that explains every
// client's answers?
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/history/checker.h"

namespace ers::sim {
namespace {

// 0 is the absent state; others number the contents, each with its expiry, met
// so far. An object that has expired is one still: see LetsIn.
using State = std::uint32_t;

class Search {
 public:
  // Without `all_uncertain`, a PUT, an update or a touch of unknown outcome
  // that no read shows is left out: it seldom explains anything, and each one
  // doubles the search.
  Search(const std::vector<const Operation*>& operations,
         const CheckOptions& options, bool all_uncertain)
      : options_(options), all_(operations) {
    for (const Operation* operation : operations) {
      if (!Matters(*operation, operations)) continue;
      const bool unseen = !IsCertain(operation) &&
                          (PutsWhole(operation->kind) ||
                           operation->kind == OperationKind::kUpdate ||
                           operation->kind == OperationKind::kTouch) &&
                          !Seen(*operation, operations);
      if (all_uncertain || !unseen) operations_.push_back(operation);
    }
    AddTimes();
    std::sort(operations_.begin(), operations_.end(),
              [](const Operation* a, const Operation* b) {
                return a->invoked < b->invoked;
              });
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if (Passes(*operations_[i])) times_[operations_[i]->invoked] = i;
    }
    done_.assign((operations_.size() + 7) / 8, '\0');
    left_ = static_cast<std::size_t>(
        std::count_if(operations_.begin(), operations_.end(), &IsCertain));
  }

  SearchResult Run() {
    if (Explain(0, 0)) return SearchResult::kExplained;
    return steps_ > options_.search_limit ? SearchResult::kGaveUp
                                          : SearchResult::kImpossible;
  }

 private:
  // The passing of a time at which objects expire is one more operation: it
  // takes no time itself, so that it has its place among the others.
  static bool Passes(const Operation& operation) { return operation.id == 0; }
  void AddTimes() {
    TimePoint last{};
    std::set<TimePoint> times;
    for (const Operation* operation : operations_) {
      if (IsCertain(operation)) last = std::max(last, operation->returned);
      times.insert(operation->expires);
      if (IsToCome(*operation)) times.insert(operation->flush_at);
    }
    for (const TimePoint time : times) {
      if (time > last) break;
      Operation passing;
      passing.invoked = time;
      passing.returned = time;
      passing.ending = Ending::kAcked;
      passings_.push_back(std::move(passing));
    }
    for (const Operation& passing : passings_) operations_.push_back(&passing);
  }
  // A flush with a time to come.
  static bool IsToCome(const Operation& operation) {
    return operation.kind == OperationKind::kFlush &&
           operation.flush_at > operation.invoked;
  }
  [[nodiscard]] bool HasPassed(TimePoint time) const {
    const auto at = times_.find(time);
    return at != times_.end() && IsDone(at->second);
  }

  // It happened, or was seen not to, before its client went on.
  static bool IsCertain(const Operation* operation) {
    return operation->ending == Ending::kAcked ||
           operation->ending == Ending::kNotFound ||
           operation->ending == Ending::kRefused;
  }
  static bool Seen(const Operation& operation,
                   const std::vector<const Operation*>& all) {
    return std::any_of(all.begin(), all.end(), [&](const Operation* other) {
      if (operation.kind == OperationKind::kTouch) {
        return other->expiry_read == operation.expires;
      }
      return std::find(other->cells.begin(), other->cells.end(),
                       operation.id) != other->cells.end();
    });
  }
  // It got an answer, and no state is another one for it.
  static bool Observes(const Operation& operation) {
    if (Passes(operation)) return false;
    return operation.ending == Ending::kNotFound ||
           operation.ending == Ending::kRefused ||
           (operation.ending == Ending::kAcked &&
            (operation.kind == OperationKind::kGet ||
             operation.kind == OperationKind::kTransition ||
             operation.kind == OperationKind::kVerify ||
             operation.kind == OperationKind::kExport));
  }
  static bool Matters(const Operation& operation,
                      const std::vector<const Operation*>& all) {
    if (operation.ending == Ending::kFailed) return false;
    if (IsOfNoClient(operation.kind)) return false;
    // A check goes by the newest view that servers show, also by one with a
    // flush that is not in force yet.
    if (operation.kind == OperationKind::kVerify &&
        operation.ending == Ending::kNotFound) {
      return false;
    }
    if (IsCertain(&operation)) return true;
    // Of unknown outcome: an update that no read saw explains nothing but why a
    // CAS is another one. An append may have made room for a later update.
    if (operation.kind == OperationKind::kUpdate) {
      return Seen(operation, all) ||
             std::any_of(all.begin(), all.end(), [](const Operation* other) {
               return other->kind == OperationKind::kCas &&
                      other->ending == Ending::kRefused;
             });
    }
    return PutsWhole(operation.kind) ||
           operation.kind == OperationKind::kAppend ||
           operation.kind == OperationKind::kDelete ||
           operation.kind == OperationKind::kTouch ||
           operation.kind == OperationKind::kFlush;
  }

  [[nodiscard]] bool IsDone(std::size_t i) const {
    return (done_[i / 8] >> (i % 8) & 1) != 0;
  }
  void Flip(std::size_t i) {
    done_[i / 8] = static_cast<char>(done_[i / 8] ^ (1 << (i % 8)));
  }

  State Number(Cells cells, TimePoint expires) {
    const auto [found, added] =
        numbers_.try_emplace(std::pair(std::move(cells), expires),
                             static_cast<State>(contents_.size() + 1));
    if (added) contents_.push_back(&found->first);
    return found->second;
  }

  [[nodiscard]] const Cells& ContentOf(State state) const {
    return contents_[state - 1]->first;
  }
  [[nodiscard]] TimePoint EndOf(State state) const {
    return contents_[state - 1]->second;
  }
  // Is there an object?
  [[nodiscard]] bool Alive(State state) const {
    return state != 0 && !HasPassed(EndOf(state));
  }

  // Is `state` one that fits the condition of a put, or lets itself be touched?
  // What began before the object expired may give it a longer life, though
  // others were answered meanwhile that there is none
  // (docs/internals/commit.md).
  bool LetsIn(const Operation& change, State state) const {
    if (change.kind == OperationKind::kAdd) return !Alive(state);
    if (state == 0) return false;
    if (!Alive(state) && change.invoked >= EndOf(state)) return false;
    return change.kind != OperationKind::kCas || options_.cas_may_repeat ||
           ContentOf(state) == change.expected;
  }
  // And one that does not? Contents without a cell cannot be distinguished.
  bool Refuses(const Operation& put, State state) const {
    if (!Alive(state)) return false;
    return put.kind == OperationKind::kAdd || put.expected.empty() ||
           ContentOf(state) != put.expected;
  }

  // False: it cannot happen in `state`. What is left of a value that vanished
  // may still be updated, moved or deleted; that does not bring it back.
  bool Apply(const Operation& operation, State state, State* after) {
    *after = state;
    if (Passes(operation)) return true;
    const bool alive = Alive(state);
    if (operation.ending == Ending::kNotFound) {
      if (alive) *after = 0;
      return !alive || options_.values_may_vanish;
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
        *after = Number(Cells(operation.cell_count, operation.id),
                        operation.expires);
        return true;
      case OperationKind::kTouch:
        if (!LetsIn(operation, state)) return options_.values_may_vanish;
        *after = Number(ContentOf(state), operation.expires);
        return true;
      case OperationKind::kUpdate: {
        if (!alive) return options_.values_may_vanish;
        Cells cells = ContentOf(state);
        const std::size_t end = operation.first_cell + operation.cell_count;
        if (end > cells.size()) return false;
        for (std::size_t i = operation.first_cell; i < end; ++i) {
          cells[i] = operation.id;
        }
        *after = Number(std::move(cells), EndOf(state));
        return true;
      }
      case OperationKind::kAppend: {
        if (!alive) return options_.values_may_vanish;
        Cells cells = ContentOf(state);
        cells.insert(cells.end(), operation.cell_count, operation.id);
        *after = Number(std::move(cells), EndOf(state));
        return true;
      }
      case OperationKind::kGet:
        return alive && ContentOf(state) == operation.cells &&
               operation.expiry_read.value_or(EndOf(state)) == EndOf(state);
      case OperationKind::kDelete:
        *after = 0;
        return alive || options_.values_may_vanish;
      case OperationKind::kFlush:
        return true;  // see Flushed
      case OperationKind::kTransition:
      case OperationKind::kVerify:
      case OperationKind::kExport:
        return alive || options_.values_may_vanish;
      case OperationKind::kPack:
      case OperationKind::kKeep:
        return true;  // see Matters
    }
    return false;
  }

  // When the object was last changed, a flush of `time` that takes effect by
  // `until` goes by. No answer shows that: where a change that keeps the
  // content may have come in between, either is possible.
  enum class Fate { kGoes, kStays, kEither };
  [[nodiscard]] Fate Flushed(State state, TimePoint time,
                             TimePoint until) const {
    if (state == 0) return Fate::kStays;
    const Cells& cells = ContentOf(state);
    const std::uint32_t last =
        cells.empty() ? 0 : *std::max_element(cells.begin(), cells.end());
    bool between = false;
    for (const Operation* operation : all_) {
      if (operation->id == last && operation->invoked >= time) {
        return Fate::kStays;
      }
      const bool changes = operation->kind != OperationKind::kGet &&
                           operation->kind != OperationKind::kFlush &&
                           operation->ending != Ending::kFailed;
      between = between || (changes && EndOf(*operation) >= time &&
                            operation->invoked <= until);
    }
    return between ? Fate::kEither : Fate::kGoes;
  }
  // By when it has taken effect, if ever. Packing is no later than its end,
  // whatever came of it: by then its changes have their ids.
  static TimePoint EndOf(const Operation& operation) {
    const bool ended = IsCertain(&operation) || IsOfNoClient(operation.kind);
    return ended ? operation.returned : TimePoint::max();
  }

  // A flush, or the coming of one's time: all that may follow.
  bool ExplainFlush(std::size_t i, std::size_t low, State state) {
    const Operation& operation = *operations_[i];
    const bool passes = Passes(operation);
    if (!passes && IsToCome(operation) && !HasPassed(operation.flush_at)) {
      const bool fresh = pending_.insert(operation.flush_at).second;
      const bool explained = Try(i, low, state);
      if (fresh) pending_.erase(operation.flush_at);
      return explained;
    }
    if (!passes && !IsToCome(operation)) return Try(i, low, 0);
    const TimePoint time = passes ? operation.invoked : operation.flush_at;
    const Fate fate =
        Flushed(state, time, passes ? operation.invoked : EndOf(operation));
    return (fate != Fate::kStays && Try(i, low, 0)) ||
           (fate != Fate::kGoes && Try(i, low, state));
  }
  [[nodiscard]] bool IsFlush(const Operation& operation) const {
    if (Passes(operation)) return pending_.contains(operation.invoked);
    return operation.kind == OperationKind::kFlush;
  }

  // From `low` on, in the order of invocation: those that may come next.
  std::vector<std::size_t> Candidates(std::size_t low) const {
    TimePoint first_return = TimePoint::max();
    std::vector<std::size_t> found;
    std::vector<std::size_t> uncertain;  // last: they need not come at all
    for (std::size_t i = low; i < operations_.size(); ++i) {
      const Operation& operation = *operations_[i];
      if (operation.invoked > first_return) break;
      if (IsDone(i)) continue;
      if (IsCertain(&operation)) {
        found.push_back(i);
        first_return = std::min(first_return, operation.returned);
      } else {
        uncertain.push_back(i);
      }
    }
    found.insert(found.end(), uncertain.begin(), uncertain.end());
    return found;
  }

  bool Explain(std::size_t low, State state) {
    if (left_ == 0) return true;
    std::string visited = done_;
    visited.append(std::to_string(state));
    for (const TimePoint time : pending_) {
      visited.append(1, '.');
      visited.append(std::to_string(time.time_since_epoch().count()));
    }
    if (!visited_.insert(std::move(visited)).second) return false;
    if (++steps_ > options_.search_limit) return false;
    while (low < operations_.size() && IsDone(low)) ++low;
    const std::vector<std::size_t> candidates = Candidates(low);
    // What only observes, and sees what is true now, may as well come now.
    for (const std::size_t i : candidates) {
      State after = state;
      if (Observes(*operations_[i]) && Apply(*operations_[i], state, &after) &&
          after == state) {
        return Try(i, low, after);
      }
    }
    return std::any_of(
        candidates.begin(), candidates.end(), [&](std::size_t i) {
          if (IsFlush(*operations_[i])) return ExplainFlush(i, low, state);
          State after = state;
          return Apply(*operations_[i], state, &after) && Try(i, low, after);
        });
  }

  bool Try(std::size_t i, std::size_t low, State after) {
    const std::size_t certain = IsCertain(operations_[i]) ? 1 : 0;
    Flip(i);
    left_ -= certain;
    const bool explained = Explain(low, after);
    left_ += certain;
    Flip(i);
    return explained;
  }

  const CheckOptions& options_;
  const std::vector<const Operation*>& all_;
  std::vector<const Operation*> operations_;
  std::string done_;      // one bit each
  std::size_t left_ = 0;  // certain and not done
  std::size_t steps_ = 0;
  std::set<TimePoint> pending_;      // flushes that are, or were, to come
  std::vector<Operation> passings_;  // of times
  std::map<TimePoint, std::size_t> times_;  // where they are in operations_
  std::map<std::pair<Cells, TimePoint>, State> numbers_;
  std::vector<const std::pair<Cells, TimePoint>*> contents_;
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
