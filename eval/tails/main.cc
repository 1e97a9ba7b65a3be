// tails-relay: stands before memcached servers of this machine, makes them
// slow, cuts processes off from them and counts what passes. Its standard
// output begins with the ports that it listens on; standard input has one
// command a line, each answered by a line. It ends with its input.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/usage.h"
#include "net/event_loop.h"
#include "tails/relay.h"

namespace ers::eval {
namespace {

constexpr std::string_view kCommands =
    "Commands, SERVER being a number from 0 on:\n"
    "  delay SERVER MS         every reply is so much later\n"
    "  late SERVER SHARE MS    this share (0 to 1) of the replies is\n"
    "  rate SERVER BITS        a second, each way; 0: no limit\n"
    "  cut SERVER PID          nothing passes between the two\n"
    "  heal SERVER             no process is cut off\n"
    "  count                   what has passed, as JSON; depth: the longest\n"
    "                          chain of replies, each asked for after the\n"
    "                          one before had come\n"
    "  reset                   counts from 0 on";

std::string CountsText(Relay& relay) {
  std::vector<std::string> servers;
  for (std::size_t i = 0; i < relay.Count(); ++i) {
    const Counts& counts = relay.CountsOf(i);
    servers.push_back(fmt::format(
        "{{\"connections\":{},\"requests\":{},\"replies\":{},\"late\":{},"
        "\"bytes_in\":{},\"bytes_out\":{}}}",
        counts.connections, counts.requests, counts.replies, counts.late,
        counts.bytes_in, counts.bytes_out));
  }
  return fmt::format("{{\"depth\":{},\"servers\":[{}]}}", relay.Depth(),
                     fmt::join(servers, ","));
}

net::Duration Millis(double ms) {
  constexpr double kNanosPerMs = 1e6;
  return net::Duration(static_cast<std::int64_t>(ms * kNanosPerMs));
}

// The answer to one line.
std::string Obey(Relay& relay, const std::string& line) {
  std::istringstream words(line);
  std::string command;
  words >> command;
  if (command == "count") return CountsText(relay);
  if (command == "reset") {
    relay.Reset();
    return "ok";
  }
  std::size_t server = 0;
  double first = 0;
  if (!(words >> server) || server >= relay.Count()) {
    return fmt::format("error: no such command or server: {}", line);
  }
  if (command == "heal") {
    relay.Heal(server);
    return "ok";
  }
  if (!(words >> first)) return fmt::format("error: a number lacks: {}", line);
  Rules& rules = relay.RulesOf(server);
  if (command == "delay") {
    rules.delay = Millis(first);
  } else if (command == "late") {
    double ms = 0;
    if (!(words >> ms)) return fmt::format("error: a number lacks: {}", line);
    rules.late_share = first;
    rules.late_by = Millis(ms);
  } else if (command == "rate") {
    rules.bits_per_s = static_cast<std::uint64_t>(first);
  } else if (command == "cut") {
    relay.CutOff(server, static_cast<int>(first));
  } else {
    return fmt::format("error: no such command: {}", line);
  }
  return "ok";
}

void Say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void Run(const std::vector<int>& ports) {
  const std::unique_ptr<net::EventLoop> loop = net::NewEventLoop();
  Relay relay(*loop, ports);
  Say(fmt::format("{}", fmt::join(relay.Ports(), ",")));
  std::string input;
  bool ended = false;
  const std::unique_ptr<net::Watch> watch =
      loop->WatchReadable(STDIN_FILENO, [&relay, &input, &ended] {
        std::array<char, 4096> buffer;
        const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
        if (got <= 0) {
          ended = true;
          return;
        }
        input.append(buffer.data(), static_cast<std::size_t>(got));
        for (std::size_t end = input.find('\n'); end != std::string::npos;
             end = input.find('\n')) {
          Say(Obey(relay, input.substr(0, end)));
          input.erase(0, end + 1);
        }
      });
  loop->RunUntil([&ended] { return ended; });
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Relays to memcached servers of this machine, and makes them slow.",
      "tails-relay");
  std::vector<int> ports;
  app.add_option("--to", ports, "Ports of the servers, of 127.0.0.1")
      ->delimiter(',')
      ->required();
  app.footer(std::string(kCommands));
  const std::optional<int> ended = cli::Parse(app, argc, argv);
  if (ended) return *ended;
  try {
    Run(ports);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tails-relay: {}\n", error.what());
    return cli::kNotWritten;
  }
  return 0;
}

}  // namespace
}  // namespace ers::eval

int main(int argc, char** argv) { return ers::eval::Main(argc, argv); }
