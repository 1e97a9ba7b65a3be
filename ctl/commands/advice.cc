#include "ctl/commands/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>

#include "ers/inline_limit.h"
#include "ers/transition_counts.h"
#include "shared/read_file.h"

namespace ers::ctl {
namespace {

constexpr int kVersion = 1;  // of the file
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;
constexpr double kBitsOfMegabit = 1e6;
constexpr std::size_t kKeyBytes = 10;  // of a usual key
// Of a chain that is tried; more data blocks save little.
constexpr int kWidest = 32;

Times TimesFrom(const nlohmann::json& json) {
  return {.fixed = json.at("fixed").get<double>(),
          .link = json.at("link").get<double>(),
          .byte = json.at("byte").get<double>(),
          .server = json.at("server").get<double>(),
          .block = json.at("block").get<double>(),
          .error = json.at("error").get<double>()};
}

AdviceModel ModelFrom(const nlohmann::json& json) {
  AdviceModel model;
  for (const bool coded : {false, true}) {
    for (const bool read : {false, true}) {
      model.times[{coded, read}] = TimesFrom(json.at("seconds")
                                                 .at(coded ? "coded" : "copies")
                                                 .at(read ? "get" : "put"));
    }
  }
  for (const nlohmann::json& width : json.at("widths")) {
    model.widths.emplace_back(width.at(0).get<int>(), width.at(1).get<int>());
  }
  const nlohmann::json& measured = json.at("measured");
  model.min_mbit = measured.at("mbit").at(0).get<double>();
  model.max_mbit = measured.at("mbit").at(1).get<double>();
  model.min_bytes = measured.at("object_bytes").at(0).get<std::uint64_t>();
  model.max_bytes = measured.at("object_bytes").at(1).get<std::uint64_t>();
  model.source = measured.at("source").get<std::string>();
  const nlohmann::json& shares = json.at("storage_share_of_cost");
  model.min_storage_share = shares.at(0).get<double>();
  model.max_storage_share = shares.at(1).get<double>();
  return model;
}

// What an operation moves and touches.
struct Work {
  double bytes = 0;
  int servers = 0;
  int blocks = 0;
};

double Seconds(const Times& times, const Work& work, double mbit) {
  return times.fixed + times.link * work.bytes * 8 / (mbit * kBitsOfMegabit) +
         times.byte * work.bytes + times.server * work.servers +
         times.block * work.blocks;
}

// Fills in the times of a candidate whose layout is known.
void Time(const AdviceModel& model, const Question& question, Work put,
          Work get, Candidate* candidate) {
  const bool coded = candidate->scheme.kind != SchemeKind::kRep;
  candidate->put_seconds =
      Seconds(model.times.at({coded, false}), put, question.mbit);
  candidate->get_seconds =
      Seconds(model.times.at({coded, true}), get, question.mbit);
  candidate->mean_seconds =
      (candidate->put_seconds +
       question.reads_per_write * candidate->get_seconds) /
      (1 + question.reads_per_write);
  candidate->moved = candidate->stored + question.reads_per_write;
}

Candidate Copies(const AdviceModel& model, const Question& question) {
  const int copies = question.failures + 1;
  Candidate candidate;
  candidate.scheme = {SchemeKind::kRep, 1, question.failures, 1};
  candidate.stored = copies;
  candidate.servers = copies;
  const auto bytes = static_cast<double>(question.object_bytes);
  Time(model, question, {bytes * copies, copies, 0}, {bytes, 1, 0}, &candidate);
  return candidate;
}

// As a new object of this length is stored, where nothing else is set.
Unit UnitOf(const Question& question) {
  return question.object_bytes < ClientOptions{}.column_below ? Unit::kColumns
                                                              : Unit::kBlocks;
}

double StoredAt(const Scheme& scheme, Width width) {
  const int k = StripeDataBlocks(scheme, width);
  return static_cast<double>(k + scheme.m) / k;
}

// By the plans that such changes take.
std::vector<Step> StepsOf(const Scheme& scheme, Unit unit) {
  const double data = GroupDataBlocks(scheme);
  std::vector<Step> steps;
  for (const Width from : WidthsOf(scheme)) {
    for (const Width to : WidthsOf(scheme)) {
      const auto counts = CountTransition(scheme, from, to, unit);
      if (!counts) continue;  // of the same width
      steps.push_back({.from = StripeDataBlocks(scheme, from),
                       .to = StripeDataBlocks(scheme, to),
                       .stored_before = StoredAt(scheme, from),
                       .stored_after = StoredAt(scheme, to),
                       .read = counts->reads / data,
                       .written = counts->writes / data});
    }
  }
  return steps;
}

// Narrow, as objects are put; on servers enough to make it wide.
Candidate Coded(const AdviceModel& model, const Question& question,
                const Scheme& scheme) {
  const int data = GroupDataBlocks(scheme);
  Candidate candidate;
  candidate.scheme = scheme;
  candidate.stored = StoredAt(scheme, Width::kNarrow);
  candidate.servers = NodeCount(scheme);
  candidate.steps = StepsOf(scheme, UnitOf(question));
  candidate.worth_coding = WorthCoding(scheme, Width::kNarrow, UnitOf(question),
                                       question.failures, kKeyBytes);
  const auto bytes = static_cast<double>(question.object_bytes);
  Time(model, question,
       {bytes * candidate.stored, candidate.servers,
        data + scheme.m * (data / scheme.k)},
       {bytes, scheme.kp, data}, &candidate);
  return candidate;
}

// Chains of so many widths that read no more blocks than any code has to: each
// width divides the next, or two of them are 4-6-12.
std::vector<Scheme> ChainsOf(const AdviceModel& model,
                             const Question& question) {
  std::set<std::vector<int>> begins = {{4, 6, 12}};
  // Doubled, others of a file's could be more than an int holds.
  for (const auto& width : model.widths) {
    if (width.first > 0 && width.first <= kWidest) begins.insert({width.first});
  }
  std::vector<Scheme> chains;
  for (std::vector<int> widths : begins) {
    const auto wanted = static_cast<std::size_t>(question.widths);
    while (widths.size() < wanted) widths.push_back(2 * widths.back());
    if (widths.size() > wanted || widths.back() > kWidest) continue;
    const auto scheme = ParseScheme(
        fmt::format("ers:{},{}", fmt::join(widths, "-"), question.failures));
    if (scheme && ValidateStoredScheme(*scheme).ok()) chains.push_back(*scheme);
  }
  return chains;
}

// Of those that may be chosen, the fastest, and then, of those about as fast,
// the one that stores least.
void Choose(Advice* advice) {
  const auto& all = advice->candidates;
  const bool chain = advice->chains == Chains::kTaken;
  const auto eligible = [&all, chain](std::size_t i) {
    const SchemeKind kind = all[i].scheme.kind;
    return kind == SchemeKind::kRep || (kind == SchemeKind::kChain) == chain;
  };
  advice->fastest = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (eligible(i) &&
        all[i].mean_seconds < all[advice->fastest].mean_seconds) {
      advice->fastest = i;
    }
  }
  const auto stored = [&all](std::size_t i) {
    return std::tuple(all[i].stored, all[i].scheme.elastic()
                                         ? StoredAt(all[i].scheme, Width::kWide)
                                         : all[i].stored);
  };
  const double limit = all[advice->fastest].mean_seconds * kEquallyFast;
  advice->chosen = advice->fastest;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (eligible(i) && all[i].mean_seconds <= limit &&
        stored(i) < stored(advice->chosen)) {
      advice->chosen = i;
    }
  }
}

void KeepWhole(const Question& question, Advice* advice) {
  const Candidate& coded = advice->candidates[advice->chosen];
  if (coded.worth_coding <= question.object_bytes) return;
  advice->whole_below = coded.worth_coding;
  advice->chosen = 0;
}

// Of a file that is not what --model takes, without the parser's own numbers.
tl::unexpected<Status> NoModel(const std::string& path, std::string_view why) {
  return Fail(StatusCode::kInvalidArgument,
              fmt::format("--model: {} is no model of advice: {}; "
                          "eval/ec-vs-replication/report --advice FILE makes "
                          "one",
                          path, why));
}

}  // namespace

Result<AdviceModel> ReadAdviceModel(const std::string& path) {
  const Result<std::string> text = proxy::ReadRegularFile(path, kMaxFileBytes);
  if (!text) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("--model {}: {}; name a file that can be read",
                            path, text.error().message()));
  }
  const nlohmann::json json =
      nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return NoModel(path, "it is not a JSON object");
  try {
    if (json.at("version").get<int>() != kVersion) {
      return NoModel(path, fmt::format("its version is not {}", kVersion));
    }
    return ModelFrom(json);
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception.out_of_range.403] key 'version' not found"
    const std::string_view what = error.what();
    const std::size_t end = what.find("] ");
    return NoModel(path,
                   end == std::string_view::npos ? what : what.substr(end + 2));
  }
}

Result<std::string> FindAdviceModel() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return Fail(StatusCode::kNotFound,
                fmt::format("/proc/self/exe: {}", error.message()));
  }
  const auto path =
      (program.parent_path() / ERS_DATA_DIR / "advice.json").lexically_normal();
  if (!std::filesystem::exists(path, error)) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("{} is missing: install ersctl again, or name a "
                            "file by --model",
                            path.string()));
  }
  return path.string();
}

Result<Advice> Advise(const AdviceModel& model, const Question& question) {
  const auto too_many = [&question](int servers) {
    return question.most_servers > 0 && servers > question.most_servers;
  };
  if (too_many(question.failures + 1)) {
    return Fail(
        StatusCode::kInvalidArgument,
        fmt::format("no object survives the loss of {} of the {} servers "
                    "of --servers: list more, or give a smaller "
                    "--failures",
                    question.failures, question.most_servers));
  }
  Advice advice;
  advice.candidates.push_back(Copies(model, question));
  for (const auto& [k, kp] : model.widths) {
    const Scheme scheme{SchemeKind::kErs2, k, question.failures, kp};
    // Some survive fewer failures than others.
    if (!ValidateStoredScheme(scheme).ok() || too_many(kp + scheme.m)) continue;
    advice.candidates.push_back(Coded(model, question, scheme));
  }
  if (question.widths > 2) {
    advice.chains = Chains::kTooFewServers;
    for (const Scheme& chain : ChainsOf(model, question)) {
      if (too_many(NodeCount(chain))) continue;
      advice.candidates.push_back(Coded(model, question, chain));
      advice.chains = Chains::kTaken;
    }
  }
  Choose(&advice);
  if (advice.chains == Chains::kTaken && advice.chosen == 0) {
    // A code of two widths may still be better than copies.
    advice.chains = Chains::kSlow;
    Choose(&advice);
  }
  KeepWhole(question, &advice);
  advice.beyond = question.mbit < model.min_mbit ||
                  question.mbit > model.max_mbit ||
                  question.object_bytes < model.min_bytes ||
                  question.object_bytes > model.max_bytes;
  return advice;
}

}  // namespace ers::ctl
