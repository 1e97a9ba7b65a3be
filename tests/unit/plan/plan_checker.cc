#include "unit/plan/plan_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "unit/plan/form_changes.h"

namespace ers::plan {
namespace {

template <typename T>
bool Contains(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

Scheme SchemeOf(const naive::Parameters& p) {
  std::string text = fmt::format("{}:{},{},{}", p.family, p.k, p.m, p.kp);
  if (p.family == "rep") text = fmt::format("rep:{}", p.m + 1);
  if (p.family == "rs") text = fmt::format("rs:{},{}", p.k, p.m);
  if (p.family == "ers") {
    text = fmt::format("ers:{}", p.k);
    for (const int width : p.middle) text += fmt::format("-{}", width);
    text += fmt::format("-{},{}", p.kp, p.m);
  }
  return ParseScheme(text).value();
}

PlanChecker::PlanChecker(const naive::Parameters& parameters,
                         std::mt19937& random)
    : model_(parameters, random),
      geometry_(SchemeOf(parameters)),
      random_(random) {}

std::vector<naive::Block> PlanChecker::OldData() const {
  std::vector<naive::Block> data;
  for (int d = 0; d < model_.l(); ++d) data.push_back(model_.content(d));
  return data;
}

int PlanChecker::PlaceOf(Width width) const {
  const auto all = widths();
  return static_cast<int>(std::find(all.begin(), all.end(), width) -
                          all.begin());
}

std::string PlanChecker::CheckLayout() const {
  if (geometry_.data_blocks() != model_.l()) return "l";
  if (geometry_.node_count() != model_.nodes()) return "nodes";
  if (geometry_.block_id_count() != model_.id_count()) return "ids";
  for (BlockId id = 0; id < static_cast<BlockId>(model_.id_count()); ++id) {
    if (geometry_.NodeOf(id) != model_.node_of(id)) return "node of a block";
  }
  for (BlockId d = 0; d < static_cast<BlockId>(model_.l()); ++d) {
    for (const Width width : widths()) {
      if (geometry_.StripeOf(d, width) !=
          model_.stripe_of(static_cast<int>(d), PlaceOf(width))) {
        return "stripe of a block";
      }
    }
  }
  return "";
}

PlanChecker::Outcome PlanChecker::Run(
    const Plan& plan, Width stored, const Missing& missing,
    const std::map<BlockId, naive::Block>& given, bool stripe_limit) const {
  const auto fail = [](const char* what) { return Outcome{what, {}, {}}; };
  const int place = PlaceOf(stored);
  std::vector<const naive::Block*> sources;
  std::vector<int> per_stripe(model_.stripes(place), 0);
  std::vector<char> seen(model_.id_count(), 0);
  for (const BlockId id : plan.reads) {
    if (seen[id]++ != 0) return fail("reads a block twice");
    if (!model_.stored(id, place)) return fail("reads what is not stored");
    if (Contains(missing.blocks, id) ||
        Contains(missing.dead_nodes, model_.node_of(id))) {
      return fail("reads a missing block");
    }
    if (++per_stripe[model_.stripe_of_block(id, place)] >
            geometry_.stripe_width(stored) &&
        stripe_limit) {
      return fail("reads more than k blocks of a stripe");
    }
    sources.push_back(&model_.content(id));
  }
  for (const BlockId id : plan.given) {
    const auto block = given.find(id);
    if (block == given.end()) return fail("takes a block that was not given");
    sources.push_back(&block->second);
  }
  if (plan.given.size() != given.size()) return fail("leaves given blocks");

  Outcome outcome;
  const auto& products = naive::Products();
  for (const Step& step : plan.steps) {
    if (step.outputs.empty()) return fail("has an empty step");
    if (step.coefficients.size() != step.inputs.size() * step.outputs.size()) {
      return fail("has a misshapen step");
    }
    bool reads_alone = true;
    for (const auto input : step.inputs) {
      if (input >= sources.size()) return fail("has a wild input");
      if (input >= plan.reads.size()) reads_alone = false;
    }
    if (std::set(step.inputs.begin(), step.inputs.end()).size() !=
        step.inputs.size()) {
      return fail("has an input twice in a step");
    }
    const std::uint8_t* factor = step.coefficients.data();
    for (const BlockId output : step.outputs) {
      naive::Block sum;
      for (const auto input : step.inputs) {
        const auto& row = products[*factor++];
        for (int i = 0; i < naive::kBlockBytes; ++i) {
          sum.bytes[i] ^= row[sources[input]->bytes[i]];
        }
      }
      if (!outcome.outputs.emplace(output, sum).second) {
        return fail("computes a block twice");
      }
      outcome.from_reads_alone[output] = reads_alone;
    }
  }
  return outcome;
}

std::string PlanChecker::CheckWrites(const Plan& plan, const Missing& missing,
                                     std::vector<BlockId> changed) const {
  std::vector<BlockId> written;
  std::vector<BlockId> unwritten;
  std::sort(changed.begin(), changed.end());
  for (const BlockId id : changed) {
    const bool dead = Contains(missing.dead_nodes, model_.node_of(id));
    (dead ? unwritten : written).push_back(id);
  }
  auto writes = plan.writes;
  std::sort(writes.begin(), writes.end());
  if (writes != written) return "writes the wrong blocks";
  writes = plan.unwritten;
  std::sort(writes.begin(), writes.end());
  if (writes != unwritten) return "leaves the wrong blocks unwritten";

  std::vector<BlockId> made = plan.given;
  for (const Step& step : plan.steps) {
    made.insert(made.end(), step.outputs.begin(), step.outputs.end());
  }
  for (const BlockId id : written) {
    if (!Contains(made, id)) return "writes what it does not make";
  }
  return "";
}

// Parity outputs against the encoding of `new_data`, data against the old.
std::string PlanChecker::Compare(
    const Outcome& outcome, Width width,
    const std::vector<naive::Block>& new_data) const {
  std::map<int, std::vector<naive::Block>> encoded;
  for (const auto& [id, block] : outcome.outputs) {
    if (static_cast<int>(id) < model_.l()) {
      if (block != model_.content(id)) return "gets old data wrong";
      continue;
    }
    if (!model_.stored(id, PlaceOf(width))) return "makes a strange block";
    const int stripe = model_.stripe_of_block(id, PlaceOf(width));
    if (!encoded.contains(stripe)) {
      encoded[stripe] = model_.Encode(PlaceOf(width), stripe, new_data);
    }
    const int p = model_.node_of(id) - model_.parameters().kp;
    if (block != encoded[stripe][p]) return "gets parity wrong";
  }
  return "";
}

std::vector<BlockId> PlanChecker::Parity(Width width, int first,
                                         int end) const {
  std::vector<BlockId> blocks;
  const int kp = model_.parameters().kp;
  for (int id = model_.l(); id < model_.id_count(); ++id) {
    const int p = model_.node_of(id) - kp;
    if (model_.stored(id, PlaceOf(width)) && p >= first && p < end) {
      blocks.push_back(static_cast<BlockId>(id));
    }
  }
  return blocks;
}

bool PlanChecker::EachHasEnough(Width width, const Missing& missing) const {
  const int place = PlaceOf(width);
  std::vector<int> left(model_.stripes(place), 0);
  for (int id = 0; id < model_.id_count(); ++id) {
    if (model_.stored(id, place) &&
        !Contains(missing.blocks, static_cast<BlockId>(id)) &&
        !Contains(missing.dead_nodes, model_.node_of(id))) {
      ++left[model_.stripe_of_block(id, place)];
    }
  }
  return std::all_of(left.begin(), left.end(), [&](int blocks) {
    return blocks >= geometry_.stripe_width(width);
  });
}

std::string PlanChecker::CheckTransition(const FormChange& change,
                                         TransitionVariant variant,
                                         const Missing& missing) const {
  const auto& [from, to] = change;
  const int kept = from.width == to.width ? std::min(from.m, to.m) : 0;
  Missing all = missing;
  for (const BlockId id : Parity(from.width, from.m, model_.parameters().m)) {
    all.blocks.push_back(id);
  }
  const auto plan = PlanTransition(geometry_, change, variant, missing);
  const auto changed = Parity(to.width, kept, to.m);
  if (!plan) {
    const bool writes =
        std::any_of(changed.begin(), changed.end(), [&](BlockId id) {
          return !Contains(missing.dead_nodes, model_.node_of(id));
        });
    return !writes || EachHasEnough(from.width, all) ? "gives up" : "";
  }
  const auto outcome =
      Run(*plan, from.width, all, {}, variant == TransitionVariant::kOptimal);
  if (!outcome.error.empty()) return outcome.error;
  if (!plan->given.empty()) return "takes blocks";
  if (plan->drops != Parity(from.width, kept, from.m)) {
    return "drops the wrong blocks";
  }
  if (auto error = CheckWrites(*plan, missing, changed); !error.empty()) {
    return error;
  }
  if (plan->writes.empty() && !plan->reads.empty()) return "reads for nothing";
  for (const auto& [id, block] : outcome.outputs) {
    if (block != model_.content(id)) return "gets new parity wrong";
  }
  if (outcome.outputs.size() != plan->writes.size()) return "does too much";
  return "";
}

std::string PlanChecker::CheckTransitions(Width from,
                                          const Missing& missing) const {
  constexpr TransitionVariant kVariants[] = {TransitionVariant::kOptimal,
                                             TransitionVariant::kPaper,
                                             TransitionVariant::kNoOrder};
  constexpr int kSmallGroup = 6;
  constexpr unsigned kOneIn = 8;
  const int most = model_.parameters().m;
  for (const FormChange& change : AllChanges(geometry_)) {
    if (change.from.width != from) continue;
    // One variant of the others, drawn.
    const bool all_variants = change.from.m == most && change.to.m == most;
    if (!all_variants && model_.l() > kSmallGroup && random_() % kOneIn != 0) {
      continue;
    }
    const auto drawn = kVariants[random_() % std::size(kVariants)];
    for (const TransitionVariant variant : kVariants) {
      if (!all_variants && variant != drawn) continue;
      const std::string error = CheckTransition(change, variant, missing);
      if (error.empty()) continue;
      return NameOf(geometry_.scheme(), change, variant) + ": " + error;
    }
  }
  return "";
}

std::string PlanChecker::CheckPut(Width width, const Missing& missing) const {
  const Plan plan = PlanPut(geometry_, width, missing);
  std::map<BlockId, naive::Block> given;
  for (int d = 0; d < model_.l(); ++d) given[d] = model_.content(d);
  const auto outcome = Run(plan, width, missing, given, true);
  if (!outcome.error.empty()) return outcome.error;
  if (!plan.reads.empty() || !plan.drops.empty()) return "touches old blocks";
  std::vector<BlockId> changed;
  for (int id = 0; id < model_.id_count(); ++id) {
    if (model_.stored(id, PlaceOf(width))) changed.push_back(id);
  }
  if (auto error = CheckWrites(plan, missing, changed); !error.empty()) {
    return error;
  }
  return Compare(outcome, width, OldData());
}

std::string PlanChecker::CheckGet(Width width,
                                  const std::vector<BlockId>& wanted,
                                  const Missing& missing) const {
  const auto plan = PlanGet(geometry_, width, wanted, missing);
  if (!plan) return "gives up";
  const auto outcome = Run(*plan, width, missing, {}, true);
  if (!outcome.error.empty()) return outcome.error;
  if (!plan->writes.empty() || !plan->unwritten.empty() ||
      !plan->drops.empty()) {
    return "changes something";
  }
  for (const BlockId id : wanted) {
    if (!Contains(plan->reads, id) && !outcome.outputs.contains(id)) {
      return "does not get a wanted block";
    }
  }
  if (plan->steps.empty() &&
      plan->reads.size() > std::set(wanted.begin(), wanted.end()).size()) {
    return "reads what is not wanted";
  }
  return Compare(outcome, width, OldData());
}

std::string PlanChecker::CheckUpdate(Width width,
                                     const std::vector<BlockId>& touched,
                                     const std::vector<BlockId>& keep,
                                     const Missing& missing) {
  const auto plan = PlanUpdate(geometry_, width, touched, keep, missing);
  if (!plan) return "gives up";
  auto data = OldData();
  std::map<BlockId, naive::Block> given;
  std::vector<BlockId> changed;
  std::set<int> stripes;
  for (const BlockId id : touched) {
    for (auto& byte : data[id].bytes) {
      byte = static_cast<std::uint8_t>(random_());
    }
    given[id] = data[id];
    changed.push_back(id);
    stripes.insert(model_.stripe_of(static_cast<int>(id), PlaceOf(width)));
  }
  for (const int s : stripes) {
    for (int p = 0; p < model_.parameters().m; ++p) {
      changed.push_back(model_.parity_id(PlaceOf(width), s, p));
    }
  }
  const auto outcome = Run(*plan, width, missing, given, true);
  if (!outcome.error.empty()) return outcome.error;
  for (const BlockId id : keep) {
    if (Contains(plan->reads, id)) continue;
    const auto made = outcome.from_reads_alone.find(id);
    if (made == outcome.from_reads_alone.end()) return "loses a kept block";
    if (!made->second) return "makes a kept block from given ones";
  }
  if (auto error = CheckWrites(*plan, missing, changed); !error.empty()) {
    return error;
  }
  return Compare(outcome, width, data);
}

std::string PlanChecker::CheckRebuild(Width width,
                                      const std::vector<BlockId>& lost,
                                      const Missing& missing) const {
  const auto plan = PlanRebuild(geometry_, width, lost, missing);
  if (!plan) return "gives up";
  Missing all = missing;
  all.blocks.insert(all.blocks.end(), lost.begin(), lost.end());
  const auto outcome = Run(*plan, width, all, {}, true);
  if (!outcome.error.empty()) return outcome.error;
  if (auto error = CheckWrites(*plan, missing, lost); !error.empty()) {
    return error;
  }
  return Compare(outcome, width, OldData());
}

std::vector<BlockId> PlanChecker::RandomData() {
  std::vector<BlockId> blocks;
  // Runs, as byte ranges give, and scattered blocks.
  const int first = static_cast<int>(random_() % model_.l());
  const int count = 1 + static_cast<int>(random_() % model_.l());
  const bool run = random_() % 2 == 0;
  for (int d = 0; d < model_.l(); ++d) {
    const bool in_run = d >= first && d < first + count;
    if (run ? in_run : random_() % 4 == 0) blocks.push_back(d);
  }
  if (blocks.empty()) blocks.push_back(first);
  return blocks;
}

Missing PlanChecker::RandomMissing(Width width) {
  Missing missing;
  const int m = model_.parameters().m;
  for (int s = 0; s < model_.stripes(PlaceOf(width)); ++s) {
    auto blocks = model_.members(PlaceOf(width), s);
    for (int p = 0; p < m; ++p) {
      blocks.push_back(model_.parity_id(PlaceOf(width), s, p));
    }
    std::shuffle(blocks.begin(), blocks.end(), random_);
    blocks.resize(random_() % (m + 1));
    missing.blocks.insert(missing.blocks.end(), blocks.begin(), blocks.end());
  }
  return missing;
}

std::string PlanChecker::CheckAll(const Missing& missing) {
  const auto label = [this](std::string_view what, Width width,
                            std::string_view error) {
    return fmt::format("{} {}: {}", what, WidthName(geometry_.scheme(), width),
                       error);
  };
  std::vector<BlockId> all(model_.l());
  for (int d = 0; d < model_.l(); ++d) all[d] = d;
  for (const Width width : widths()) {
    std::string error = CheckPut(width, missing);
    if (!error.empty()) return label("put", width, error);
    error = CheckGet(width, all, missing);
    if (!error.empty()) return label("get", width, error);
    error = CheckGet(width, RandomData(), missing);
    if (!error.empty()) return label("partial get", width, error);

    const auto touched = RandomData();
    std::vector<BlockId> keep;
    if (random_() % 2 == 0) keep.push_back(touched.front());
    if (random_() % 2 == 0 && touched.size() > 1) {
      keep.push_back(touched.back());
    }
    error = CheckUpdate(width, touched, keep, missing);
    if (!error.empty()) return label("update", width, error);

    // The first dead node comes back empty.
    Missing rest = missing;
    std::vector<BlockId> lost;
    if (!rest.dead_nodes.empty()) {
      const int node = rest.dead_nodes.front();
      rest.dead_nodes.erase(rest.dead_nodes.begin());
      for (int id = 0; id < model_.id_count(); ++id) {
        if (model_.stored(id, PlaceOf(width)) && model_.node_of(id) == node) {
          lost.push_back(id);
        }
      }
    }
    error = CheckRebuild(width, lost, rest);
    if (!error.empty()) return label("rebuild", width, error);

    error = CheckTransitions(width, missing);
    if (!error.empty()) return label("transition from", width, error);
  }
  return "";
}

}  // namespace ers::plan
