// ersctl: stores, reads, changes and inspects objects of a libers cluster.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/describe.h"
#include "cli/usage.h"
#include "ctl/commands/commands.h"
#include "ctl/global_options.h"
#include "ctl/support/report.h"
#include "ers/client.h"

namespace ers::ctl {
namespace {

constexpr const char* kFooter = R"(
Examples:
  export ERS_SERVERS=10.0.0.1:11211,10.0.0.2:11211,...
  ersctl put photo photo.jpg --scheme ers2:4,1,5
  ersctl get photo -o copy.jpg
  ersctl transition photo --to wide
  ersctl stat photo --json
  tar c src | ersctl put backup -
  ersctl advise --object-size 1MiB --mbit 1000
By an ersproxy, in place of the servers:
  unset ERS_SERVERS; export ERS_PROXY=localhost:11280
  ersctl transition --to wide --prefix 2025/
  ersctl job start --to wide --idle 7d --rate 50MB/s --watch

Exit codes: 0 done, 1 not found, 2 bad usage, 3 cluster error, 4 done but the
report could not be written, 7 it is so already; 5 and 6: see verify and
rebuild --help.
The options above are accepted after the command, too.)";

// Parses the arguments. Returns true if there is a command to run; else
// `exit_code` says how to end.
bool Parse(CLI::App& app, int argc, char** argv, Command& command,
           int& exit_code) {
  try {
    cli::Take(app, argc, argv);
    const Status taken = TakeDefaults(app, command.global);
    if (!taken.ok()) exit_code = ReportError(taken, command.global.json);
    return taken.ok();
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream out;
    std::ostringstream err;
    app.exit(success, out, err);
    exit_code = ReportError(PrintRead(out.str()), false);
  } catch (const CLI::Error& error) {
    // Nothing was parsed to the end, so the flag itself is searched for.
    const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
    const bool json = std::any_of(
        arguments.begin(), arguments.end(),
        [](const char* a) { return std::string_view(a) == "--json"; });
    exit_code = ReportError(Status(StatusCode::kInvalidArgument,
                                   cli::UsageError(app, error, argc, argv)),
                            json);
  }
  return false;
}

// Runs the command; an exception (no memory, above all) becomes a Status.
Ending Run(const Command& command) {
  try {
    return command.run();
  } catch (const std::exception& error) {
    return Status(StatusCode::kNoMemory,
                  std::string("this process failed: ") + error.what());
  }
}

// Else a socket or file would get the number of a standard stream that the
// caller closed, and the report be written into it. Opened the wrong way
// round: to use it stays an error.
void FillStandardStreams() {
  if (fcntl(STDIN_FILENO, F_GETFD) < 0) (void)open("/dev/null", O_WRONLY);
  if (fcntl(STDOUT_FILENO, F_GETFD) < 0) (void)open("/dev/null", O_RDONLY);
  if (fcntl(STDERR_FILENO, F_GETFD) < 0) (void)open("/dev/null", O_RDONLY);
}

int Main(int argc, char** argv) {
  FillStandardStreams();
  // A reader that leaves and a file that grows too large show as EPIPE and
  // EFBIG where they are written to, and are reported there.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);

  CLI::App app(
      "Keeps large values on plain memcached servers, erasure coded so that "
      "any m servers of a value may die.",
      "ersctl");
  Command command;
  app.set_version_flag("--version", "ersctl " + std::string(Version()));
  cli::AddManual(app);
  cli::AddCompletion(app);
  app.footer(kFooter);
  app.require_subcommand(1, 1);
  app.fallthrough();
  AddGlobalOptions(app, command.global);
  AddPut(app, command);
  AddGet(app, command);
  AddChanges(app, command);
  AddStat(app, command);
  AddTransition(app, command);
  AddExport(app, command);
  AddBackup(app, command);
  AddRestore(app, command);
  AddVerify(app, command);
  AddRebuild(app, command);
  AddRecover(app, command);
  AddJobs(app, command);
  AddList(app, command);
  AddServers(app, command);
  AddTop(app, command);
  AddEvents(app, command);
  AddGarbage(app, command);
  AddAdvise(app, command);

  int exit_code = kDone;
  if (!Parse(app, argc, argv, command, exit_code)) return exit_code;
  return ReportError(Run(command), command.global.json);
}

}  // namespace
}  // namespace ers::ctl

int main(int argc, char** argv) { return ers::ctl::Main(argc, argv); }
