#include <fmt/format.h>

#include <memory>
#include <string>

#include "ctl/commands/commands.h"
#include "ctl/support/admin_client.h"
#include "ctl/support/arguments.h"
#include "ctl/support/key_text.h"
#include "ctl/support/report.h"

namespace ers::ctl {
namespace {

struct ListArguments {
  std::string width;  // narrow, wide or a number; empty: all
  bool transitioning = false;
};

// Prints objects as they come: a line each, JSON as one array.
class Printer {
 public:
  explicit Printer(bool json) : json_(json) {}

  // False once it cannot print.
  bool Add(std::string_view key, const ObjectInfo& info) {
    if (json_) {
      std::string line = Line(ObjectJson(key, info));
      line.pop_back();  // the comma comes before the line's end
      printed_ = Print((first_ ? "[" : ",\n") + line);
    } else {
      printed_ = Print(fmt::format(
          "{}\t{}\t{}\t{}\n", KeyText(key), FormatScheme(info.scheme),
          WidthName(info.scheme, info.width), info.length));
    }
    first_ = false;
    return printed_.ok();
  }
  Ending End() {
    if (!printed_.ok() || !json_) return {printed_, kReportLost};
    return PrintRead(first_ ? "[]\n" : "]\n");
  }

 private:
  const bool json_;
  bool first_ = true;
  Status printed_;
};

// Only the proxy knows what it is changing; the servers know the objects.
Ending ListTransitioning(const GlobalOptions& global) {
  const Result<Json> answer =
      AskAdmin(global, Method::kGet, "/v1/transitioning");
  if (!answer) return answer.error();
  auto client = OpenReader(global);
  if (!client) return client.error();
  Printer printer(global.json);
  for (const Json& named : answer->value("objects", Json::array())) {
    const Result<std::string> key = KeyOf(named);
    if (!key) return key.error();
    const Result<ObjectDetail> detail = (*client)->Stat(*key);
    const bool gone = !detail && detail.error().code() == StatusCode::kNotFound;
    if (gone) continue;
    if (!detail) return detail.error();
    if (!printer.Add(*key, *detail)) break;
  }
  return printer.End();
}

Ending List(const GlobalOptions& global, const ListArguments& arguments) {
  if (arguments.transitioning) return ListTransitioning(global);
  const std::string& width = arguments.width;
  auto client = OpenReader(global);
  if (!client) return client.error();
  Printer printer(global.json);
  Status unreadable;  // the first one's, which names its key
  ListOptions options;
  options.unreadable = [&unreadable](std::string_view, const Status& why) {
    if (unreadable.ok()) unreadable = why;
  };
  const Status listed = (*client)->List(
      [&](std::string_view key, const ObjectInfo& info) {
        const bool wanted =
            width.empty() || WidthNamed(info.scheme, width) == info.width;
        return !wanted || printer.Add(key, info);
      },
      options);
  if (!listed.ok()) return listed;
  const Ending ended = printer.End();
  return unreadable.ok() ? ended : Ending(unreadable);
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
