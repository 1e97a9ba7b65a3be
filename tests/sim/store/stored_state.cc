#include "sim/store/stored_state.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "store/format/block_header.h"
#include "store/format/object_map.h"
#include "unit/code/reference.h"

namespace ers::sim {
namespace {

using Payload = std::vector<std::uint8_t>;

// The payload, if its server has it whole.
std::optional<Payload> Find(const ServerWatch& watch,
                            const store::ObjectMap& map, int group,
                            layout::BlockId block) {
  const store::ChangeId generation = map.GenerationOf(group, block);
  SimServer& server = watch.ServerOf(map.MemberOf(group, block));
  if (!generation || !server.up()) return std::nullopt;
  const ModelItem* item = server.items().Find(map.KeyOf(group, block));
  const std::size_t size = map.BlockBytes(group, block);
  if (item == nullptr ||
      item->value.size() != store::kBlockHeaderBytes + size) {
    return std::nullopt;
  }
  store::BlockHeaderBytes header;
  std::memcpy(header.data(), item->value.data(), header.size());
  Payload payload(size);
  std::memcpy(payload.data(), item->value.data() + header.size(), size);
  const store::BlockHeader expected{generation, map.Number(group, block)};
  if (!store::VerifyBlock(expected, header,
                          reinterpret_cast<const std::byte*>(payload.data()),
                          size)) {
    return std::nullopt;
  }
  return payload;
}

// A cell's payload, if its block or column is whole.
std::optional<Payload> FindCell(const ServerWatch& watch,
                                const store::ObjectMap& map, int group,
                                layout::BlockId cell) {
  const layout::Geometry::CellPlace place = map.geometry().ColumnOf(cell);
  const std::optional<Payload> block = Find(watch, map, group, place.column);
  if (!block) return std::nullopt;
  const auto size = static_cast<std::ptrdiff_t>(map.CellBytes(group));
  const auto begin = block->begin() + place.at * size;
  return Payload(begin, begin + size);
}

// The name of a block or column with parity that its stripe's data do not give.
std::optional<std::string> WrongParity(const ServerWatch& watch,
                                       const store::ObjectMap& map, int group,
                                       int stripe) {
  const layout::Geometry& cells = map.geometry().cells();
  const Width width = map.width();
  std::vector<Payload> parity(static_cast<std::size_t>(cells.scheme().m),
                              Payload(map.CellBytes(group)));
  for (const layout::BlockId cell : cells.StripeData(width, stripe)) {
    const std::optional<Payload> data = FindCell(watch, map, group, cell);
    if (!data) return std::nullopt;
    for (std::size_t p = 0; p < parity.size(); ++p) {
      const std::uint8_t coefficient =
          cells.Coefficient(cell, width, static_cast<int>(p));
      for (std::size_t i = 0; i < data->size(); ++i) {
        parity[p][i] ^= BitwiseProduct(coefficient, (*data)[i]);
      }
    }
  }
  for (std::size_t p = 0; p < parity.size(); ++p) {
    const layout::BlockId cell =
        cells.ParityId(width, stripe, static_cast<int>(p));
    const std::optional<Payload> stored = FindCell(watch, map, group, cell);
    if (stored && *stored != parity[p]) {
      return map.KeyOf(group, map.geometry().ColumnOf(cell).column);
    }
  }
  return std::nullopt;
}

// With the packs that have a value of some client's key.
std::set<std::string> ObjectKeys(const Scenario& scenario,
                                 const ServerWatch& watch) {
  std::set<std::string> keys;
  for (const std::string& key : scenario.keys) {
    keys.insert(key);
    const std::optional<store::Manifest> manifest = watch.AtPrimary(key);
    if (manifest && manifest->is_packed()) {
      keys.insert(store::PackKey(manifest->pack));
    }
  }
  return keys;
}

}  // namespace

std::vector<Violation> CheckParity(const Scenario& scenario,
                                   const ServerWatch& watch) {
  std::vector<Violation> violations;
  for (const std::string& key : ObjectKeys(scenario, watch)) {
    std::optional<store::Manifest> manifest = watch.AtPrimary(key);
    if (!manifest || manifest->tombstone || manifest->is_inline) continue;
    const store::ObjectMap map(
        std::make_shared<const store::Manifest>(std::move(*manifest)));
    for (int group = 0; group < map.groups(); ++group) {
      const int stripes = map.geometry().cells().stripe_count(map.width());
      for (int stripe = 0; stripe < stripes; ++stripe) {
        const std::optional<std::string> wrong =
            WrongParity(watch, map, group, stripe);
        if (!wrong) continue;
        violations.push_back(
            Breach(Invariant::kOneChangesBytes, key,
                   fmt::format("parity block {} is not what its stripe's data "
                               "give",
                               *wrong)));
      }
    }
  }
  return violations;
}

std::vector<Violation> CheckNothingLeftOver(const Scenario& scenario,
                                            const ServerWatch& watch,
                                            std::int64_t collected_us) {
  std::set<std::pair<int, std::string>> named;
  for (const std::string& key : ObjectKeys(scenario, watch)) {
    const std::optional<store::Manifest> manifest = watch.AtPrimary(key);
    if (!manifest) continue;
    for (auto& place : NamedBlocks(*manifest)) named.insert(std::move(place));
  }
  std::vector<Violation> violations;
  for (int i = 0; i < scenario.servers; ++i) {
    if (!watch.IsMember(i)) continue;
    for (const std::string& key : watch.ServerOf(i).items().LiveKeys()) {
      const std::optional<store::BlockName> block = store::ParseBlockKey(key);
      if (!block || named.erase({i, key}) > 0) continue;
      // By the clocks of those that wrote it, where more than half of the
      // servers that had answered them were wrong.
      const bool to_come =
          block->generation.time_us > static_cast<std::uint64_t>(collected_us);
      if (to_come) continue;
      violations.push_back(
          Breach(Invariant::kGarbageOnly, key,
                 fmt::format("left over on server {}, and not collected", i)));
    }
  }
  if (scenario.scope != FaultScope::kNone) return violations;
  for (const auto& [member, key] : named) {
    violations.push_back(Breach(
        Invariant::kGarbageOnly, key,
        fmt::format("gone from server {} though nothing failed", member)));
  }
  return violations;
}

std::vector<Violation> CheckRedundancy(const Scenario& scenario,
                                       const ServerWatch& watch,
                                       bool may_lose) {
  std::vector<Violation> violations;
  for (const std::string& key : ObjectKeys(scenario, watch)) {
    std::optional<store::Manifest> manifest = watch.AtPrimary(key);
    if (!manifest || manifest->tombstone || manifest->is_inline) continue;
    const store::ObjectMap map(
        std::make_shared<const store::Manifest>(std::move(*manifest)));
    for (int group = 0; group < map.groups(); ++group) {
      for (const layout::BlockId block :
           map.geometry().StoredBlocks(map.width())) {
        const int member = map.MemberOf(group, block);
        if (!watch.IsInSync(member)) continue;
        const bool never = !map.GenerationOf(group, block);
        if (!never && (may_lose || Find(watch, map, group, block))) continue;
        violations.push_back(Breach(
            Invariant::kFullRedundancy, key,
            fmt::format("block {} of group {} {} server {}, which is in sync",
                        block, group,
                        never ? "was never stored on" : "is gone from",
                        member)));
      }
    }
  }
  return violations;
}

}  // namespace ers::sim
