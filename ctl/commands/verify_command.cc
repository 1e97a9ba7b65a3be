#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/units.h"
#include "ctl/commands/commands.h"
#include "ctl/support/arguments.h"
#include "ctl/support/key_text.h"
#include "ctl/support/progress.h"
#include "ctl/support/report.h"
#include "shared/key_pattern.h"
#include "shared/plain_text.h"

namespace ers::ctl {
namespace {

// Of what is found so much is named, the rest is counted: where a server is
// out it may be millions.
constexpr std::size_t kMaxFindings = 100;

struct VerifyArguments {
  std::string pattern;
  bool repair = false;
  std::uint64_t rate = 0;  // bytes per second, 0: no limit
  int parallel = VerifyOptions().parallel;
};

// A Finding with what it points to.
struct Named {
  std::string key;
  Fault fault = Fault::kMissing;
  int group = -1;
  int block = -1;
  std::string server;
  std::string detail;
};

constexpr Fault kAllFaults[] = {Fault::kMissing,        Fault::kCorrupt,
                                Fault::kParityMismatch, Fault::kNeverStored,
                                Fault::kOutOfReach,     Fault::kReplicasDiffer,
                                Fault::kUnreadable};

Json NamedJson(const Named& named) {
  Json json = KeyJson(named.key);
  json["fault"] = FaultName(named.fault);
  if (named.group >= 0) json["group"] = named.group;
  if (named.block >= 0) json["block"] = named.block;
  if (!named.server.empty()) json["server"] = named.server;
  if (!named.detail.empty()) json["detail"] = named.detail;
  return json;
}

std::string ReportJson(const VerifyArguments& arguments,
                       const VerifyReport& report,
                       const std::vector<Named>& findings) {
  Json json = {{"repair", arguments.repair},
               {"objects", report.objects},
               {"damaged", report.damaged},
               {"repaired", report.repaired},
               {"unreadable", report.unreadable},
               {"unchecked", report.unchecked},
               {"plain_items", report.plain_items},
               {"blocks", report.blocks},
               {"bytes", report.bytes},
               {"repaired_blocks", report.repaired_blocks}};
  for (const Fault fault : kAllFaults) {
    json["faults"][std::string(FaultName(fault))] = report.of(fault);
  }
  json["findings"] = Json::array();
  for (const Named& named : findings) {
    json["findings"].push_back(NamedJson(named));
  }
  return Line(json);
}

std::string NamedText(const Named& named) {
  std::string text = fmt::format("{}: ", KeyText(named.key));
  if (named.block >= 0) {
    text += fmt::format("group {} block {} ", named.group, named.block);
  }
  text += FaultName(named.fault);
  if (!named.server.empty()) text += fmt::format(" ({})", named.server);
  if (!named.detail.empty()) text += ": " + OneLine(named.detail);
  return text + "\n";
}

std::string ReportText(const VerifyArguments& arguments,
                       const VerifyReport& report,
                       const std::vector<Named>& findings) {
  std::string text;
  for (const Named& named : findings) text += NamedText(named);
  text += fmt::format(
      "checked {}, {}, {} bytes: ", proxy::CountText(report.objects, "object"),
      proxy::CountText(report.blocks, "block"), report.bytes);
  if (report.damaged == 0) {
    text += "all whole";
  } else {
    text += fmt::format("{} damaged, {} of them unreadable", report.damaged,
                        report.unreadable);
  }
  if (arguments.repair) {
    text += fmt::format("; {} repaired ({})", report.repaired,
                        proxy::CountText(report.repaired_blocks, "block"));
  }
  if (report.unchecked > 0) {
    text +=
        fmt::format("; {} kept changing and are not checked", report.unchecked);
  }
  text += "\n";
  for (const Fault fault : kAllFaults) {
    if (report.of(fault) == 0) continue;
    text += fmt::format("{} {}\n", report.of(fault), FaultName(fault));
  }
  return text;
}

Ending PrintReport(const GlobalOptions& global,
                   const VerifyArguments& arguments, const VerifyReport& report,
                   const std::vector<Named>& findings) {
  const Status printed =
      Print(global.json ? ReportJson(arguments, report, findings)
                        : ReportText(arguments, report, findings));
  if (!printed.ok()) return {printed, true};
  if (report.Whole()) return Status();
  const bool lost = report.unreadable > 0;
  const std::uint64_t left = report.damaged - report.repaired;
  return {
      Status(StatusCode::kCorruption,
             left == 0
                 ? fmt::format("{} not checked, for changing all the "
                               "time: try again",
                               proxy::CountIsText(report.unchecked, "object"))
                 : fmt::format("{} of {} not whole", left,
                               proxy::CountIsText(report.objects, "object"))),
      lost && left > 0 ? kObjectsLost : kNotWhole};
}

Ending Verify(const GlobalOptions& global, const VerifyArguments& arguments) {
  Result<proxy::KeyPattern> pattern = proxy::KeyPattern();
  if (!arguments.pattern.empty()) {
    pattern = proxy::KeyPattern::Regex(arguments.pattern);
  }
  if (!pattern) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("PATTERN: {}", pattern.error().message()));
  }
  auto client = arguments.repair ? OpenClient(global) : OpenReader(global);
  if (!client) return client.error();
  std::vector<Named> findings;
  VerifyOptions options;
  options.repair = arguments.repair;
  options.bytes_per_second = arguments.rate;
  options.parallel = arguments.parallel;
  if (!arguments.pattern.empty()) {
    options.wanted = [&pattern](std::string_view key) {
      return pattern->Matches(key);
    };
  }
  options.found = [&findings](const Finding& finding) {
    if (findings.size() == kMaxFindings) return;
    findings.push_back({std::string(finding.key), finding.fault, finding.group,
                        finding.block, std::string(finding.server),
                        std::string(finding.detail)});
  };
  Result<VerifyReport> report = VerifyReport();
  {
    Progress progress("verify", Progress::Unit::kObjects, 0);
    options.progress = [&progress](const VerifyProgress& now) {
      progress.set_total(now.total);
      progress.set_done(now.objects);
      return true;
    };
    report = (*client)->Verify(options);
  }
  if (!report) return report.error();
  return PrintReport(global, arguments, *report, findings);
}

}  // namespace

void AddVerify(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* command = app.add_subcommand(
      "verify",
      "Reads all blocks of all objects and shows what is not as it should be");
  command
      ->add_option("PATTERN", arguments->pattern,
                   "Only objects whose whole key this regular expression "
                   "(RE2) matches")
      ->check(NotEmpty());
  command->add_flag("--repair", arguments->repair,
                    "Repairs what is found, as far as it can be");
  command
      ->add_option("--rate", arguments->rate,
                   "Bytes a second that are read and written (default: no "
                   "limit)")
      ->transform(cli::AsBytes())
      ->type_name("BYTES");
  command
      ->add_option("--parallel", arguments->parallel,
                   "Objects at a time, each with a group's blocks in memory")
      ->check(CLI::Range(1, 64))
      ->capture_default_str()
      ->type_name("N");
  command->footer(
      "Exit codes beside those of all commands: 5 some objects are not whole "
      "(all can\nbe read), 6 some cannot be read.\n"
      "Example: ersctl verify 'img/.*' --rate 50MB/s");
  command->callback([&chosen, arguments] {
    chosen.run = [&chosen, arguments] {
      return Verify(chosen.global, *arguments);
    };
  });
}

}  // namespace ers::ctl
