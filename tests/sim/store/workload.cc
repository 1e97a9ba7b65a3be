#include "sim/store/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/micros.h"
#include "sim/objects/quick_calls.h"
#include "store/membership/view_loader.h"
#include "store/replicas/replica_set.h"
#include "store/support/wakeup.h"
#include "store/upkeep/verify.h"

namespace ers::sim {
namespace {

constexpr Duration kShortPause = std::chrono::microseconds(50);

using net::Task;

// For an object, then for a plain item.
constexpr int kReads = 4;
constexpr std::uint64_t kMaxAppended = 4;  // cells
// Of each key, what reads showed: a CAS among them is a stale one, most often.
constexpr std::size_t kSeenKept = 4;

template <typename T>
Status StatusOf(const Result<T>& result) {
  return result ? Status() : result.error();
}

// Where schemes differ in m.
bool HasSeveralM(const Scenario& scenario) {
  return std::any_of(scenario.schemes.begin(), scenario.schemes.end(),
                     [&](const Scheme& scheme) {
                       return scheme.m != scenario.schemes.front().m;
                     });
}

// `kind` is refused what it asks of the object that it finds.
Ending EndingOf(OperationKind kind, const Status& status) {
  const bool may_refuse =
      kind == OperationKind::kCas || kind == OperationKind::kAdd;
  if (may_refuse && status.code() == StatusCode::kConflict) {
    return Ending::kRefused;
  }
  switch (status.code()) {
    case StatusCode::kOk:
      return Ending::kAcked;
    case StatusCode::kNotFound:
      return Ending::kNotFound;
    case StatusCode::kOutcomeUnknown:
      return Ending::kUnknown;
    default:
      return Ending::kFailed;
  }
}

}  // namespace

// Every word of a cell is the number of the operation that wrote it.
std::vector<std::byte> Workload::Bytes(std::uint32_t id,
                                       std::size_t cells) const {
  std::vector<std::byte> bytes(cells * scenario_.cell_bytes);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof id) {
    std::memcpy(bytes.data() + at, &id, sizeof id);
  }
  return bytes;
}

Cells Workload::CellsOf(std::uint32_t id, const std::string& key,
                        std::span<const std::byte> bytes) {
  Cells cells(bytes.size() / scenario_.cell_bytes);
  bool whole = bytes.size() % scenario_.cell_bytes == 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::byte* cell = bytes.data() + i * scenario_.cell_bytes;
    std::memcpy(&cells[i], cell, sizeof cells[i]);
    for (std::size_t at = 0; at < scenario_.cell_bytes; at += sizeof cells[i]) {
      whole = whole && std::memcmp(cell + at, &cells[i], sizeof cells[i]) == 0;
    }
  }
  if (!whole) {
    violations_.push_back(
        Breach(Invariant::kOneChangesBytes, key,
               fmt::format("get {} shows a cell that no client wrote", id)));
  }
  return cells;
}

TimePoint Workload::ExpiryOf(const ObjectInfo& info) const {
  return info.expiry == 0 ? TimePoint::max()
                          : world_.AtWall(info.expiry * kMicrosPerSecond);
}

void Workload::EndChange(std::uint32_t id, const Status& status) {
  if (trace_ && !status.ok()) fmt::print("    {}: {}\n", id, status.message());
  const OperationKind kind = history_.at(id).kind;
  history_.End(id, EndingOf(kind, status), world_.now());
}

std::int64_t Workload::DrawExpiry(std::uint64_t one_in) {
  constexpr std::int64_t kFar = 10000;  // seconds
  SeededRandom& random = world_.random();
  const std::uint64_t choice = random.Below(2 * one_in);
  const std::int64_t now = world_.WallMicros() / kMicrosPerSecond;
  if (choice == 0)
    return now + kFar + static_cast<std::int64_t>(random.Below(kFar));
  const bool soon = scenario_.lifetimes && choice <= one_in;
  return soon ? now + 1 : 0;
}

void Workload::NoteExpiry(std::uint32_t id, std::int64_t expiry) {
  if (expiry != 0) {
    history_.SetExpiry(id, world_.AtWall(expiry * kMicrosPerSecond));
  }
}

PutOptions Workload::DrawPut(std::size_t* cells) {
  SeededRandom& random = world_.random();
  *cells = random.Below(scenario_.max_cells + 1);
  PutOptions options;
  options.client_flags = static_cast<std::uint32_t>(1 + random.Below(1000));
  options.scheme = scenario_.schemes[random.Below(scenario_.schemes.size())];
  const std::vector<Width> widths = WidthsOf(*options.scheme);
  options.width = widths[random.Below(widths.size())];
  if (scenario_.all_kinds && random.Below(4) == 0) {
    options.expiry = DrawExpiry(2);
  }
  return options;
}

Task<void> Workload::Put(store::Store& store, int client,
                         const std::string& key) {
  std::size_t cells = 0;
  const PutOptions options = DrawPut(&cells);
  const std::uint32_t id =
      history_.BeginPut(client, key, cells, world_.now(), options.client_flags);
  NoteExpiry(id, options.expiry);
  const std::vector<std::byte> bytes = Bytes(id, cells);
  const bool quick = id % 2 == 0;
  Task<Result<ObjectInfo>> put = quick ? QuickWrite(store, key, bytes, options)
                                       : store.Put(key, bytes, options);
  const Result<ObjectInfo> info = co_await std::move(put);
  EndChange(id, StatusOf(info));
}

// kAdd or kReplace.
Task<void> Workload::PutIf(store::Store& store, int client,
                           const std::string& key, OperationKind kind) {
  std::size_t cells = 0;
  const PutOptions options = DrawPut(&cells);
  store::PutTerms terms;
  terms.condition = kind == OperationKind::kAdd ? store::PutCondition::kAbsent
                                                : store::PutCondition::kPresent;
  terms.check_first = world_.random().Below(2) == 0;
  const std::uint32_t id = history_.BeginPutIf(
      client, key, kind, cells, Cells(), world_.now(), options.client_flags);
  NoteExpiry(id, options.expiry);
  const std::vector<std::byte> bytes = Bytes(id, cells);
  store::MemoryContent content(bytes);
  const Result<ObjectInfo> info =
      co_await store.PutContent(key, content, options, terms);
  EndChange(id, StatusOf(info));
}

// By the CAS of a read of just now, or of one that is longer ago.
Task<void> Workload::Cas(store::Store& store, int client,
                         const std::string& key) {
  SeededRandom& random = world_.random();
  std::deque<Seen>& seen = seen_[key];
  const bool reads = seen.empty() || random.Below(2) == 0;
  if (reads) {
    ++started_;
    co_await Get(store, client, key);
    if (seen.empty()) co_return;
  }
  const std::size_t at =
      reads ? seen.size() - 1
            : static_cast<std::size_t>(random.Below(seen.size()));
  const Seen what = seen[at];
  std::size_t cells = 0;
  PutOptions options = DrawPut(&cells);
  options.expected_cas = what.cas;
  const std::uint32_t id =
      history_.BeginPutIf(client, key, OperationKind::kCas, cells, what.cells,
                          world_.now(), options.client_flags);
  NoteExpiry(id, options.expiry);
  const std::vector<std::byte> bytes = Bytes(id, cells);
  const Result<ObjectInfo> info = co_await store.Put(key, bytes, options);
  EndChange(id, StatusOf(info));
}

Task<void> Workload::Get(store::Store& store, int client,
                         const std::string& key) {
  const std::uint64_t form = world_.random().Below(3);
  const bool stream = form == 0;
  const std::uint32_t id =
      history_.Begin(client, key, OperationKind::kGet, world_.now());
  Value value;
  std::vector<std::byte> streamed;
  const std::function<void(const GetInfo&)> begin = [](const GetInfo&) {};
  const Sink sink = [&streamed](std::span<const std::byte> bytes) {
    streamed.insert(streamed.end(), bytes.begin(), bytes.end());
    return Status();
  };
  Result<GetInfo> info = Fail(StatusCode::kUnavailable, "not asked yet");
  // What is no object is read as the proxy reads it.
  for (int i = 0; i < kReads; ++i) {
    streamed.clear();
    if (stream) {
      info = co_await store.GetTo(key, begin, sink);
    } else if (form == 1) {
      info = co_await QuickRead(store, key, value);
    } else {
      info = co_await store.Get(key, value);
    }
    if (info || info.error().code() != StatusCode::kNotManaged) break;
    const Result<store::PlainItem> plain = co_await store.GetPlain(key, value);
    if (plain) {
      history_.EndGet(id, CellsOf(id, key, value.bytes()), world_.now(),
                      /*client_cas=*/0, plain->client_flags);
      co_return;
    }
  }
  if (!info) {
    EndChange(id, info.error());
    co_return;
  }
  const std::span<const std::byte> bytes =
      stream ? std::span<const std::byte>(streamed) : value.bytes();
  Cells cells = CellsOf(id, key, bytes);
  std::deque<Seen>& seen = seen_[key];
  seen.push_back({info->cas, cells});
  if (seen.size() > kSeenKept) seen.pop_front();
  history_.EndGet(id, std::move(cells), world_.now(), info->cas,
                  info->client_flags, ExpiryOf(*info));
}

Task<void> Workload::Update(store::Store& store, int client,
                            const std::string& key) {
  SeededRandom& random = world_.random();
  // Beyond the end of the value it fails, as long ones often would.
  const std::size_t most = scenario_.even ? 3 : scenario_.max_cells / 2;
  const std::size_t first =
      random.Below(scenario_.even ? most : scenario_.max_cells);
  const std::size_t count = 1 + random.Below(most);
  const std::uint32_t id =
      history_.BeginUpdate(client, key, first, count, world_.now());
  const std::vector<std::byte> bytes = Bytes(id, count);
  const Result<ObjectInfo> info =
      co_await store.Update(key, first * scenario_.cell_bytes, bytes);
  EndChange(id, StatusOf(info));
}

Task<void> Workload::Append(store::Store& store, int client,
                            const std::string& key) {
  const std::size_t cells = 1 + world_.random().Below(kMaxAppended);
  const std::uint32_t id =
      history_.BeginAppend(client, key, cells, world_.now());
  const std::vector<std::byte> bytes = Bytes(id, cells);
  std::size_t given = 0;
  const Source source =
      [&bytes, &given](std::span<std::byte> into) -> Result<std::size_t> {
    const std::size_t count = std::min(into.size(), bytes.size() - given);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(given), count,
                into.begin());
    given += count;
    return count;
  };
  const Result<ObjectInfo> info = co_await store.Append(key, source);
  EndChange(id, StatusOf(info));
}

Task<void> Workload::Touch(store::Store& store, int client,
                           const std::string& key) {
  const std::int64_t expiry = DrawExpiry(2);
  const std::uint32_t id =
      history_.Begin(client, key, OperationKind::kTouch, world_.now());
  NoteExpiry(id, expiry);
  const Result<ObjectInfo> info = co_await store.Touch(key, expiry);
  EndChange(id, StatusOf(info));
}

Task<void> Workload::Flush(store::Store& store, int client) {
  SeededRandom& random = world_.random();
  const Duration delay = random.Below(4) == 0
                             ? random.Between({}, 100 * scenario_.latency)
                             : Duration{};
  // A time to come is by the clocks.
  const bool at_once = delay == Duration{} || scenario_.clocks;
  const std::int64_t time =
      world_.WallMicros() +
      std::chrono::duration_cast<std::chrono::microseconds>(delay).count();
  const std::uint32_t id = history_.BeginFlush(
      client, at_once ? world_.now() : world_.AtWall(time), world_.now());
  const Status status = co_await store.Flush(
      at_once ? store::kAtOnce : static_cast<std::uint64_t>(time));
  EndChange(id, status);
}

// The one object of it, by the job that checks all and repairs them.
Task<void> Workload::Verify(store::Session& session, int client,
                            const std::string& key) {
  const std::uint32_t id =
      history_.Begin(client, key, OperationKind::kVerify, world_.now());
  VerifyOptions options;
  options.repair = true;
  options.wanted = [&key](std::string_view one) { return one == key; };
  store::Verifier verifier(session, options);
  const Result<VerifyReport> report = co_await verifier.Run();
  Status status = StatusOf(report);
  if (report && report->unchecked + report->unreadable > 0) {
    status = Status(StatusCode::kUnavailable, "it could not be checked");
  } else if (report && report->plain_items > 0) {
    status = Status(StatusCode::kNotManaged, "it is a plain item");
  } else if (report && report->objects == 0) {
    status = Status(StatusCode::kNotFound, "there is no object");
  }
  EndChange(id, status);
}

Task<void> Workload::Export(store::Store& store, int client,
                            const std::string& key) {
  const std::uint32_t id =
      history_.Begin(client, key, OperationKind::kExport, world_.now());
  const Result<ObjectInfo> info =
      co_await store.Export(key, ExportMode::kExport);
  EndChange(id, StatusOf(info));
}

Task<void> Workload::Delete(store::Store& store, int client,
                            const std::string& key) {
  const std::uint32_t id =
      history_.Begin(client, key, OperationKind::kDelete, world_.now());
  const Status status = co_await store.Delete(key);
  EndChange(id, status);
}

Task<void> Workload::Transition(store::Store& store, int client,
                                const std::string& key) {
  constexpr int kVariants = 3;
  SeededRandom& random = world_.random();
  TransitionTarget target;
  const std::uint64_t choice = random.Below(3);
  const bool elastic =
      std::any_of(scenario_.schemes.begin(), scenario_.schemes.end(),
                  [](const Scheme& scheme) { return scheme.elastic(); });
  if (choice < 2 && (elastic || !scenario_.even)) {
    target.width = choice == 0 ? Width::kNarrow : Width::kWide;
    const bool chain = std::any_of(
        scenario_.schemes.begin(), scenario_.schemes.end(),
        [](const Scheme& s) { return s.kind == SchemeKind::kChain; });
    if (chain && random.Below(3) == 0) target.width = Width::kSecond;
    if (HasSeveralM(scenario_) && random.Below(2) == 0) {
      target.parity_blocks =
          scenario_.schemes[random.Below(scenario_.schemes.size())].m;
    }
  } else {
    target.scheme = scenario_.schemes[random.Below(scenario_.schemes.size())];
  }
  const auto variant = static_cast<TransitionVariant>(random.Below(kVariants));
  const std::uint32_t id =
      history_.Begin(client, key, OperationKind::kTransition, world_.now());
  const Result<TransitionInfo> info =
      co_await store.Transition(key, target, variant);
  EndChange(id, StatusOf(info));
}

Task<void> Workload::One(ClientProcess& process, int client,
                         const std::string& key) {
  store::Store& store = process.store(client);
  constexpr std::uint64_t kFlushOneIn = 60;
  if (scenario_.flushes && world_.random().Below(kFlushOneIn) == 0) {
    co_await Flush(store, client);
    co_return;
  }
  // Rivals on one key write more: they meet half way.
  struct Share {
    // Of 100; the rest transitions, and exports among them.
    std::uint64_t get, put, update, remove, append, cas, add, replace, touch,
        verify;
  };
  Share share{35, 20, 15, 5, 5, 0, 0, 0, 0, 0};
  if (scenario_.stress) share = {30, 45, 10, 5, 5, 0, 0, 0, 0, 0};
  if (scenario_.all_kinds) {
    share = {31, 10, 13, 5, 5, 6, 5, 4, 5, 1};
    if (scenario_.stress) share = {26, 21, 10, 5, 5, 8, 8, 6, 5, 1};
    if (scenario_.even) share = {11, 10, 13, 8, 12, 10, 9, 7, 6, 1};
  }
  std::uint64_t choice = world_.random().Below(100);
  const auto falls_in = [&choice](std::uint64_t part) {
    if (choice < part) return true;
    choice -= part;
    return false;
  };
  if (falls_in(share.get)) {
    co_await Get(store, client, key);
  } else if (falls_in(share.put)) {
    co_await Put(store, client, key);
  } else if (falls_in(share.update)) {
    co_await Update(store, client, key);
  } else if (falls_in(share.remove)) {
    co_await Delete(store, client, key);
  } else if (falls_in(share.append)) {
    co_await Append(store, client, key);
  } else if (falls_in(share.cas)) {
    co_await Cas(store, client, key);
  } else if (falls_in(share.add)) {
    co_await PutIf(store, client, key, OperationKind::kAdd);
  } else if (falls_in(share.replace)) {
    co_await PutIf(store, client, key, OperationKind::kReplace);
  } else if (falls_in(share.touch)) {
    co_await Touch(store, client, key);
  } else if (falls_in(share.verify)) {
    co_await Verify(process.session(client), client, key);
  } else if (scenario_.exports && world_.random().Below(3) == 0) {
    co_await Export(store, client, key);
  } else {
    co_await Transition(store, client, key);
  }
}

Task<void> Workload::Pack(ClientProcess& process) {
  constexpr int kNoClient = -1;
  const Status known = co_await store::EnsureView(process.session(), 0);
  if (!known.ok()) co_return;
  std::vector<std::shared_ptr<const store::Manifest>> values;
  std::vector<std::uint32_t>& under_way = packing_[&process];
  for (const std::string& key : scenario_.keys) {
    store::ReplicaSet replicas(process.session(), key);
    const auto shown = co_await replicas.ReadPrimary(store::kNoBump);
    if (!shown || !*shown) continue;
    values.push_back(*shown);
    under_way.push_back(
        history_.Begin(kNoClient, key, OperationKind::kPack, world_.now()));
  }
  // Where they are too few for a pack, those that are packed are whole again.
  const bool any = world_.random().Below(3) > 0;
  const Result<store::PackedValues> packed =
      co_await process.store(0).Pack(std::move(values), {.any = any});
  for (const std::uint32_t id : std::exchange(under_way, {})) {
    history_.End(id, packed ? Ending::kAcked : Ending::kFailed, world_.now());
  }
}

void Workload::Forget(const ClientProcess* process) {
  running_.erase(process);
  for (const std::uint32_t id : packing_[process]) {
    history_.End(id, Ending::kUnknown, world_.now());
  }
  packing_.erase(process);
}

int Workload::running() const {
  int running = 0;
  for (const auto& [process, clients] : running_) running += clients;
  return running;
}

Task<void> Workload::Run(ClientProcess& process, int client) {
  ++running_[&process];
  while (started_ < scenario_.operations) {
    ++started_;
    SeededRandom& random = world_.random();
    const std::string& key =
        scenario_.keys[random.Below(scenario_.keys.size())];
    if (process.rests_until() > world_.now()) {
      const auto rest = store::Wakeup::New(process.runtime());
      co_await rest->Wait(process.rests_until() - world_.now());
    }
    co_await One(process, client, key);
    const Duration pause = random.Between(
        Duration{}, random.Below(4) == 0 ? scenario_.pause : kShortPause);
    std::shared_ptr<store::Wakeup> nap = store::Wakeup::New(process.runtime());
    co_await nap->Wait(pause);
  }
  --running_[&process];
}

Task<void> Workload::ReadAll(ClientProcess& process, int client) {
  ++running_[&process];
  for (const std::string& key : scenario_.keys) {
    co_await Get(process.store(client), client, key);
  }
  --running_[&process];
}

}  // namespace ers::sim
