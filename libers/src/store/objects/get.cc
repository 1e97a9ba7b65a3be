#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "store/blocks/object_reader.h"
#include "store/membership/view_loader.h"
#include "store/objects/get_outcome.h"
#include "store/objects/packed_value.h"
#include "store/objects/store.h"
#include "store/repair/lru_bump.h"
#include "store/replicas/replica_set.h"

namespace ers::store {
namespace {

using net::Task;
using ManifestPtr = std::shared_ptr<const Manifest>;

// Bytes [offset, offset + length) of the value, cut at its end.
struct Range {
  std::uint64_t offset = 0;
  std::uint64_t length = kMaxValueBytes;

  Result<Range> Within(std::uint64_t size) const {
    if (offset > size) {
      return Fail(StatusCode::kInvalidArgument,
                  fmt::format("offset {} is beyond the value's end at {}",
                              offset, size));
    }
    return Range{offset, std::min(length, size - offset)};
  }
};

Task<void> ReadBlocks(Session& session, const ObjectMap& map, Range range,
                      std::byte* into, ReadOutcome& outcome, StepTimer* steps,
                      net::Latch& latch) {
  outcome =
      co_await ReadRange(session, map, range.offset, range.length, into, steps);
  latch.CountDown();
}

// One try to read by the manifest that is believed in (null: ask first).
struct Attempt {
  ManifestPtr current;   // what the primary shows; null: absent
  bool trusted = false;  // the blocks read are those that `current` names
  ReadOutcome read;
};

// No limit for values that are read in one piece.
constexpr std::uint64_t kAnyLength = kMaxValueBytes;

Status NoRoom(const Manifest& manifest, const Value& value, Range range) {
  if (!value.has_memory()) {
    return {StatusCode::kNoMemory, "no memory for the value"};
  }
  return {StatusCode::kTooLarge,
          fmt::format("the memory given is too small for {} bytes of key '{}'",
                      range.length, manifest.key)};
}

// Asks the primary and, by the manifest of last time, for the blocks, in one
// round trip. `before`: what the primary knows, whatever it has under the key.
Task<Result<Attempt>> TryRead(Session& session, ReplicaSet& replicas,
                              PrimaryTerms terms, ManifestPtr believed,
                              Range asked, std::uint64_t max_bytes,
                              Value& value, Access& before) {
  Attempt attempt;
  CopyRead copy = replicas.BeginRead(terms);
  Status status = copy.Start();
  if (!status.ok()) co_return Fail(std::move(status));
  net::Latch latch(session.runtime());
  const bool blocks =
      believed && !believed->is_inline && believed->length <= max_bytes;
  std::optional<ObjectMap> map;
  Status no_room;
  if (blocks) {
    Result<Range> range = asked.Within(believed->length);
    if (range && !value.Resize(range->length)) {
      no_room = NoRoom(*believed, value, *range);
    } else if (range) {
      map.emplace(believed);
      latch.Add();
      net::Spawn(ReadBlocks(session, *map, *range, value.data(), attempt.read,
                            replicas.steps(), latch));
    }
  }
  Result<ManifestPtr> current = ManifestPtr();
  {
    const InStep step(replicas.steps(), RequestStep::kManifest);
    co_await copy;
    current = co_await replicas.FinishRead(copy);
  }
  co_await latch;
  before = {copy.request().item_fetched, copy.request().item_idle};
  if (!current) co_return Fail(current.error());
  attempt.current = std::move(*current);
  const bool confirmed =
      believed && attempt.current && attempt.current->id == believed->id;
  if (confirmed && !no_room.ok()) co_return Fail(std::move(no_room));
  attempt.trusted = map && confirmed;
  co_return attempt;
}

// The same, of what was asked already.
Task<Result<Attempt>> TakeBegun(QuickGet& begun, Access& before) {
  Result<ManifestPtr> current = co_await begun.Finish();
  before = {begun.request().item_fetched, begun.request().item_idle};
  if (!current) co_return Fail(current.error());
  Attempt attempt;
  attempt.current = std::move(*current);
  co_return attempt;
}

Result<GetInfo> FromInline(const Manifest& manifest, Range asked,
                           Value& value) {
  Result<Range> range = asked.Within(manifest.length);
  if (!range) return Fail(range.error());
  if (!value.Resize(range->length)) {
    return Fail(NoRoom(manifest, value, *range));
  }
  // An empty value has no memory, which memcpy may not be given.
  if (range->length > 0) {
    std::memcpy(value.data(), manifest.value.data() + range->offset,
                range->length);
  }
  return GetInfoOf(manifest, ReadOutcome());
}

// Reads the value that the current manifest says is in a pack.
Task<void> LoadPacked(Session& session, Range range, Value& value,
                      Attempt& attempt, StepTimer* steps) {
  attempt.trusted = true;
  if (!value.Resize(range.length)) {
    attempt.read.status = NoRoom(*attempt.current, value, range);
    co_return;
  }
  attempt.read = co_await ReadPacked(session, attempt.current, range.offset,
                                     range.length, value.data(), steps);
}

// A call that fails leaves its value empty, however far it came.
class EmptyUnlessKept {
 public:
  explicit EmptyUnlessKept(Value& value) : value_(value) {}
  EmptyUnlessKept(const EmptyUnlessKept&) = delete;
  EmptyUnlessKept& operator=(const EmptyUnlessKept&) = delete;
  ~EmptyUnlessKept() {
    if (!kept_) value_.Resize(0);
  }
  void Keep() { kept_ = true; }

 private:
  Value& value_;
  bool kept_ = false;
};

Task<Result<GetInfo>> GetBytes(Session& session, std::string_view key,
                               Range asked, std::uint64_t max_bytes,
                               Value& value, ReadTerms terms,
                               StepTimer* steps) {
  EmptyUnlessKept read(value);
  std::optional<ReplicaSet> own;
  if (terms.begun == nullptr) {
    Status status = co_await EnsureViewFor(session, key);
    if (!status.ok()) co_return Fail(std::move(status));
    own.emplace(session, key, steps);
  }
  ReplicaSet& replicas = own ? *own : terms.begun->replicas();
  const bool bump_lru =
      own ? !terms.no_bump && MayBumpLru(session) : terms.begun->bumps_lru();
  PrimaryTerms primary{terms.no_bump, bump_lru || terms.before != nullptr};
  ManifestPtr believed = session.manifests().Find(key);
  ChangeId short_before;
  ChangeId seen;  // the change that an earlier attempt found
  Access before;
  for (int i = 0; i < kGetRestarts; ++i) {
    QuickGet* const begun = std::exchange(terms.begun, nullptr);
    Task<Result<Attempt>> trial =
        begun != nullptr ? TakeBegun(*begun, before)
                         : TryRead(session, replicas, primary, believed, asked,
                                   max_bytes, value, before);
    Result<Attempt> attempt = co_await std::move(trial);
    // However often one read asks, it is one access.
    primary.no_bump = true;
    const ManifestPtr current = attempt ? attempt->current : nullptr;
    if (terms.before != nullptr && (!current || current->id != seen)) {
      *terms.before = before;
    }
    if (!attempt) co_return Fail(attempt.error());
    if (!current) {
      session.manifests().Erase(key);
      co_return Fail(GetMiss(key));
    }
    session.manifests().Insert(current);
    if (bump_lru && current->id != seen) {
      BumpLru(session, current, before.fetched);
    }
    seen = current->id;
    if (current->is_inline && !current->is_packed()) {
      Result<GetInfo> info = FromInline(*current, asked, value);
      if (info) read.Keep();
      co_return info;
    }
    if (current->length > max_bytes)
      co_return GetInfoOf(*current, ReadOutcome());
    const Result<Range> range = asked.Within(current->length);
    if (!range) co_return Fail(range.error());
    if (current->is_packed())
      co_await LoadPacked(session, *range, value, *attempt, steps);
    if (attempt->trusted && attempt->read.status.ok()) {
      session.counters().degraded_reads.Add(attempt->read.degraded);
      read.Keep();
      co_return GetInfoOf(*current, attempt->read);
    }
    // A change may have come between the primary's answer and the blocks'.
    // Blocks that were short before the primary showed this very change again
    // are.
    if (attempt->trusted && short_before == current->id) {
      DropUnreadable(session, current, attempt->read.status);
      co_return Fail(attempt->read.status);
    }
    if (attempt->trusted) short_before = current->id;
    believed = current;
  }
  co_return Fail(GetKeptChanging(key));
}

}  // namespace

Task<Result<GetInfo>> Store::Get(std::string_view key, Value& value) {
  return GetBytes(session_, key, Range(), kAnyLength, value, {}, steps_);
}

Task<Result<GetInfo>> Store::GetUpTo(std::string_view key,
                                     std::uint64_t max_bytes, Value& value,
                                     ReadTerms terms) {
  return GetBytes(session_, key, Range(), max_bytes, value, terms, steps_);
}

std::unique_ptr<QuickGet> Store::BeginGet(std::string_view key,
                                          QuickGet::Call call,
                                          void* context) const {
  if (steps_ != nullptr) return nullptr;
  return QuickGet::Begin(session_, key, call, context);
}

Task<Result<GetInfo>> Store::GetRange(std::string_view key,
                                      std::uint64_t offset,
                                      std::uint64_t length, Value& value) {
  const Range range{offset, length};
  return GetBytes(session_, key, range, kAnyLength, value, {}, steps_);
}

std::optional<std::uint64_t> Store::KnownLength(std::string_view key) const {
  const ManifestPtr known = session_.manifests().Find(key);
  if (!known) return std::nullopt;
  return known->length;
}

}  // namespace ers::store
