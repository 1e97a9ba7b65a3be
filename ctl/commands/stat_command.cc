#include <fmt/format.h>

#include <memory>

#include "cli/units.h"
#include "ctl/commands/commands.h"
#include "ctl/support/arguments.h"
#include "ctl/support/key_text.h"
#include "ctl/support/report.h"

namespace ers::ctl {
namespace {

std::string_view KindName(StoredBlockKind kind) {
  return kind == StoredBlockKind::kData ? "data" : "parity";
}

std::string DetailJson(const std::string& key, const ObjectDetail& detail) {
  Json json = ObjectJson(key, detail);
  json["replicas"] = detail.replicas;
  json["blocks"] = Json::array();
  for (const BlockState& block : detail.blocks) {
    json["blocks"].push_back({{"group", block.group},
                              {"block", block.block},
                              {"kind", KindName(block.kind)},
                              {"stripe", block.stripe},
                              {"node", block.node},
                              {"server", block.server},
                              {"bytes", block.bytes},
                              {"present", block.present}});
  }
  return Line(json);
}

std::string DetailText(const std::string& key, const ObjectDetail& detail) {
  std::string text = Columns({
      {"key", KeyText(key)},
      {"scheme", FormatScheme(detail.scheme)},
      {"width", WidthName(detail.scheme, detail.width)},
      {"length", cli::ExactBytesText(detail.length)},
      {"version", detail.version},
      {"stored",
       detail.is_inline ? "in the manifest"
       : !detail.pack.empty()
           ? fmt::format("in the pack {}", detail.pack)
           : fmt::format("{} groups of up to {} bytes, in {}", detail.groups,
                         detail.group_bytes, UnitName(detail.unit))},
      {"flags", fmt::format("{}", detail.client_flags)},
      {"expiry", detail.expiry == 0
                     ? "never"
                     : fmt::format("{} (Unix time)", detail.expiry)},
      {"manifests", fmt::format("{}", fmt::join(detail.replicas, ", "))},
  });
  if (detail.blocks.empty()) return text;
  std::vector<std::vector<std::string>> rows = {{"group", "block", "kind",
                                                 "stripe", "node", "server",
                                                 "bytes", "present"}};
  for (const BlockState& block : detail.blocks) {
    rows.push_back(
        {fmt::format("{}", block.group), fmt::format("{}", block.block),
         std::string(KindName(block.kind)), fmt::format("{}", block.stripe),
         fmt::format("{}", block.node), block.server,
         fmt::format("{}", block.bytes), block.present ? "yes" : "NO"});
  }
  return text + "\n" + Columns(rows);
}

Ending Stat(const GlobalOptions& global, const std::string& key) {
  auto client = OpenReader(global);
  if (!client) return client.error();
  const Result<ObjectDetail> detail = (*client)->Stat(key);
  if (!detail) return detail.error();
  return PrintRead(global.json ? DetailJson(key, *detail)
                               : DetailText(key, *detail));
}

}  // namespace

void AddStat(CLI::App& app, Command& chosen) {
  auto key = std::make_shared<std::string>();
  CLI::App* stat =
      app.add_subcommand("stat", "Shows an object and where its blocks are");
  stat->add_option("KEY", *key)->required()->transform(IsKey());
  stat->footer("Example: ersctl stat photo");
  stat->callback([&chosen, key] {
    chosen.run = [&chosen, key] { return Stat(chosen.global, *key); };
  });
}

}  // namespace ers::ctl
