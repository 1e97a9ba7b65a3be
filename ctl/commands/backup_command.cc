#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ctl/commands/commands.h"
#include "ctl/support/backup_format.h"
#include "ctl/support/files.h"
#include "ctl/support/key_text.h"
#include "ctl/support/outcomes.h"
#include "ctl/support/progress.h"
#include "ctl/support/report.h"
#include "ctl/support/selection.h"
#include "shared/plain_text.h"

namespace ers::ctl {
namespace {

struct BackupArguments {
  std::string file;
  KeySelection selection;
};

// Of one object. A failure is that of the file; one of the object is counted.
Status Save(Client& client, const std::string& key, BackupWriter& writer,
            Outcomes& outcomes) {
  Status written;
  bool begun = false;
  const Result<GetInfo> got = client.GetTo(
      key,
      [&](const GetInfo& info) {
        begun = true;
        written = writer.BeginObject({key, FormatScheme(info.scheme),
                                      WidthName(info.scheme, info.width),
                                      info.client_flags, info.expiry});
      },
      [&](std::span<const std::byte> bytes) {
        if (written.ok()) written = writer.Bytes(bytes);
        return written;
      });
  if (!written.ok()) return written;
  if (got) return writer.EndObject();
  if (begun) written = writer.Abandon();
  Status why = WhyFailed(client, key, got.error());
  // A plain item has taken its place.
  if (why.code() == StatusCode::kNotManaged) {
    why = Status(StatusCode::kNotFound, why.message());
  }
  outcomes.Add(key, why, /*named_by_user=*/false);
  return written;
}

Ending Report(const GlobalOptions& global, const std::string& file,
              const BackupWriter& writer, const Outcomes& outcomes) {
  const auto& [objects, bytes] = writer.counts();
  const std::string text =
      global.json
          ? Line({{"objects", objects},
                  {"bytes", bytes},
                  {"gone", outcomes.gone},
                  {"failed", outcomes.failed},
                  {"errors", outcomes.ErrorsJson()}})
          : outcomes.ErrorsText() +
                fmt::format("backed up {} ({} bytes); {} gone, {} failed\n",
                            proxy::CountText(objects, "object"), bytes,
                            outcomes.gone, outcomes.failed);
  // Standard output may be the backup's.
  const bool to_stdout = file.empty() || file == "-";
  if (to_stdout) (void)std::fputs(text.c_str(), stderr);
  const Status printed = to_stdout ? Status() : Print(text);
  if (outcomes.failed > 0) {
    const auto& [key, why] = outcomes.named.back();
    return {Status(why.code(),
                   fmt::format("{} not in the backup; key {}: {}",
                               proxy::CountIsText(outcomes.failed, "object"),
                               KeyText(key), why.message())),
            kClusterError};
  }
  return {printed, true};
}

Ending Backup(const GlobalOptions& global, const BackupArguments& arguments) {
  const Status selection = CheckKeySelection(arguments.selection);
  if (!selection.ok()) return selection;
  auto client = OpenReader(global);
  if (!client) return client.error();
  Result<Output> output = Output::Open(arguments.file);
  if (!output) return output.error();
  const auto keys = ListKeys(**client, arguments.selection);
  if (!keys) return keys.error();
  BackupWriter writer([&output](std::span<const std::byte> bytes) {
    return output->Write(bytes);
  });
  Outcomes outcomes;
  Status status = writer.Begin();
  {
    Progress progress("backup", Progress::Unit::kObjects, keys->size());
    for (const std::string& key : *keys) {
      if (!status.ok()) break;
      status = Save(**client, key, writer, outcomes);
      progress.Advance(1);
    }
  }
  if (status.ok()) status = writer.End();
  if (status.ok()) status = output->Commit();
  if (!status.ok()) return status;
  return Report(global, arguments.file, writer, outcomes);
}

}  // namespace

void AddBackup(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<BackupArguments>();
  CLI::App* command = app.add_subcommand(
      "backup", "Writes objects, with flags and times to live, to a file");
  command
      ->add_option("FILE", arguments->file,
                   "Replaced when all is there; - for standard output")
      ->required();
  AddKeySelection(*command, arguments->selection);
  command->footer(
      "Example: ersctl backup - | zstd > objects.ersback.zst\n"
      "The report goes to standard error where the backup is written to "
      "standard output.");
  command->callback([&chosen, arguments] {
    chosen.run = [&chosen, arguments] {
      return Backup(chosen.global, *arguments);
    };
  });
}

}  // namespace ers::ctl
