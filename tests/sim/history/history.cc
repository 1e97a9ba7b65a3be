#include "sim/history/history.h"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <utility>

namespace ers::sim {
namespace {

double Milliseconds(TimePoint time) {
  return static_cast<double>(time.time_since_epoch().count()) / 1e6;
}

}  // namespace

std::string_view OperationName(OperationKind kind) {
  constexpr std::array<std::string_view, kOperationKinds> kNames = {
      "put",    "update", "get",    "delete", "transition",
      "append", "export", "cas",    "add",    "replace",
      "touch",  "flush",  "verify", "pack",   "keep"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool PutsWhole(OperationKind kind) {
  return kind == OperationKind::kPut || kind == OperationKind::kCas ||
         kind == OperationKind::kAdd || kind == OperationKind::kReplace;
}

std::string Describe(const Operation& operation) {
  constexpr std::array<std::string_view, kEndings> kEnded = {
      "no answer",      "acked",           "not found",
      "did not happen", "outcome unknown", "refused"};
  std::string text = fmt::format(
      "{} {} by client {} [{} ms, {}] {}", OperationName(operation.kind),
      operation.id, operation.client, Milliseconds(operation.invoked),
      operation.ending == Ending::kOpen
          ? "open"
          : fmt::format("{} ms", Milliseconds(operation.returned)),
      kEnded[static_cast<std::size_t>(operation.ending)]);
  if (operation.kind == OperationKind::kCas) {
    text += " over";
    for (const std::uint32_t cell : operation.expected) {
      text += fmt::format(" {}", cell);
    }
  }
  if (operation.kind == OperationKind::kFlush) {
    text += fmt::format(" of {} ms", Milliseconds(operation.flush_at));
  }
  if (operation.expires != TimePoint::max()) {
    text += fmt::format(" expiring at {} ms", Milliseconds(operation.expires));
  }
  if (!operation.cells.empty()) {
    text += " reading";
    for (const std::uint32_t cell : operation.cells) {
      text += fmt::format(" {}", cell);
    }
  }
  return text;
}

std::uint32_t History::Add(Operation operation) {
  operation.id = static_cast<std::uint32_t>(operations_.size() + 1);
  operations_.push_back(std::move(operation));
  return operations_.back().id;
}

std::uint32_t History::Begin(int client, std::string key, OperationKind kind,
                             TimePoint now) {
  Operation operation;
  operation.client = client;
  operation.key = std::move(key);
  operation.kind = kind;
  operation.invoked = now;
  return Add(std::move(operation));
}

std::uint32_t History::BeginPut(int client, std::string key, std::size_t cells,
                                TimePoint now, std::uint64_t attributes) {
  const std::uint32_t id =
      Begin(client, std::move(key), OperationKind::kPut, now);
  operations_.back().cell_count = cells;
  operations_.back().attributes_put = attributes;
  return id;
}

std::uint32_t History::BeginPutIf(int client, std::string key,
                                  OperationKind kind, std::size_t cells,
                                  Cells expected, TimePoint now,
                                  std::uint64_t attributes) {
  const std::uint32_t id =
      BeginPut(client, std::move(key), cells, now, attributes);
  operations_.back().kind = kind;
  operations_.back().expected = std::move(expected);
  return id;
}

std::uint32_t History::BeginUpdate(int client, std::string key,
                                   std::size_t first_cell,
                                   std::size_t cell_count, TimePoint now) {
  const std::uint32_t id =
      Begin(client, std::move(key), OperationKind::kUpdate, now);
  operations_.back().first_cell = first_cell;
  operations_.back().cell_count = cell_count;
  return id;
}

std::uint32_t History::BeginAppend(int client, std::string key,
                                   std::size_t cells, TimePoint now) {
  const std::uint32_t id =
      Begin(client, std::move(key), OperationKind::kAppend, now);
  operations_.back().cell_count = cells;
  return id;
}

std::uint32_t History::BeginFlush(int client, TimePoint flush_at,
                                  TimePoint now) {
  const std::uint32_t id = Begin(client, "", OperationKind::kFlush, now);
  operations_.back().flush_at = flush_at;
  return id;
}

void History::SetExpiry(std::uint32_t id, TimePoint expires) {
  operations_[id - 1].expires = expires;
}

void History::End(std::uint32_t id, Ending ending, TimePoint now) {
  Operation& operation = operations_[id - 1];
  assert(operation.ending == Ending::kOpen);
  operation.ending = ending;
  operation.returned = now;
}

void History::EndGet(std::uint32_t id, Cells cells, TimePoint now,
                     std::uint64_t client_cas, std::uint64_t attributes,
                     std::optional<TimePoint> expiry) {
  End(id, Ending::kAcked, now);
  Operation& operation = operations_[id - 1];
  operation.cells = std::move(cells);
  operation.client_cas = client_cas;
  operation.attributes = attributes;
  operation.expiry_read = expiry;
}

}  // namespace ers::sim
