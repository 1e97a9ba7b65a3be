#include <fmt/format.h>

#include <memory>
#include <string>

#include "ctl/arguments.h"
#include "ctl/commands.h"
#include "ctl/key_text.h"
#include "ctl/proxy_commands.h"
#include "ctl/report.h"

namespace ers::ctl {
namespace {

struct ListArguments {
  std::string width;  // narrow, wide or a number; empty: all
  bool transitioning = false;
};

Status ListByProxy(const GlobalOptions& global,
                   const ListArguments& arguments) {
  if (arguments.transitioning) return ListAtProxy(global, "transitioning");
  return ListAtProxy(global, arguments.width.empty() ? "all" : arguments.width);
}

// One object a line, printed as it is found; JSON is one array.
Status List(const GlobalOptions& global, const ListArguments& arguments) {
  const std::string& width = arguments.width;
  if (!global.proxy.empty()) return ListByProxy(global, arguments);
  if (arguments.transitioning) {
    return {StatusCode::kInvalidArgument,
            "--transitioning: only an ersproxy knows what it is changing: give "
            "--proxy"};
  }
  auto client = OpenReader(global);
  if (!client) return client.error();
  Status printed;
  bool first = true;
  const auto visit = [&](std::string_view key, const ObjectInfo& info) {
    if (!width.empty() && WidthNamed(info.scheme, width) != info.width) {
      return true;
    }
    if (global.json) {
      std::string line = Line(ObjectJson(key, info));
      line.pop_back();  // the comma comes before the line's end
      printed = Print((first ? "[" : ",\n") + line);
    } else {
      printed = Print(fmt::format(
          "{}\t{}\t{}\t{}\n", KeyText(key), FormatScheme(info.scheme),
          WidthName(info.scheme, info.width), info.length));
    }
    first = false;
    return printed.ok();
  };
  const Status listed = (*client)->List(visit);
  if (!listed.ok()) return listed;
  if (!printed.ok() || !global.json) return printed;
  return Print(first ? "[]\n" : "]\n");
}

}  // namespace

void AddList(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<ListArguments>();
  CLI::App* list = app.add_subcommand("ls", "Lists the objects");
  CLI::Option* width =
      list->add_option("--width", arguments->width,
                       "Those that are narrow, wide, or have so many data "
                       "blocks in a stripe")
          ->check(IsWidth())
          ->type_name("WIDTH");
  list->add_flag("--transitioning", arguments->transitioning,
                 "Those that are being changed now (with --proxy)")
      ->excludes(width);
  list->footer("Example: ersctl ls --width wide");
  list->callback([&chosen, arguments] {
    chosen.run = [&chosen, arguments] {
      return List(chosen.global, *arguments);
    };
  });
}

}  // namespace ers::ctl
