#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ctl/commands.h"
#include "ctl/key_text.h"
#include "ctl/proxy_commands.h"
#include "ctl/report.h"

namespace ers::ctl {
namespace {

struct ListArguments {
  std::optional<Width> width;
  bool transitioning = false;
};

Status ListByProxy(const GlobalOptions& global,
                   const ListArguments& arguments) {
  std::vector<std::string> lists;
  if (arguments.transitioning) {
    lists = {"transitioning"};
  } else if (arguments.width) {
    lists = {std::string(WidthName(*arguments.width))};
  } else {
    lists = {"narrow", "wide"};
  }
  return ListAtProxy(global, lists);
}

// One object a line, printed as it is found; JSON is one array.
Status List(const GlobalOptions& global, const ListArguments& arguments) {
  const std::optional<Width> width = arguments.width;
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
    if (width && info.width != *width) return true;
    if (global.json) {
      std::string line = Line(ObjectJson(key, info));
      line.pop_back();  // the comma comes before the line's end
      printed = Print((first ? "[" : ",\n") + line);
    } else {
      printed = Print(fmt::format("{}\t{}\t{}\t{}\n", KeyText(key),
                                  FormatScheme(info.scheme),
                                  WidthName(info.width), info.length));
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
  CLI::Option* width = list->add_option_function<std::string>(
                               "--width",
                               [arguments](const std::string& name) {
                                 arguments->width = name == "wide"
                                                        ? Width::kWide
                                                        : Width::kNarrow;
                               },
                               "Those of this width only")
                           ->check(CLI::IsMember({"narrow", "wide"}))
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
