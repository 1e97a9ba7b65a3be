#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/units.h"
#include "ctl/commands/advice.h"
#include "ctl/commands/commands.h"
#include "ctl/support/arguments.h"
#include "ctl/support/report.h"
#include "shared/plain_text.h"

namespace ers::ctl {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;
constexpr int kMaxFailures = 100;
constexpr int kMaxWidths = 4;
constexpr double kMsPerSecond = 1e3;

struct AdviseOptions {
  Question question;
  std::string model;
};

double Percent(double part) { return 100 * part; }

// Saved of a system's cost by what is stored less than by copies.
double SavedOfCost(const Candidate& copies, const Candidate& chosen,
                   double storage_share) {
  return storage_share * (1 - chosen.stored / copies.stored);
}

std::string Comparison(const Candidate& copies, const Candidate& other) {
  const double put = other.put_seconds / copies.put_seconds;
  const double get = other.get_seconds / copies.get_seconds;
  return fmt::format(
      "beside {}: a write takes {:.2f} of the time, a read {:.2f}",
      FormatScheme(copies.scheme), put, get);
}

// The fastest of those that `fits`; null where there is none.
template <typename Fits>
const Candidate* Fastest(const Advice& advice, Fits fits) {
  const Candidate* fastest = nullptr;
  for (const Candidate& candidate : advice.candidates) {
    if (!fits(candidate.scheme.kind)) continue;
    if (fastest == nullptr || candidate.mean_seconds < fastest->mean_seconds) {
      fastest = &candidate;
    }
  }
  return fastest;
}

// Why there is none though it was asked for; empty where that is not so.
std::string NoChain(const Question& question, const Advice& advice) {
  if (advice.chains == Chains::kTooFewServers) {
    return fmt::format(
        "no chain of {} widths that survives {} has enough servers here",
        question.widths, proxy::CountText(question.failures, "failure"));
  }
  if (advice.chains != Chains::kSlow) return "";
  const Candidate& chain = *Fastest(
      advice, [](SchemeKind kind) { return kind == SchemeKind::kChain; });
  const Candidate& copies = advice.candidates.front();
  return fmt::format(
      "no chain of {} widths pays: the fastest, {}, takes {:.3f} ms, {} {:.3f}",
      question.widths, FormatScheme(chain.scheme),
      kMsPerSecond * chain.mean_seconds, FormatScheme(copies.scheme),
      kMsPerSecond * copies.mean_seconds);
}

// Copies beside the fastest code; empty where there is none.
std::string BesideCodes(const Advice& advice) {
  const Candidate* coded =
      Fastest(advice, [](SchemeKind kind) { return kind != SchemeKind::kRep; });
  if (coded == nullptr) return "";
  const Candidate& copies = advice.candidates.front();
  return fmt::format(
      "coding would store {:.2f} bytes for one, not {:.2f}; {} takes {:.2f} "
      "of the time",
      coded->stored, copies.stored, FormatScheme(coded->scheme),
      coded->mean_seconds / copies.mean_seconds);
}

std::string Speed(const Question& question, const Advice& advice) {
  const Candidate& chosen = advice.candidates[advice.chosen];
  const Candidate& fastest = advice.candidates[advice.fastest];
  const std::string_view of =
      advice.chains == Chains::kTaken ? " of copies and chains" : "";
  if (advice.chosen == advice.fastest) {
    return fmt::format(
        "it is the fastest{}: {:.3f} ms on the average of {:g} reads a write",
        of, kMsPerSecond * chosen.mean_seconds, question.reads_per_write);
  }
  return fmt::format(
      "it stores least of those within {:.0f} % of the fastest{} ({}, {:.3f} "
      "ms; this one {:.3f} ms, on the average of {:g} reads a write)",
      Percent(kEquallyFast - 1), of, FormatScheme(fastest.scheme),
      kMsPerSecond * fastest.mean_seconds, kMsPerSecond * chosen.mean_seconds,
      question.reads_per_write);
}

// What cannot be known here: how old objects become, and how much of them.
std::string WidthsOfChain(const Candidate& chain) {
  std::vector<std::string> widths;
  std::vector<std::string> stored;
  for (const Width width : WidthsOf(chain.scheme)) {
    const int k = StripeDataBlocks(chain.scheme, width);
    widths.push_back(fmt::format("{}", k));
    stored.push_back(
        fmt::format("{:.2f}", static_cast<double>(k + chain.scheme.m) / k));
  }
  return fmt::format(
      "at {} data blocks a stripe it stores {} bytes for one; which width "
      "suits is a matter of an object's age, which is not asked here",
      fmt::join(widths, ", "), fmt::join(stored, ", "));
}

std::vector<std::string> Reasons(const AdviceModel& model,
                                 const Question& question,
                                 const Advice& advice) {
  const Candidate& copies = advice.candidates.front();
  const Candidate& chosen = advice.candidates[advice.chosen];
  std::vector<std::string> reasons;
  const std::string no_chain = NoChain(question, advice);
  if (!no_chain.empty()) reasons.push_back(no_chain);
  if (advice.whole_below > 0) {
    reasons.push_back(fmt::format(
        "values below about {} bytes are kept whole on {} servers: coding "
        "would save less than an eighth of the memory",
        advice.whole_below, question.failures + 1));
    return reasons;
  }
  reasons.push_back(Speed(question, advice));
  if (advice.chosen == 0) {
    const std::string codes = BesideCodes(advice);
    if (!codes.empty()) reasons.push_back(codes);
    return reasons;
  }
  if (chosen.scheme.kind == SchemeKind::kChain) {
    reasons.push_back(WidthsOfChain(chosen));
  }
  reasons.push_back(Comparison(copies, chosen));
  reasons.push_back(fmt::format(
      "it stores {:.2f} bytes for one, copies {:.2f}: {:.0f} % less, which is "
      "{:.1f} to {:.1f} % of a system's cost where storage is {:.0f} to {:.0f} "
      "% of that",
      chosen.stored, copies.stored, Percent(1 - chosen.stored / copies.stored),
      Percent(SavedOfCost(copies, chosen, model.min_storage_share)),
      Percent(SavedOfCost(copies, chosen, model.max_storage_share)),
      Percent(model.min_storage_share), Percent(model.max_storage_share)));
  reasons.push_back(fmt::format(
      "{:.2f} bytes cross the network for each byte written and what is read "
      "of it, with copies {:.2f}: {:.0f} % less",
      chosen.moved, copies.moved, Percent(1 - chosen.moved / copies.moved)));
  return reasons;
}

std::string Beyond(const AdviceModel& model) {
  return fmt::format(
      "beyond what was measured ({:g} to {:g} Mbit/s, {} to {} bytes): taken "
      "on from there",
      model.min_mbit, model.max_mbit, model.min_bytes, model.max_bytes);
}

// Of each coded candidate, from each width to the next wider one and back.
std::string StepsText(const Advice& advice) {
  std::vector<std::vector<std::string>> rows = {{"scheme", "widths", "stored",
                                                 "wider: read", "written",
                                                 "narrower: read", "written"}};
  for (const Candidate& candidate : advice.candidates) {
    const auto step = [&candidate](int from, int to) {
      return *std::find_if(
          candidate.steps.begin(), candidate.steps.end(),
          [from, to](const Step& s) { return s.from == from && s.to == to; });
    };
    const std::vector<Width> widths = WidthsOf(candidate.scheme);
    for (std::size_t i = 1; i < widths.size(); ++i) {
      const int less = StripeDataBlocks(candidate.scheme, widths[i - 1]);
      const int more = StripeDataBlocks(candidate.scheme, widths[i]);
      const Step wider = step(less, more);
      const Step narrower = step(more, less);
      rows.push_back({FormatScheme(candidate.scheme),
                      fmt::format("{}, {}", less, more),
                      fmt::format("{:.2f}, {:.2f}", wider.stored_before,
                                  wider.stored_after),
                      fmt::format("{:.2f}", wider.read),
                      fmt::format("{:.2f}", wider.written),
                      fmt::format("{:.2f}", narrower.read),
                      fmt::format("{:.2f}", narrower.written)});
    }
  }
  if (rows.size() == 1) return "";
  return "\nChanges of width, in bytes for a byte of the object:\n\n" +
         Columns(rows);
}

std::string Text(const AdviceModel& model, const Question& question,
                 const Advice& advice) {
  std::string text = fmt::format(
      "{}\n", FormatScheme(advice.candidates[advice.chosen].scheme));
  for (const std::string& reason : Reasons(model, question, advice)) {
    text += fmt::format("  {}\n", reason);
  }
  if (advice.beyond) text += fmt::format("  {}\n", Beyond(model));
  std::vector<std::vector<std::string>> rows = {
      {"scheme", "write ms", "read ms", "mean ms", "stored", "network",
       "servers", "may be off"}};
  for (const Candidate& candidate : advice.candidates) {
    rows.push_back(
        {FormatScheme(candidate.scheme),
         fmt::format("{:.3f}", kMsPerSecond * candidate.put_seconds),
         fmt::format("{:.3f}", kMsPerSecond * candidate.get_seconds),
         fmt::format("{:.3f}", kMsPerSecond * candidate.mean_seconds),
         fmt::format("{:.2f}", candidate.stored),
         fmt::format("{:.2f}", candidate.moved),
         fmt::format("{}", candidate.servers),
         fmt::format("{}", question.failures)});
  }
  const auto error = [&model](bool coded) {
    return Percent(std::max(model.times.at({coded, false}).error,
                            model.times.at({coded, true}).error));
  };
  return text + "\n" + Columns(rows) +
         fmt::format(
             "\nTimes are fitted to {}: half of those are within {:.0f} % for "
             "copies, {:.0f} % for codes.\n",
             model.source, error(false), error(true)) +
         StepsText(advice);
}

Json StepsJson(const Candidate& candidate) {
  Json steps = Json::array();
  for (const Step& step : candidate.steps) {
    steps.push_back({{"from", step.from},
                     {"to", step.to},
                     {"stored_before", step.stored_before},
                     {"stored_after", step.stored_after},
                     {"read_per_byte", step.read},
                     {"written_per_byte", step.written}});
  }
  return steps;
}

std::string AdviceJson(const AdviceModel& model, const Question& question,
                       const Advice& advice) {
  Json json;
  json["scheme"] = FormatScheme(advice.candidates[advice.chosen].scheme);
  json["reasons"] = Reasons(model, question, advice);
  json["inline"] = advice.whole_below > 0;
  json["beyond_measurements"] = advice.beyond;
  json["candidates"] = Json::array();
  for (const Candidate& candidate : advice.candidates) {
    json["candidates"].push_back(
        {{"scheme", FormatScheme(candidate.scheme)},
         {"put_seconds", candidate.put_seconds},
         {"get_seconds", candidate.get_seconds},
         {"mean_seconds", candidate.mean_seconds},
         {"stored_per_byte", candidate.stored},
         {"moved_per_byte_written", candidate.moved},
         {"servers", candidate.servers},
         {"servers_that_may_be_off", question.failures},
         {"transitions", StepsJson(candidate)}});
  }
  json["source"] = model.source;
  return Line(json);
}

// They are counted, not asked.
Result<int> ServersIn(const std::string& list) {
  if (list.empty()) return 0;
  ClusterOptions options;
  options.servers = list;
  const auto cluster = Cluster::Open(options);
  if (!cluster) return Fail(cluster.error());
  return static_cast<int>(std::count(list.begin(), list.end(), ',')) + 1;
}

Ending RunAdvise(const GlobalOptions& named, AdviseOptions options) {
  const Result<GlobalOptions> global = WithServers(named);
  if (!global) return global.error();
  std::string path = options.model;
  if (path.empty()) {
    auto found = FindAdviceModel();
    if (!found) return found.error();
    path = std::move(*found);
  }
  const auto model = ReadAdviceModel(path);
  if (!model) return model.error();
  const Result<int> servers = ServersIn(global->servers);
  if (!servers) return servers.error();
  options.question.most_servers = *servers;
  const Result<Advice> advice = Advise(*model, options.question);
  if (!advice) return advice.error();
  return PrintRead(global->json ? AdviceJson(*model, options.question, *advice)
                                : Text(*model, options.question, *advice));
}

}  // namespace

void AddAdvise(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<AdviseOptions>();
  CLI::App* advise =
      app.add_subcommand("advise", "Shows which scheme suits objects, and why");
  Question& question = options->question;
  advise->add_option("--object-size", question.object_bytes, "Of an object")
      ->required()
      ->transform(cli::AsBytes())
      ->check(CLI::Range(std::uint64_t{1}, kMaxBytes))
      ->type_name("BYTES");
  advise->add_option("--mbit", question.mbit, "What the client's link carries")
      ->required()
      ->check(CLI::Range(0.001, 1e6) & IsNumber())
      ->type_name("MBIT/S");
  advise
      ->add_option("--reads-per-write", question.reads_per_write,
                   "Reads for each write (default: 1)")
      ->check(CLI::Range(0.0, 1e9) & IsNumber())
      ->type_name("N");
  advise
      ->add_option("--failures", question.failures,
                   "Servers that may die (default: 1)")
      ->check(CLI::Range(1, kMaxFailures))
      ->type_name("F");
  advise
      ->add_option("--widths", question.widths,
                   "How many widths an object is to go through with its age "
                   "(default: 2); 3, for hot, warm and cold, has chains tried")
      ->check(CLI::Range(2, kMaxWidths))
      ->type_name("N");
  advise
      ->add_option("--model", options->model,
                   "Measured figures in place of the installed ones")
      ->type_name("FILE");
  advise->footer(
      "With --servers, only schemes for which there are enough of them.\n"
      "How many widths serve, and when an object goes to the next, it cannot "
      "say:\nages are not asked. It has what each width stores, and what each "
      "change of\nwidth reads and writes.\n"
      "Example: ersctl advise --object-size 1048576 --mbit 1000 "
      "--reads-per-write 5 --failures 2");
  advise->callback([&chosen, options] {
    chosen.run = [&chosen, options] {
      return RunAdvise(chosen.global, *options);
    };
  });
}

}  // namespace ers::ctl
