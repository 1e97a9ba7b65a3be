#include "sim/history/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace ers::sim {
namespace {

using Operations = std::vector<const Operation*>;

constexpr std::string_view kInvariantNames[] = {
    "acknowledged and observed changes stay",
    "one chain of values: no read goes back, no change takes effect twice",
    "every manifest at the primary has all blocks it names",
    "no manifest write of one view is applied in a later one",
    "a copy of another incarnation or on a backfilling member never decides",
    "no read shows a life of the key that an acknowledged delete ended",
    "a read returns one change's bytes and attributes",
    "a miss only if absent",
    "a failed or unknown change leaves old or new whole; no other shows",
    "garbage collection removes only garbage",
    "after faults stop, everything ends",
    "never more than f members not in sync",
    "members that are in sync have all blocks of all objects"};

bool Before(const Operation& a, const Operation& b) {
  return a.returned < b.invoked;
}

bool Writes(const Operation& operation) {
  return PutsWhole(operation.kind) ||
         operation.kind == OperationKind::kUpdate ||
         operation.kind == OperationKind::kAppend;
}

// Whatever was there; what is appended takes no cell from another change.
bool Covers(const Operation& writer, std::size_t cell) {
  return PutsWhole(writer.kind) ||
         (writer.kind == OperationKind::kUpdate && cell >= writer.first_cell &&
          cell < writer.first_cell + writer.cell_count);
}

bool MayHaveWritten(const Operation& writer, std::size_t cell) {
  return writer.kind == OperationKind::kAppend || Covers(writer, cell);
}

bool Shows(const Operation& read, std::uint32_t writer) {
  return std::find(read.cells.begin(), read.cells.end(), writer) !=
         read.cells.end();
}

bool MayHappen(const Operation& operation) {
  return operation.ending == Ending::kAcked ||
         operation.ending == Ending::kUnknown ||
         operation.ending == Ending::kOpen;
}

// May an export have left what the read shows?
bool ShowsExported(const History& history, const Operations& operations,
                   const Operation& read) {
  if (read.kind != OperationKind::kGet || read.ending != Ending::kAcked) {
    return false;
  }
  return std::any_of(
      operations.begin(), operations.end(), [&](const Operation* exported) {
        return exported->kind == OperationKind::kExport &&
               MayHappen(*exported) && exported->invoked <= read.returned &&
               std::all_of(read.cells.begin(), read.cells.end(),
                           [&](std::uint32_t writer) {
                             return writer > 0 &&
                                    writer <= history.operations().size() &&
                                    history.at(writer).invoked <=
                                        exported->returned;
                           });
      });
}

// The tests of one key that each name one breach.
class KeyCheck {
 public:
  KeyCheck(const History& history, const Operations& operations,
           const CheckOptions& options, std::vector<Violation>* found)
      : history_(history),
        operations_(operations),
        options_(options),
        found_(found) {
    for (const Operation* operation : operations_) {
      if (operation->kind == OperationKind::kGet &&
          operation->ending == Ending::kAcked) {
        reads_.push_back(operation);
      } else if (operation->ending == Ending::kNotFound &&
                 operation->kind != OperationKind::kVerify) {
        misses_.push_back(operation);
      }
    }
  }

  void Run() {
    const std::size_t before = found_->size();
    CheckEnds();
    CheckBytes();
    if (found_->size() > before) return;  // the rest reads the bytes
    CheckClientCas();
    CheckDeletes();
    CheckSuperseded();
    CheckMisses();
    CheckReturns();
    if (found_->size() > before) return;
    switch (SearchOrder(operations_, options_)) {
      case SearchResult::kExplained:
        return;
      case SearchResult::kImpossible:
        return Report(Invariant::kOneChain,
                      "no order of the operations explains them, as of " +
                          Describe(*FirstImpossible()) + ":" + AllOf());
      case SearchResult::kGaveUp:
        return Report(Invariant::kOneChain,
                      "the search for an order gave up:" + AllOf());
    }
  }

 private:
  void Report(Invariant invariant, const std::string& text) {
    found_->push_back(Breach(invariant, operations_.front()->key, text));
  }
  std::string AllOf() const {
    std::string text;
    for (const Operation* operation : operations_) {
      // There are thousands of these.
      if (IsOfNoClient(operation->kind)) continue;
      text += "\n  " + Describe(*operation);
    }
    return text;
  }

  // Up to whose return no order explains what was answered, the earliest.
  const Operation* FirstImpossible() const {
    std::vector<const Operation*> answered;
    for (const Operation* operation : operations_) {
      if (operation->returned != TimePoint::max())
        answered.push_back(operation);
    }
    std::sort(
        answered.begin(), answered.end(),
        [](const auto* a, const auto* b) { return a->returned < b->returned; });
    const auto impossible = [this](const Operation* last) {
      std::vector<Operation> known;
      for (const Operation* operation : operations_) {
        if (operation->invoked > last->returned) continue;
        known.push_back(*operation);
        if (operation->returned <= last->returned) continue;
        known.back().ending = Ending::kOpen;
        known.back().returned = TimePoint::max();
        known.back().cells.clear();
      }
      std::vector<const Operation*> pointers;
      for (const Operation& operation : known) pointers.push_back(&operation);
      return SearchOrder(pointers, options_) == SearchResult::kImpossible;
    };
    const auto first = std::partition_point(
        answered.begin(), answered.end(),
        [&](const Operation* last) { return !impossible(last); });
    return first == answered.end() ? answered.back() : *first;
  }

  void CheckEnds() {
    for (const Operation* operation : operations_) {
      if (operation->ending == Ending::kOpen &&
          options_.killed_clients.count(operation->client) == 0) {
        Report(Invariant::kEverythingEnds, Describe(*operation));
      }
    }
  }

  void CheckBytes() {
    for (const Operation* read : reads_) {
      std::set<std::uint32_t> puts;
      for (std::size_t cell = 0; cell < read->cells.size(); ++cell) {
        if (!CheckCell(*read, cell, &puts)) break;
      }
      if (puts.size() > 1) {
        Report(Invariant::kOneChangesBytes,
               "a mix of two values: " + Describe(*read));
      } else if (puts.size() == 1) {
        const Operation& put = history_.at(*puts.begin());
        CheckAgainstPut(*read, put);
        CheckAppends(*read, put);
      }
    }
  }

  bool CheckCell(const Operation& read, std::size_t cell,
                 std::set<std::uint32_t>* puts) {
    const std::uint32_t id = read.cells[cell];
    const bool known = id > 0 && id <= history_.operations().size();
    if (!known || history_.at(id).key != read.key || !Writes(history_.at(id)) ||
        !MayHaveWritten(history_.at(id), cell) ||
        history_.at(id).invoked > read.returned) {
      Report(Invariant::kOneChangesBytes,
             fmt::format("cell {} holds bytes that no change wrote there: ",
                         cell) +
                 Describe(read));
      return false;
    }
    const Operation& writer = history_.at(id);
    if (writer.ending == Ending::kFailed ||
        writer.ending == Ending::kNotFound ||
        writer.ending == Ending::kRefused) {
      Report(Invariant::kFailedLeavesWhole,
             Describe(writer) + ", yet " + Describe(read));
      return false;
    }
    if (PutsWhole(writer.kind)) puts->insert(id);
    return true;
  }

  void CheckAgainstPut(const Operation& read, const Operation& put) {
    const bool may_be_longer = std::any_of(
        operations_.begin(), operations_.end(),
        [](const auto* op) { return op->kind == OperationKind::kAppend; });
    if (read.cells.size() != put.cell_count &&
        (!may_be_longer || read.cells.size() < put.cell_count)) {
      Report(Invariant::kOneChangesBytes,
             "another length than " + Describe(put) + ": " + Describe(read));
    } else if (put.attributes_put != 0 &&
               read.attributes != put.attributes_put) {
      Report(Invariant::kOneChangesBytes, "flags or expiry are not those of " +
                                              Describe(put) + ": " +
                                              Describe(read));
    }
  }

  // What was appended to this very value before the read began is there, but
  // for what an update may have written over.
  void CheckAppends(const Operation& read, const Operation& put) {
    for (const Operation* appended : operations_) {
      if (appended->kind != OperationKind::kAppend ||
          appended->ending != Ending::kAcked || !Before(put, *appended) ||
          !Before(*appended, read) || Shows(read, appended->id)) {
        continue;
      }
      const bool written_over = std::any_of(
          operations_.begin(), operations_.end(), [&](const Operation* op) {
            return op->kind == OperationKind::kUpdate &&
                   !Before(*op, *appended);
          });
      if (!written_over) {
        Report(Invariant::kNothingLost,
               Describe(*appended) + " is lost: " + Describe(read));
      }
    }
  }

  void CheckClientCas() {
    std::map<Cells, const Operation*> by_cells;
    std::map<std::uint64_t, const Operation*> by_cas;
    for (const Operation* read : reads_) {
      if (read->client_cas == 0 || read->cells.empty()) continue;
      const Operation* same =
          by_cells.try_emplace(read->cells, read).first->second;
      if (same->client_cas != read->client_cas) {
        Report(Invariant::kOneChangesBytes,
               fmt::format("one content with the CAS {} and {}: ",
                           same->client_cas, read->client_cas) +
                   Describe(*same) + "; " + Describe(*read));
      }
      same = by_cas.try_emplace(read->client_cas, read).first->second;
      // It rises from what is there: where nothing is left, only the clock
      // keeps it from coming again.
      const bool may_repeat =
          options_.values_may_vanish || options_.cas_may_repeat;
      if (same->cells != read->cells && !may_repeat) {
        Report(Invariant::kOneChangesBytes,
               fmt::format("two contents with the CAS {}: ", read->client_cas) +
                   Describe(*same) + "; " + Describe(*read));
      }
    }
  }

  void CheckDeletes() {
    for (const Operation* gone : operations_) {
      if (gone->kind != OperationKind::kDelete ||
          gone->ending != Ending::kAcked) {
        continue;
      }
      for (const Operation* read : reads_) {
        if (!Before(*gone, *read)) continue;
        for (const std::uint32_t id : read->cells) {
          const Operation& writer = history_.at(id);
          if (writer.ending == Ending::kAcked && Before(writer, *gone)) {
            Report(Invariant::kDeletedStaysDeleted,
                   Describe(writer) + ", then " + Describe(*gone) + ", yet " +
                       Describe(*read));
            break;
          }
        }
      }
    }
  }

  // A read of a cell that an acknowledged change wrote over before the read
  // began, after what it shows was done.
  void CheckSuperseded() {
    for (const Operation* read : reads_) {
      for (std::size_t cell = 0; cell < read->cells.size(); ++cell) {
        const Operation& shown = history_.at(read->cells[cell]);
        if (shown.ending != Ending::kAcked) continue;
        const auto newer = std::find_if(
            operations_.begin(), operations_.end(), [&](const Operation* op) {
              return Writes(*op) && op->ending == Ending::kAcked &&
                     Covers(*op, cell) && Before(shown, *op) &&
                     Before(*op, *read);
            });
        if (newer == operations_.end()) continue;
        const bool seen =
            std::any_of(reads_.begin(), reads_.end(), [&](const Operation* r) {
              return Before(*r, *read) && Shows(*r, (*newer)->id);
            });
        Report(seen ? Invariant::kOneChain : Invariant::kNothingLost,
               Describe(**newer) + (seen ? " was read before" : " is lost") +
                   ": " + Describe(*read));
        break;
      }
    }
  }

  void CheckMisses() {
    for (const Operation* miss : misses_) {
      const auto put = std::find_if(
          operations_.begin(), operations_.end(), [&](const Operation* op) {
            return PutsWhole(op->kind) && op->ending == Ending::kAcked &&
                   Before(*op, *miss);
          });
      if (put == operations_.end()) continue;
      const bool may_be_deleted = std::any_of(
          operations_.begin(), operations_.end(), [&](const Operation* op) {
            if (op->kind == OperationKind::kFlush) {
              return MayHappen(*op) && MayFlush(*op, **put) &&
                     !Before(*miss, *op);
            }
            return MayEnd(*op, *miss) && !Before(*op, **put) &&
                   !Before(*miss, *op);
          });
      const auto later =
          std::find_if(reads_.begin(), reads_.end(), [&](const Operation* r) {
            return Before(*miss, *r) && !r->cells.empty() &&
                   std::all_of(r->cells.begin(), r->cells.end(),
                               [&](std::uint32_t id) {
                                 const Operation& writer = history_.at(id);
                                 return writer.ending == Ending::kAcked &&
                                        Before(writer, *miss);
                               });
          });
      if (later != reads_.end() && MayRevive(*miss)) continue;
      if (later != reads_.end()) {
        Report(options_.values_may_vanish ? Invariant::kOneChain
                                          : Invariant::kMissOnlyIfAbsent,
               Describe(*miss) + ", yet " + Describe(**later));
      } else if (!options_.values_may_vanish && !may_be_deleted) {
        Report(Invariant::kNothingLost,
               Describe(**put) + ", yet " + Describe(*miss));
      }
    }
  }

  // Also what was put while it was under way.
  static bool MayFlush(const Operation& flush, const Operation& put) {
    return flush.flush_at >= put.invoked || flush.ending != Ending::kAcked ||
           (flush.flush_at <= flush.invoked && !Before(flush, put));
  }
  // Whatever there was, by the time of the miss?
  static bool MayEnd(const Operation& operation, const Operation& miss) {
    return MayHappen(operation) && (operation.kind == OperationKind::kDelete ||
                                    operation.expires <= miss.returned);
  }
  // Was a longer life under way when the miss was answered? See
  // order_search.cc.
  [[nodiscard]] bool MayRevive(const Operation& miss) const {
    return std::any_of(
        operations_.begin(), operations_.end(), [&miss](const Operation* op) {
          return op->kind == OperationKind::kTouch && MayHappen(*op) &&
                 !Before(miss, *op) &&
                 (op->ending != Ending::kAcked || !Before(*op, miss));
        });
  }

  // Reads against reads, cell by cell: a newer one shows what is older, or
  // something comes, goes and comes again.
  void CheckReturns() {
    struct Span {
      const Operation* first = nullptr;  // the read that returned first
      const Operation* last = nullptr;   // the read that was invoked last
    };
    std::map<std::pair<std::size_t, std::uint32_t>, Span> spans;
    for (const Operation* read : reads_) {
      for (std::size_t cell = 0; cell < read->cells.size(); ++cell) {
        Span& span = spans[{cell, read->cells[cell]}];
        if (span.first == nullptr || read->returned < span.first->returned) {
          span.first = read;
        }
        if (span.last == nullptr || read->invoked > span.last->invoked) {
          span.last = read;
        }
      }
    }
    for (const Operation* read : reads_) {
      for (const auto& [place, span] : spans) {
        const auto& [cell, id] = place;
        if (cell >= read->cells.size() || read->cells[cell] == id) continue;
        const Operation& shown = history_.at(read->cells[cell]);
        const bool again =
            Before(*span.first, *read) && Before(*read, *span.last);
        const bool back = Before(*span.first, *read) &&
                          shown.ending == Ending::kAcked &&
                          Before(shown, history_.at(id));
        if (!again && !back) continue;
        Report(Invariant::kOneChain,
               fmt::format("cell {} ", cell) +
                   (again ? "shows a change, another and the first again: "
                          : "goes back: ") +
                   Describe(*span.first) + "; " + Describe(*read) +
                   (again ? "; " + Describe(*span.last) : std::string()));
        return;
      }
    }
  }

  const History& history_;
  const Operations& operations_;
  const CheckOptions& options_;
  std::vector<Violation>* found_;
  Operations reads_;
  Operations misses_;
};

}  // namespace

std::string InvariantName(Invariant invariant) {
  const int number = static_cast<int>(invariant);
  return fmt::format("invariant {} ({})", number, kInvariantNames[number - 1]);
}

Violation Breach(Invariant invariant, std::string_view key,
                 std::string_view text) {
  return {invariant,
          fmt::format("{}, key {}: {}", InvariantName(invariant), key, text)};
}

std::vector<Violation> Check(const History& history,
                             const CheckOptions& options) {
  std::map<std::string_view, Operations> by_key;
  Operations flushes;
  for (const Operation& operation : history.operations()) {
    const bool flush = operation.kind == OperationKind::kFlush;
    (flush ? flushes : by_key[operation.key]).push_back(&operation);
  }
  std::vector<Violation> found;
  for (auto& [key, operations] : by_key) {
    operations.insert(operations.end(), flushes.begin(), flushes.end());
    if (options.exported_may_return) {
      const Operations all = operations;
      std::erase_if(operations, [&](const Operation* operation) {
        return ShowsExported(history, all, *operation);
      });
    }
    KeyCheck(history, operations, options, &found).Run();
  }
  return found;
}

}  // namespace ers::sim
