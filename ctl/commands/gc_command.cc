#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/units.h"
#include "ctl/commands/commands.h"
#include "ctl/support/admin_client.h"
#include "ctl/support/arguments.h"
#include "ctl/support/progress.h"
#include "ctl/support/report.h"
#include "shared/garbage_json.h"
#include "shared/plain_text.h"

namespace ers::ctl {
namespace {

constexpr double kMaxSeconds = 86400.0 * 365;

struct GarbageArguments {
  std::optional<double> grace_seconds;
  std::optional<std::uint64_t> objects_per_second;
  bool dry_run = false;
};

// The numbers by the same names, whatever gave them.
std::string ReportText(const Json& json) {
  const auto number = [&json](const char* name) {
    return json.value(name, std::uint64_t{0});
  };
  std::string text = fmt::format(
      "{} {} of {} ({}, {}, {}); {} are live, {} too "
      "young, {} expire, {} are skipped, {} did not list "
      "theirs\n",
      json.value("dry_run", false) ? "would drop" : "dropped",
      number("dropped"), proxy::CountText(number("listed"), "block"),
      cli::BytesText(number("dropped_bytes")),
      proxy::CountText(number("flushed"), "flushed object"),
      proxy::CountText(number("packs"), "pack"), number("live"),
      number("young"), number("expiring"), number("skipped"),
      proxy::CountText(number("silent"), "server"));
  if (json.contains("why")) {
    text += fmt::format("left for a later run: {}\n",
                        json.value("why", std::string()));
  }
  return text;
}

Ending PrintReport(const GlobalOptions& global, const Json& json) {
  return PrintDone(global.json ? Line(json) : ReportText(json));
}

Ending CollectAtProxy(const GlobalOptions& global,
                      const GarbageArguments& arguments) {
  Json asked = {{"dry_run", arguments.dry_run}};
  if (arguments.grace_seconds) asked["grace_s"] = *arguments.grace_seconds;
  if (arguments.objects_per_second) {
    asked["objects_per_second"] = *arguments.objects_per_second;
  }
  const Result<Json> answer =
      AskAdmin(global, Method::kPost, "/v1/garbage", asked.dump());
  if (!answer) return answer.error();
  return PrintReport(global, *answer);
}

Ending Collect(const GlobalOptions& global, const GarbageArguments& arguments) {
  const Progress progress("gc");
  if (!global.proxy.empty()) return CollectAtProxy(global, arguments);
  auto client = arguments.dry_run ? OpenReader(global) : OpenClient(global);
  if (!client) return client.error();
  GarbageOptions options;
  options.dry_run = arguments.dry_run;
  if (arguments.grace_seconds) {
    options.grace = std::chrono::milliseconds(
        std::llround(*arguments.grace_seconds * 1000));
  }
  options.objects_per_second = arguments.objects_per_second.value_or(0);
  const Result<GarbageReport> report = (*client)->CollectGarbage(options);
  if (!report) return report.error();
  return PrintReport(global, proxy::GarbageJson(*report, arguments.dry_run));
}

}  // namespace

void AddGarbage(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<GarbageArguments>();
  CLI::App* command = app.add_subcommand(
      "gc", "Drops blocks that killed processes and the like have left");
  command
      ->add_option("--grace", arguments->grace_seconds,
                   "Keep what was stored less than twice this long ago: "
                   "changes under way may need it (default: 3600, or as the "
                   "proxy has it). 0 is right only while no change is made")
      ->transform(cli::AsSeconds())
      ->check(CLI::Range(0.0, kMaxSeconds))
      ->type_name("SECONDS");
  command
      ->add_option("--objects-per-second", arguments->objects_per_second,
                   "Check no more, so that others are served meanwhile "
                   "(default: no limit, or as the proxy has it)")
      ->check(IsWhole())
      ->type_name("N");
  command->add_flag("--dry-run", arguments->dry_run,
                    "Only counts what would be dropped");
  command->footer("Example: ersctl gc --dry-run");
  command->callback([&chosen, arguments] {
    chosen.run = [&chosen, arguments] {
      return Collect(chosen.global, *arguments);
    };
  });
}

}  // namespace ers::ctl
