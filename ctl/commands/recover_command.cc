#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctl/commands/commands.h"
#include "ctl/support/admin_client.h"
#include "ctl/support/report.h"

namespace ers::ctl {
namespace {

constexpr std::string_view kWord = "lose";

struct RecoverArguments {
  std::vector<std::string> places;  // OLD=NEW
  bool accepts_loss = false;
  bool agrees = false;
};

Result<std::vector<Successor>> Parse(const std::vector<std::string>& places) {
  std::vector<Successor> successors;
  for (const std::string& place : places) {
    const std::size_t at = place.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == place.size()) {
      return Fail(StatusCode::kInvalidArgument,
                  fmt::format("{}: give OLD=NEW, the server that does not "
                              "answer and an empty one",
                              place));
    }
    successors.push_back({place.substr(0, at), place.substr(at + 1)});
  }
  return successors;
}

void Describe(const Loss& loss) {
  std::cerr << fmt::format(
      "{} servers are out, more than this cluster survives.\n"
      "do not answer, and are given up: {}\n",
      loss.out, fmt::join(loss.silent, ", "));
  if (!loss.lost.empty()) {
    std::cerr << fmt::format("lost their memory: {}\n",
                             fmt::join(loss.lost, ", "));
  }
  if (loss.all_is_lost) {
    std::cerr << fmt::format(
        "{} kept what they had, too few to know that it is the newest: ALL "
        "VALUES ARE LOST.\n",
        loss.kept);
  } else {
    std::cerr << fmt::format(
        "{} kept what they had. Values of which they have too little are LOST, "
        "the others stay.\n",
        loss.kept);
  }
  std::cerr << "Processes that still reach what is given up must be stopped "
               "before.\n";
}

// A line of standard input.
bool IsTyped() {
  std::cerr << fmt::format("Type \"{}\" to go on: ", kWord) << std::flush;
  std::string line;
  return std::getline(std::cin, line) && line == kWord;
}

// A proxy lets no process reach what is no server of its own, unless it is to
// become one.
Status NameAtProxy(const GlobalOptions& global,
                   const std::vector<Successor>& successors) {
  for (const Successor& successor : successors) {
    const Json named = {{"old", successor.old_server},
                        {"new", successor.new_server}};
    const Result<Json> answer =
        AskAdmin(global, Method::kPost, "/v1/successors", named.dump());
    if (!answer) return answer.error();
  }
  return {};
}

Ending Recover(const GlobalOptions& global, const RecoverArguments& arguments) {
  if (!arguments.accepts_loss) {
    return Status(StatusCode::kInvalidArgument,
                  "values may be lost by this: it needs --accept-loss");
  }
  const Result<std::vector<Successor>> successors = Parse(arguments.places);
  if (!successors) return successors.error();
  if (!global.proxy.empty()) {
    Status named = NameAtProxy(global, *successors);
    if (!named.ok()) return named;
  }
  auto client = OpenClient(global);
  if (!client) return client.error();
  bool refused = false;
  const Status status = (*client)->Recover(*successors, [&](const Loss& loss) {
    if (loss.silent.empty()) return true;  // all go on by themselves
    Describe(loss);
    refused = !arguments.agrees && !IsTyped();
    return !refused;
  });
  if (refused) {
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("nothing is changed: \"{}\" was not typed", kWord));
  }
  return status;
}

}  // namespace

void AddRecover(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<RecoverArguments>();
  CLI::App* command = app.add_subcommand(
      "recover",
      "Goes on without servers that are dead, where that loses values");
  command
      ->add_option("OLD=NEW", arguments->places,
                   "Each server that does not answer, and an empty memcached "
                   "that gets its place")
      ->required();
  command->add_flag("--accept-loss", arguments->accepts_loss,
                    "What only those had is lost");
  command->add_flag("--yes", arguments->agrees,
                    "Do not ask for the word to be typed");
  command->footer(
      "For more dead servers than the cluster survives. Where they only lost "
      "their memory,\n"
      "start them: all goes on by itself. It shows first what is lost, "
      "then waits 2.5 s at most.\n"
      "Example: ersctl recover --accept-loss 10.0.0.1:11211=10.0.0.8:11211 "
      "10.0.0.2:11211=10.0.0.9:11211");
  command->callback([&chosen, arguments] {
    chosen.run = [&chosen, arguments] {
      return Recover(chosen.global, *arguments);
    };
  });
}

}  // namespace ers::ctl
