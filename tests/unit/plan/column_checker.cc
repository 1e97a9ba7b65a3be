#include "unit/plan/column_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "unit/plan/form_changes.h"
#include "unit/plan/plan_checker.h"

namespace ers::plan {
namespace {

template <typename T>
bool Contains(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// By the page on the stored format: data columns by node, then for each parity
// index one of each width.
std::vector<std::vector<int>> CellsOf(const naive::Model& model) {
  std::vector<std::vector<int>> columns(
      static_cast<std::size_t>(model.parameters().kp));
  for (int row = 0; row < model.stripes(model.last()); ++row) {
    for (const int data : model.members(model.last(), row)) {
      columns[static_cast<std::size_t>(model.node_of(data))].push_back(data);
    }
  }
  for (int p = 0; p < model.parameters().m; ++p) {
    for (int width = 0; width <= model.last(); ++width) {
      auto& column = columns.emplace_back();
      for (int stripe = 0; stripe < model.stripes(width); ++stripe) {
        column.push_back(model.parity_id(width, stripe, p));
      }
    }
  }
  return columns;
}

}  // namespace

ColumnChecker::ColumnChecker(const naive::Parameters& parameters,
                             std::mt19937& random)
    : model_(parameters, random),
      geometry_(SchemeOf(parameters), Unit::kColumns),
      random_(random),
      cells_(plan::CellsOf(model_)) {
  for (int d = 0; d < model_.l(); ++d) data_.push_back(model_.content(d));
}

std::string ColumnChecker::CheckLayout() const {
  const naive::Parameters& p = model_.parameters();
  if (geometry_.data_blocks() != p.kp) return "columns of data";
  if (geometry_.node_count() != p.kp + p.m) return "nodes";
  if (geometry_.block_id_count() != static_cast<int>(cells_.size())) {
    return "columns";
  }
  for (BlockId column = 0; column < cells_.size(); ++column) {
    const std::vector<int>& cells = cells_[column];
    const std::vector<BlockId> named = geometry_.CellsOf(column);
    if (!std::equal(named.begin(), named.end(), cells.begin(), cells.end())) {
      return "cells of a column";
    }
    if (geometry_.cell_count(column) != static_cast<int>(cells.size())) {
      return "count of cells";
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto cell = static_cast<BlockId>(cells[i]);
      const Geometry::CellPlace place = geometry_.ColumnOf(cell);
      if (place.column != column || place.at != static_cast<int>(i)) {
        return "place of a cell";
      }
      if (geometry_.NodeOf(column) != model_.node_of(cells[i])) return "node";
      for (const Width width : WidthsOf(geometry_.scheme())) {
        if (geometry_.IsStored(column, width) !=
            model_.stored(cells[i], PlaceOf(width))) {
          return "what a width stores";
        }
      }
    }
  }
  return "";
}

int ColumnChecker::PlaceOf(Width width) const {
  const std::vector<Width> all = WidthsOf(geometry_.scheme());
  return static_cast<int>(std::find(all.begin(), all.end(), width) -
                          all.begin());
}

std::vector<BlockId> ColumnChecker::Stored(Width width) const {
  std::vector<BlockId> stored;
  for (BlockId column = 0; column < cells_.size(); ++column) {
    if (model_.stored(cells_[column].front(), PlaceOf(width))) {
      stored.push_back(column);
    }
  }
  return stored;
}

bool ColumnChecker::IsAbsent(BlockId column, const Missing& missing) const {
  return Contains(missing.blocks, column) ||
         Contains(missing.dead_nodes, geometry_.NodeOf(column));
}

ColumnChecker::Content ColumnChecker::Expected(
    BlockId column, const std::vector<naive::Block>& data) const {
  Content content;
  const int kp = model_.parameters().kp;
  for (const int cell : cells_[column]) {
    if (cell < model_.l()) {
      content.push_back(data[static_cast<std::size_t>(cell)]);
      continue;
    }
    int width = 0;
    while (!model_.stored(cell, width)) ++width;
    const int stripe = model_.stripe_of_block(cell, width);
    const auto p = static_cast<std::size_t>(model_.node_of(cell) - kp);
    content.push_back(model_.Encode(width, stripe, data)[p]);
  }
  return content;
}

ColumnChecker::Outcome ColumnChecker::Run(
    const Plan& plan, Width stored, const Missing& missing,
    const std::map<BlockId, Content>& given) const {
  const auto fail = [](const char* what) { return Outcome{what, {}, {}}; };
  const std::vector<BlockId> there = Stored(stored);
  std::vector<Content> sources;
  std::set<BlockId> seen;
  for (const BlockId id : plan.reads) {
    if (!seen.insert(id).second) return fail("reads a column twice");
    if (!Contains(there, id)) return fail("reads what is not stored");
    if (IsAbsent(id, missing)) return fail("reads a missing column");
    sources.push_back(Expected(id, data_));
  }
  for (const BlockId id : plan.given) {
    const auto content = given.find(id);
    if (content == given.end()) return fail("takes what was not given");
    sources.push_back(content->second);
  }
  if (plan.given.size() != given.size()) return fail("leaves given columns");

  std::map<BlockId, std::vector<std::optional<naive::Block>>> made;
  Outcome outcome;
  const auto& products = naive::Products();
  for (const Step& step : plan.steps) {
    if (step.coefficients.size() != step.inputs.size() * step.outputs.size() ||
        step.input_cells.size() != step.inputs.size() ||
        step.output_cells.size() != step.outputs.size() || step.cells < 1) {
      return fail("has a misshapen step");
    }
    bool reads_alone = true;
    for (const auto input : step.inputs) {
      reads_alone = reads_alone && input < plan.reads.size();
    }
    for (std::size_t r = 0; r < step.outputs.size(); ++r) {
      const BlockId column = step.outputs[r];
      auto& cells = made[column];
      cells.resize(cells_[column].size());
      const auto alone = outcome.from_reads_alone.emplace(column, true).first;
      alone->second = alone->second && reads_alone;
      for (int n = 0; n < step.cells; ++n) {
        naive::Block sum;
        for (std::size_t c = 0; c < step.inputs.size(); ++c) {
          const auto& row =
              products[step.coefficients[r * step.inputs.size() + c]];
          const Content& source = sources.at(step.inputs[c]);
          const auto at = static_cast<std::size_t>(step.InputCell(c) + n);
          for (int i = 0; i < naive::kBlockBytes; ++i) {
            sum.bytes[i] ^= row[source.at(at).bytes[i]];
          }
        }
        auto& cell = cells.at(static_cast<std::size_t>(step.OutputCell(r) + n));
        if (cell) return fail("computes a cell twice");
        cell = sum;
      }
    }
  }
  for (const auto& [column, cells] : made) {
    for (const auto& cell : cells) {
      if (!cell) return fail("computes a part of a column");
      outcome.outputs[column].push_back(*cell);
    }
  }
  return outcome;
}

std::string ColumnChecker::CheckWrites(const Plan& plan, const Missing& missing,
                                       std::vector<BlockId> changed) const {
  std::vector<BlockId> written;
  std::vector<BlockId> unwritten;
  std::sort(changed.begin(), changed.end());
  for (const BlockId id : changed) {
    const bool dead = Contains(missing.dead_nodes, geometry_.NodeOf(id));
    (dead ? unwritten : written).push_back(id);
  }
  auto writes = plan.writes;
  std::sort(writes.begin(), writes.end());
  if (writes != written) return "writes the wrong columns";
  writes = plan.unwritten;
  std::sort(writes.begin(), writes.end());
  if (writes != unwritten) return "leaves the wrong columns unwritten";
  return "";
}

std::string ColumnChecker::Compare(
    const Outcome& outcome, const std::vector<naive::Block>& data) const {
  for (const auto& [column, content] : outcome.outputs) {
    const bool is_data = geometry_.IsData(column);
    if (content != Expected(column, is_data ? data_ : data)) {
      return is_data ? "gets old data wrong" : "gets parity wrong";
    }
  }
  return "";
}

std::string ColumnChecker::CheckPut(Width width, const Missing& missing) const {
  const Plan plan = PlanPut(geometry_, width, missing);
  std::map<BlockId, Content> given;
  for (BlockId c = 0; c < static_cast<BlockId>(geometry_.data_blocks()); ++c) {
    given[c] = Expected(c, data_);
  }
  const Outcome outcome = Run(plan, width, missing, given);
  if (!outcome.error.empty()) return outcome.error;
  if (!plan.reads.empty() || !plan.drops.empty()) return "touches old columns";
  if (auto error = CheckWrites(plan, missing, Stored(width)); !error.empty()) {
    return error;
  }
  for (const BlockId id : plan.writes) {
    if (!geometry_.IsData(id) && !outcome.outputs.contains(id)) {
      return "writes what it does not make";
    }
  }
  return Compare(outcome, data_);
}

std::string ColumnChecker::CheckGet(Width width,
                                    const std::vector<BlockId>& wanted,
                                    const Missing& missing) const {
  const auto plan = PlanGet(geometry_, width, wanted, missing);
  if (!plan) return "gives up";
  const Outcome outcome = Run(*plan, width, missing, {});
  if (!outcome.error.empty()) return outcome.error;
  for (const BlockId id : wanted) {
    if (!Contains(plan->reads, id) && !outcome.outputs.contains(id)) {
      return "does not get what is wanted";
    }
  }
  if (plan->steps.empty() && plan->reads.size() > wanted.size()) {
    return "reads what is not wanted";
  }
  return Compare(outcome, data_);
}

std::string ColumnChecker::CheckUpdate(Width width, const Missing& missing) {
  const std::vector<BlockId> touched = RandomData();
  std::vector<BlockId> keep;
  for (const BlockId id : touched) {
    if (random_() % 3 == 0) keep.push_back(id);
  }
  const auto plan = PlanUpdate(geometry_, width, touched, keep, missing);
  if (!plan) return "gives up";
  std::vector<naive::Block> data = data_;
  for (const BlockId id : touched) {
    for (const int cell : cells_[id]) {
      for (auto& byte : data[static_cast<std::size_t>(cell)].bytes) {
        byte = static_cast<std::uint8_t>(random_());
      }
    }
  }
  std::map<BlockId, Content> given;
  for (const BlockId id : touched) given[id] = Expected(id, data);
  const Outcome outcome = Run(*plan, width, missing, given);
  if (!outcome.error.empty()) return outcome.error;
  for (const BlockId id : keep) {
    if (Contains(plan->reads, id)) continue;
    const auto made = outcome.from_reads_alone.find(id);
    if (made == outcome.from_reads_alone.end()) return "loses what is kept";
    if (!made->second) return "makes what is kept from what is given";
  }
  std::vector<BlockId> changed = touched;
  for (const BlockId id : Stored(width)) {
    if (!geometry_.IsData(id)) changed.push_back(id);
  }
  if (auto error = CheckWrites(*plan, missing, changed); !error.empty()) {
    return error;
  }
  for (const BlockId id : plan->writes) {
    if (!geometry_.IsData(id) && !outcome.outputs.contains(id)) {
      return "writes what it does not make";
    }
  }
  return Compare(outcome, data);
}

// The first dead node comes back empty.
std::string ColumnChecker::CheckRebuild(Width width, Missing missing) const {
  std::vector<BlockId> lost = missing.blocks;
  missing.blocks.clear();
  if (!missing.dead_nodes.empty()) {
    const int node = missing.dead_nodes.front();
    missing.dead_nodes.erase(missing.dead_nodes.begin());
    for (const BlockId id : Stored(width)) {
      if (geometry_.NodeOf(id) == node) lost.push_back(id);
    }
  }
  const auto plan = PlanRebuild(geometry_, width, lost, missing);
  if (!plan) return "gives up";
  Missing all = missing;
  all.blocks = lost;
  const Outcome outcome = Run(*plan, width, all, {});
  if (!outcome.error.empty()) return outcome.error;
  if (auto error = CheckWrites(*plan, missing, lost); !error.empty()) {
    return error;
  }
  if (outcome.outputs.size() != plan->writes.size()) return "makes too little";
  return Compare(outcome, data_);
}

std::vector<BlockId> ColumnChecker::Parity(Width width, int first,
                                           int end) const {
  std::vector<BlockId> columns = Stored(width);
  std::erase_if(columns, [&](BlockId id) {
    const int p = geometry_.NodeOf(id) - geometry_.scheme().kp;
    return p < first || p >= end;
  });
  return columns;
}

std::string ColumnChecker::CheckTransition(const FormChange& change,
                                           TransitionVariant variant,
                                           const Missing& missing) const {
  const auto& [from, to] = change;
  const int kept = from.width == to.width ? std::min(from.m, to.m) : 0;
  Missing all = missing;
  for (const BlockId id : Parity(from.width, from.m, geometry_.scheme().m)) {
    all.blocks.push_back(id);
  }
  const auto plan = PlanTransition(geometry_, change, variant, missing);
  const std::vector<BlockId> changed = Parity(to.width, kept, to.m);
  if (!plan) {
    const auto there = [&](BlockId id) { return !IsAbsent(id, all); };
    const bool writes =
        std::any_of(changed.begin(), changed.end(), [&](BlockId id) {
          return !Contains(missing.dead_nodes, geometry_.NodeOf(id));
        });
    const std::vector<BlockId> stored = Stored(from.width);
    const auto left = std::count_if(stored.begin(), stored.end(), there);
    // Of narrow stripes some may do with fewer.
    const bool enough = left >= geometry_.scheme().kp;
    return !writes || enough ? "gives up" : "";
  }
  const Outcome outcome = Run(*plan, from.width, all, {});
  if (!outcome.error.empty()) return outcome.error;
  if (plan->drops != Parity(from.width, kept, from.m)) {
    return "drops the wrong columns";
  }
  if (auto error = CheckWrites(*plan, missing, changed); !error.empty()) {
    return error;
  }
  if (plan->writes.empty() && !plan->reads.empty()) return "reads for nothing";
  if (outcome.outputs.size() != plan->writes.size()) return "makes too little";
  return Compare(outcome, data_);
}

std::string ColumnChecker::CheckTransitions(Width from,
                                            const Missing& missing) const {
  for (const FormChange& change : AllChanges(geometry_)) {
    if (change.from.width != from) continue;
    for (const auto variant :
         {TransitionVariant::kOptimal, TransitionVariant::kPaper,
          TransitionVariant::kNoOrder}) {
      const std::string error = CheckTransition(change, variant, missing);
      if (error.empty()) continue;
      return NameOf(geometry_.scheme(), change, variant) + ": " + error;
    }
  }
  return "";
}

std::vector<BlockId> ColumnChecker::RandomData() {
  std::vector<BlockId> columns;
  const auto count = static_cast<BlockId>(geometry_.data_blocks());
  for (BlockId c = 0; c < count; ++c) {
    if (random_() % 3 == 0) columns.push_back(c);
  }
  if (columns.empty()) columns.push_back(random_() % count);
  return columns;
}

std::string ColumnChecker::CheckAll(const Missing& missing) {
  const auto label = [this](std::string_view what, Width width,
                            std::string_view error) {
    return fmt::format("{} {}: {}", what, WidthName(geometry_.scheme(), width),
                       error);
  };
  std::vector<BlockId> all;
  const auto count = static_cast<BlockId>(geometry_.data_blocks());
  for (BlockId c = 0; c < count; ++c) all.push_back(c);
  const std::vector<Width> widths = WidthsOf(geometry_.scheme());
  for (const Width width : widths) {
    Missing of_width = missing;
    std::erase_if(of_width.blocks,
                  [&](BlockId id) { return !geometry_.IsStored(id, width); });
    std::string error = CheckPut(width, {{}, missing.dead_nodes});
    if (!error.empty()) return label("put", width, error);
    error = CheckGet(width, all, of_width);
    if (!error.empty()) return label("get", width, error);
    error = CheckGet(width, RandomData(), of_width);
    if (!error.empty()) return label("partial get", width, error);
    error = CheckUpdate(width, of_width);
    if (!error.empty()) return label("update", width, error);
    error = CheckRebuild(width, of_width);
    if (!error.empty()) return label("rebuild", width, error);
    error = CheckTransitions(width, of_width);
    if (!error.empty()) return label("transition from", width, error);
  }
  return "";
}

}  // namespace ers::plan
