#include <fmt/format.h>

#include <memory>

#include "ctl/arguments.h"
#include "ctl/commands.h"
#include "ctl/key_text.h"
#include "ctl/progress.h"
#include "ctl/proxy_commands.h"
#include "ctl/report.h"

namespace ers::ctl {
namespace {

struct TransitionArguments {
  std::string key;
  std::string to;
  std::string plan = "optimal";
};

TransitionVariant VariantOf(const std::string& plan) {
  if (plan == "paper") return TransitionVariant::kPaper;
  if (plan == "no-order") return TransitionVariant::kNoOrder;
  return TransitionVariant::kOptimal;
}

std::string InfoJson(const std::string& key, const TransitionInfo& info) {
  Json json = {{"path", TransitionPathName(info.path)}};
  for (const auto& [name, count] : kBlockTrafficFields) {
    json[std::string(name)] = info.*count;
  }
  json["microseconds"] = info.microseconds;
  json["object"] = ObjectJson(key, info.object);
  return Line(json);
}

std::string InfoText(const std::string& key, const TransitionInfo& info) {
  return fmt::format(
      "{}: {}, by {}: read {} data and {} parity blocks ({} bytes), wrote {} "
      "blocks ({} bytes) in {} microseconds\n",
      key, ObjectText(info.object), TransitionPathName(info.path),
      info.data_reads, info.parity_reads, info.bytes_read, info.writes,
      info.bytes_written, info.microseconds);
}

Ending Transition(const GlobalOptions& global,
                  const TransitionArguments& arguments) {
  const Result<TransitionTarget> target = ParseTransitionTarget(arguments.to);
  if (!target) return target.error();
  if (!global.proxy.empty() && arguments.plan != "optimal") {
    return Status(StatusCode::kInvalidArgument,
                  "--plan: an ersproxy takes the optimal one only: leave it "
                  "out, or give --servers in place of --proxy");
  }
  if (!global.proxy.empty()) {
    return TransitionAtProxy(global, arguments.key, arguments.to);
  }
  auto client = OpenClient(global);
  if (!client) return client.error();
  const Result<TransitionInfo> info = [&] {
    const Progress progress("transition " + KeyText(arguments.key));
    return (*client)->Transition(arguments.key, *target,
                                 VariantOf(arguments.plan));
  }();
  if (!info) return info.error();
  return PrintDone(global.json ? InfoJson(arguments.key, *info)
                               : InfoText(arguments.key, *info));
}

}  // namespace

void AddTransition(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<TransitionArguments>();
  CLI::App* transition = app.add_subcommand(
      "transition",
      "Changes the width, scheme or parity of an object, in place");
  transition->add_option("KEY", arguments->key)->required()->transform(IsKey());
  transition
      ->add_option("--to", arguments->to,
                   "narrow, wide or data blocks of a stripe, with ,M for as "
                   "many parity blocks (same,M: of the width that it has); or "
                   "any scheme")
      ->required()
      ->type_name("TARGET");
  transition
      ->add_option("--plan", arguments->plan,
                   "optimal (default), paper or no-order")
      ->check(CLI::IsMember({"optimal", "paper", "no-order"}))
      ->type_name("PLAN");
  transition->footer("Example: ersctl transition photo --to wide --json");
  transition->callback([&chosen, arguments] {
    chosen.run = [&chosen, arguments] {
      return Transition(chosen.global, *arguments);
    };
  });
}

}  // namespace ers::ctl
