#include <fmt/format.h>

#include <limits>
#include <memory>

#include "cli/units.h"
#include "ctl/commands/commands.h"
#include "ctl/support/arguments.h"
#include "ctl/support/files.h"
#include "ctl/support/key_text.h"
#include "ctl/support/progress.h"
#include "ctl/support/report.h"

namespace ers::ctl {
namespace {

struct PutArguments {
  std::string key;
  std::string file;
  std::string scheme;
  std::string width;
  std::uint32_t flags = 0;
  std::int64_t expire_seconds = 0;
  std::size_t inline_below = ClientOptions{}.inline_below;
  std::size_t column_below = ClientOptions{}.column_below;
};

Ending Put(const GlobalOptions& global, const PutArguments& arguments) {
  PutOptions options;
  if (!arguments.scheme.empty()) {
    const Result<Scheme> scheme = ParseScheme(arguments.scheme);
    if (!scheme) return scheme.error();
    options.scheme = *scheme;
  }
  if (!arguments.width.empty()) {
    const Scheme scheme = options.scheme.value_or(ClientOptions{}.scheme);
    const auto width = WidthNamed(scheme, arguments.width);
    if (!width) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("--width: scheme {} has no width {}",
                                FormatScheme(scheme), arguments.width));
    }
    options.width = *width;
  }
  options.client_flags = arguments.flags;
  Result<Input> input = Input::Open(arguments.file);
  if (!input) return input.error();
  if (input->size() > kMaxValueBytes) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{}: has {} bytes; the largest value has {}, so "
                              "store it in parts",
                              arguments.file, input->size(), kMaxValueBytes));
  }
  ClientOptions client_options;
  client_options.inline_below = arguments.inline_below;
  client_options.column_below = arguments.column_below;
  auto client = OpenClient(global, client_options);
  if (!client) return client.error();
  if (arguments.expire_seconds > 0) {
    const Result<ClusterInfo> cluster = (*client)->Servers();
    if (!cluster) return cluster.error();
    options.expiry = cluster->time + arguments.expire_seconds;
  }

  Result<ObjectInfo> stored = [&] {
    Progress progress("put " + KeyText(arguments.key), input->size());
    return (*client)->PutFrom(
        arguments.key,
        [&](std::span<std::byte> into) {
          Result<std::size_t> got = input->Read(into);
          if (got) progress.Advance(*got);
          return got;
        },
        options);
  }();
  if (!stored) return stored.error();
  if (global.json) return PrintDone(Line(ObjectJson(arguments.key, *stored)));
  return PrintDone(
      fmt::format("{}: {}\n", KeyText(arguments.key), ObjectText(*stored)));
}

}  // namespace

void AddPut(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<PutArguments>();
  CLI::App* put = app.add_subcommand("put", "Stores a file under a key");
  put->add_option("KEY", arguments->key, "1 to 250 bytes")
      ->required()
      ->transform(IsKey());
  put->add_option("FILE", arguments->file, "- for standard input")->required();
  put->add_option("--scheme", arguments->scheme,
                  "rep:COPIES, rs:K,M, srs:K,M,KP, ers1:K,M,KP, ers2:K,M,KP or "
                  "ers:K1-K2-..,M "
                  "(default: ers2:4,1,5)")
      ->type_name("SCHEME");
  put->add_option("--width", arguments->width,
                  "narrow (default), wide, or data blocks in a stripe")
      ->check(IsWidth())
      ->type_name("WIDTH");
  put->add_option("--flags", arguments->flags, "Kept with the value")
      ->check(CLI::Range(std::numeric_limits<std::uint32_t>::max()))
      ->type_name("N");
  put->add_option("--expire", arguments->expire_seconds,
                  "From now on (default: never)")
      ->transform(cli::AsSeconds())
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->type_name("SECONDS");
  put->add_option("--inline-below", arguments->inline_below,
                  "Keep shorter values whole on f+1 servers "
                  "(default: those that coding would save little memory for)")
      ->transform(cli::AsBytes())
      ->check(CLI::Range(kMaxInlineBelow))
      ->type_name("BYTES");
  put->add_option("--column-below", arguments->column_below,
                  "Store shorter elastic values as columns (default: 98304)")
      ->transform(cli::AsBytes())
      ->check(CLI::Range(kMaxColumnBelow))
      ->type_name("BYTES");
  put->footer(
      "Example: ersctl put photo photo.jpg --scheme ers2:12,3,14 --width wide");
  put->callback([&chosen, arguments] {
    chosen.run = [&chosen, arguments] {
      return Put(chosen.global, *arguments);
    };
  });
}

}  // namespace ers::ctl
