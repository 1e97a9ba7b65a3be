#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ctl/commands/commands.h"
#include "ctl/support/arguments.h"
#include "ctl/support/backup_format.h"
#include "ctl/support/files.h"
#include "ctl/support/key_text.h"
#include "ctl/support/progress.h"
#include "ctl/support/report.h"
#include "shared/plain_text.h"

namespace ers::ctl {
namespace {

struct RestoreArguments {
  std::string file;
  std::string scheme;
  bool keep = false;
  bool check = false;
};

struct RestoreCounts {
  std::uint64_t restored = 0;
  std::uint64_t kept = 0;       // was there already
  std::uint64_t expired = 0;    // its time was over
  std::uint64_t abandoned = 0;  // the backup has it in part
};

Result<PutOptions> OptionsOf(const BackupObject& object,
                             const RestoreArguments& arguments) {
  const std::string& text =
      arguments.scheme.empty() ? object.scheme : arguments.scheme;
  const Result<Scheme> scheme = ParseScheme(text);
  if (!scheme) return Fail(scheme.error());
  PutOptions options;
  options.scheme = *scheme;
  options.width = WidthNamed(*scheme, object.width).value_or(Width::kNarrow);
  options.client_flags = object.client_flags;
  options.expiry = object.expiry;
  return options;
}

// Is there an object that is whole, or a plain item? It is read to its end: its
// manifest may be there without its blocks.
Result<bool> IsReadable(Client& client, const std::string& key) {
  const Result<GetInfo> got = client.GetTo(
      key, [](const GetInfo&) {},
      [](std::span<const std::byte>) { return Status(); });
  if (got) return true;
  const StatusCode code = got.error().code();
  if (code == StatusCode::kNotFound || code == StatusCode::kCorruption) {
    return false;
  }
  // A client stores it at this moment.
  if (code == StatusCode::kConflict) return true;
  if (code == StatusCode::kNotManaged) return true;
  return Fail(got.error());
}

// Whether there is something to be kept. Else the options have the put leave
// alone what clients store from now on.
Result<bool> IsKept(Client& client, const std::string& key,
                    PutOptions& options) {
  const Result<bool> whole = IsReadable(client, key);
  if (!whole || *whole) return whole;
  const Result<ObjectDetail> shown = client.Stat(key);
  if (shown) {
    options.expected_cas = shown->cas;
    // It may have been stored in between.
    return IsReadable(client, key);
  }
  const StatusCode code = shown.error().code();
  if (code == StatusCode::kNotManaged) return true;
  options.only_if_absent = code == StatusCode::kNotFound;
  // A manifest that is damaged can be replaced without a condition only.
  if (options.only_if_absent || code == StatusCode::kCorruption) return false;
  return Fail(shown.error());
}

// Which of the counts it is.
using Outcome = std::uint64_t RestoreCounts::*;

// One that is to be stored.
Result<Outcome> Store(Client& client, BackupReader& reader,
                      const BackupObject& object, const PutOptions& options) {
  bool abandoned = false;
  const Result<ObjectInfo> stored = client.PutFrom(
      object.key,
      [&](std::span<std::byte> into) {
        Result<std::size_t> got = reader.Read(into);
        abandoned = !got && got.error().code() == StatusCode::kConflict;
        return got;
      },
      options);
  if (stored) return &RestoreCounts::restored;
  if (abandoned) return &RestoreCounts::abandoned;
  const StatusCode code = stored.error().code();
  const bool kept = options.only_if_absent || options.expected_cas != 0;
  // A client was faster; it may also have deleted what was lost.
  if (kept &&
      (code == StatusCode::kConflict || code == StatusCode::kNotManaged ||
       code == StatusCode::kNotFound)) {
    return &RestoreCounts::kept;
  }
  return Fail(code, fmt::format("key {}: {}", KeyText(object.key),
                                stored.error().message()));
}

Status Take(Client& client, BackupReader& reader, const BackupObject& object,
            const RestoreArguments& arguments, std::int64_t now,
            RestoreCounts& counts) {
  const bool expired = object.expiry != 0 && object.expiry <= now;
  Result<PutOptions> options = OptionsOf(object, arguments);
  if (!expired && !options) return options.error();
  Result<bool> kept = false;
  if (arguments.keep && !expired) {
    kept = IsKept(client, object.key, *options);
  }
  if (!kept) return kept.error();
  if (expired || *kept) {
    const Result<bool> whole = reader.Skip();
    if (!whole) return whole.error();
    ++(!*whole ? counts.abandoned : expired ? counts.expired : counts.kept);
    return {};
  }
  const Result<Outcome> outcome = Store(client, reader, object, *options);
  if (!outcome) return outcome.error();
  ++(counts.**outcome);
  return {};
}

// The rest of the file, without a cluster.
Result<RestoreCounts> Check(BackupReader& reader) {
  RestoreCounts counts;
  for (;;) {
    const auto object = reader.Next();
    if (!object) return Fail(object.error());
    if (!*object) return counts;
    const Result<bool> whole = reader.Skip();
    if (!whole) return Fail(whole.error());
    ++(*whole ? counts.restored : counts.abandoned);
  }
}

// What was done, and how to go on.
Status CutOff(const RestoreCounts& counts, const Status& why) {
  return {
      why.code(),
      fmt::format("{} ({} restored, and {}; to go on where this ended: ersctl "
                  "restore --keep)",
                  why.message(), proxy::CountIsText(counts.restored, "object"),
                  counts.restored == 1 ? "stays" : "stay")};
}

Result<RestoreCounts> RestoreAll(Client& client, BackupReader& reader,
                                 const RestoreArguments& arguments,
                                 Progress& progress) {
  const Result<ClusterInfo> cluster = client.Servers();
  if (!cluster) return Fail(cluster.error());
  using std::chrono::steady_clock;
  const steady_clock::time_point begun = steady_clock::now();
  RestoreCounts counts;
  for (;;) {
    const auto object = reader.Next();
    if (!object) return Fail(CutOff(counts, object.error()));
    if (!*object) return counts;
    // An object that expires by the time it is stored would replace what is
    // there by nothing. Both times are rounded up for that.
    const std::int64_t now =
        cluster->time + 1 +
        std::chrono::ceil<std::chrono::seconds>(steady_clock::now() - begun)
            .count();
    const Status taken = Take(client, reader, **object, arguments, now, counts);
    if (!taken.ok()) return Fail(CutOff(counts, taken));
    progress.Advance(1);
  }
}

Ending Report(const GlobalOptions& global, const RestoreArguments& arguments,
              const BackupReader& reader, const RestoreCounts& counts) {
  if (global.json) {
    return PrintDone(Line({{"check", arguments.check},
                           {"objects", reader.counts().objects},
                           {"bytes", reader.counts().bytes},
                           {"restored", arguments.check ? 0 : counts.restored},
                           {"kept", counts.kept},
                           {"expired", counts.expired},
                           {"abandoned", counts.abandoned}}));
  }
  // What could not be read to its end when it was backed up.
  const std::string in_part =
      counts.abandoned == 0
          ? std::string()
          : fmt::format("; {} in the backup in part only",
                        proxy::CountIsText(counts.abandoned, "more object"));
  const std::string whole = proxy::CountText(reader.counts().objects, "object");
  if (arguments.check) {
    return PrintDone(fmt::format("{} ({} bytes), all whole{}\n", whole,
                                 reader.counts().bytes, in_part));
  }
  return PrintDone(fmt::format(
      "restored {} of {}; {} were there already and kept, {} had "
      "expired{}\n",
      counts.restored, whole, counts.kept, counts.expired, in_part));
}

Ending Restore(const GlobalOptions& global, const RestoreArguments& arguments) {
  if (!arguments.scheme.empty()) {
    const Result<Scheme> scheme = ParseScheme(arguments.scheme);
    if (!scheme) return scheme.error();
  }
  Result<Input> input = Input::Open(arguments.file);
  if (!input) return input.error();
  BackupReader reader(
      [&input](std::span<std::byte> into) { return input->Read(into); });
  const Status begun = reader.Begin();
  if (!begun.ok()) {
    return Status(begun.code(),
                  fmt::format("{}: {}", arguments.file, begun.message()));
  }
  Result<RestoreCounts> counts = [&]() -> Result<RestoreCounts> {
    Progress progress(arguments.check ? "check" : "restore",
                      Progress::Unit::kObjects, 0);
    if (arguments.check) return Check(reader);
    auto client = OpenClient(global);
    if (!client) return Fail(client.error());
    return RestoreAll(**client, reader, arguments, progress);
  }();
  if (!counts) return counts.error();
  return Report(global, arguments, reader, *counts);
}

}  // namespace

void AddRestore(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<RestoreArguments>();
  CLI::App* command =
      app.add_subcommand("restore", "Stores the objects of a backup");
  command->add_option("FILE", arguments->file, "- for standard input")
      ->required();
  command
      ->add_option("--scheme", arguments->scheme,
                   "In place of the one that each object had")
      ->type_name("SCHEME");
  command->add_flag("--keep", arguments->keep,
                    "Leaves alone what is there already");
  command->add_flag("--check", arguments->check,
                    "Only reads the file to its end, and checks it");
  command->footer("Example: zstd -dc objects.ersback.zst | ersctl restore -");
  command->callback([&chosen, arguments] {
    chosen.run = [&chosen, arguments] {
      return Restore(chosen.global, *arguments);
    };
  });
}

}  // namespace ers::ctl
