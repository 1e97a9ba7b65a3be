// The commands of ersctl, one function per group: it adds the subcommands to
// the parser, and what they do to `chosen` once one is parsed.
#ifndef ERS_CTL_COMMANDS_COMMANDS_H_
#define ERS_CTL_COMMANDS_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "ctl/support/report.h"
#include "ctl/support/session.h"

namespace ers::ctl {

// The command that the arguments chose. Its Ending decides the exit code.
struct Command {
  GlobalOptions global;
  std::function<Ending()> run;
};

void AddPut(CLI::App& app, Command& chosen);
void AddGet(CLI::App& app, Command& chosen);
void AddChanges(CLI::App& app, Command& chosen);  // update, append, rm
void AddStat(CLI::App& app, Command& chosen);
void AddTransition(CLI::App& app, Command& chosen);
void AddJobs(CLI::App& app, Command& chosen);
void AddExport(CLI::App& app, Command& chosen);
void AddBackup(CLI::App& app, Command& chosen);
void AddRestore(CLI::App& app, Command& chosen);
void AddGarbage(CLI::App& app, Command& chosen);  // gc
void AddRebuild(CLI::App& app, Command& chosen);  // and replace
void AddRecover(CLI::App& app, Command& chosen);
void AddVerify(CLI::App& app, Command& chosen);
void AddEvents(CLI::App& app, Command& chosen);
void AddTop(CLI::App& app, Command& chosen);
void AddList(CLI::App& app, Command& chosen);  // ls
void AddServers(CLI::App& app, Command& chosen);
void AddAdvise(CLI::App& app, Command& chosen);

}  // namespace ers::ctl

#endif  // ERS_CTL_COMMANDS_COMMANDS_H_
