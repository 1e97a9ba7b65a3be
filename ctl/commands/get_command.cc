#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>

#include "ctl/commands/commands.h"
#include "ctl/support/arguments.h"
#include "ctl/support/files.h"
#include "ctl/support/key_text.h"
#include "ctl/support/progress.h"
#include "ctl/support/report.h"

namespace ers::ctl {
namespace {

// A range is read in pieces of this size, so that memory stays bounded.
constexpr std::uint64_t kPieceBytes = kMaxGroupBytes;

struct GetArguments {
  std::string key;
  std::string file;
  std::string range;
};

// Bytes first to last, both in it.
struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

std::optional<ByteRange> ParseRange(std::string_view text) {
  ByteRange range;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.first);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') {
    return std::nullopt;
  }
  const auto last = std::from_chars(first.ptr + 1, end, range.last);
  if (last.ec != std::errc() || last.ptr != end || range.last < range.first) {
    return std::nullopt;
  }
  return range;
}

Result<GetInfo> GetWhole(Client& client, const std::string& key, Output& output,
                         Progress& progress) {
  return client.GetTo(
      key, [&](const GetInfo& info) { progress.set_total(info.length); },
      [&](std::span<const std::byte> bytes) {
        progress.Advance(bytes.size());
        return output.Write(bytes);
      });
}

// All pieces of one version, or an error.
Result<GetInfo> GetPieces(Client& client, const std::string& key,
                          ByteRange range, Output& output, Progress& progress) {
  std::optional<GetInfo> info;
  Value value;
  std::uint64_t offset = range.first;
  do {
    const std::uint64_t length =
        std::min(kPieceBytes - 1, range.last - offset) + 1;
    Result<GetInfo> piece = client.GetRange(key, offset, length, value);
    if (!piece) return piece;
    if (info && info->cas != piece->cas) {
      return Fail(
          StatusCode::kConflict,
          KeyText(key) + ": changed while its range was read; run it again");
    }
    if (info) {
      piece->degraded = piece->degraded || info->degraded;
      piece->repaired_blocks += info->repaired_blocks;
    }
    info = *piece;
    progress.set_total(std::min(info->length, range.last + 1) - range.first);
    progress.Advance(value.size());
    const Status written = output.Write(value.bytes());
    if (!written.ok()) return Fail(written);
    offset += length;
  } while (offset <= range.last && offset < info->length);
  return *info;
}

Ending Get(const GlobalOptions& global, const GetArguments& arguments) {
  std::optional<ByteRange> range;
  if (!arguments.range.empty()) {
    range = ParseRange(arguments.range);
    if (!range) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("--range: '{}' is not A-B, the numbers of the "
                                "first and the last byte, as in 0-99",
                                arguments.range));
    }
  }
  auto client = OpenReader(global);
  if (!client) return client.error();
  Result<Output> output = Output::Open(arguments.file);
  if (!output) return output.error();

  const Result<GetInfo> got = [&] {
    Progress progress("get " + KeyText(arguments.key));
    return range ? GetPieces(**client, arguments.key, *range, *output, progress)
                 : GetWhole(**client, arguments.key, *output, progress);
  }();
  if (!got) return got.error();
  const Status committed = output->Commit();
  if (!committed.ok()) return committed;

  const bool to_stdout = arguments.file.empty() || arguments.file == "-";
  if (global.json) {
    Json report = ObjectJson(arguments.key, *got);
    report["degraded"] = got->degraded;
    report["repaired_blocks"] = got->repaired_blocks;
    // Standard output may be the value's.
    if (!to_stdout) return PrintDone(Line(report));
    (void)std::fputs(Line(report).c_str(), stderr);
    return Status();
  }
  if (to_stdout) return Status();
  return PrintDone(fmt::format("{}: {}{}\n", KeyText(arguments.key),
                               ObjectText(*got),
                               got->degraded ? ", decoded" : ""));
}

}  // namespace

void AddGet(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<GetArguments>();
  CLI::App* get = app.add_subcommand("get", "Writes a value to a file");
  get->add_option("KEY", arguments->key)->required()->transform(IsKey());
  get->add_option("-o,--output", arguments->file,
                  "Replaced when the value is there, whole (default: standard "
                  "output)")
      ->type_name("FILE");
  get->add_option("--range", arguments->range,
                  "Bytes A to B only, counted from 0, B with them")
      ->type_name("A-B");
  get->footer(
      "Example: ersctl get photo --range 0-99 | xxd\n"
      "With --json and no -o the report goes to standard error.");
  get->callback([&chosen, arguments] {
    chosen.run = [&chosen, arguments] {
      return Get(chosen.global, *arguments);
    };
  });
}

}  // namespace ers::ctl
