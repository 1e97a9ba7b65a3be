#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "store/batch.h"
#include "store/home_chain.h"
#include "store/object_reader.h"
#include "store/store.h"
#include "store/view_changer.h"

namespace ers::store {
namespace {

using net::Task;
using ManifestPtr = std::shared_ptr<const Manifest>;

// How often a GET starts over because the object changed under it.
constexpr int kRestarts = 16;

GetInfo GetInfoOf(const Manifest& manifest, const ReadOutcome& read) {
  GetInfo info;
  static_cast<ObjectInfo&>(info) = InfoOf(manifest);
  info.degraded = read.degraded;
  info.repaired_blocks = read.repaired;
  return info;
}

Status Miss(std::string_view key) {
  return {StatusCode::kNotFound, fmt::format("key '{}' holds no object", key)};
}

Status ChangedInMidStream(std::string_view key) {
  return {StatusCode::kConflict,
          fmt::format("key '{}' was changed while its value was handed out; "
                      "what came is a part of the old one: read it again",
                      key)};
}

Status KeptChanging(std::string_view key) {
  return {StatusCode::kUnavailable,
          fmt::format("key '{}' changes faster than it can be read: try again",
                      key)};
}

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
                      std::byte* into, ReadOutcome& outcome,
                      net::Latch& latch) {
  outcome = co_await ReadRange(session, map, range.offset, range.length, into);
  latch.CountDown();
}

// One try to read by the manifest that is believed in (null: ask first).
struct Attempt {
  ManifestPtr current;   // what the judge shows; null: absent
  bool trusted = false;  // the blocks read are those that `current` names
  ReadOutcome read;
};

// Asks the judge and, by the manifest of last time, for the blocks, in one
// round trip.
Task<Result<Attempt>> TryRead(Session& session, HomeChain& chain,
                              ManifestPtr believed, Range asked, Value& value) {
  Attempt attempt;
  HomeChain::JudgeRequest judge;
  Status status = chain.BeginReadJudge(judge);
  if (!status.ok()) co_return Fail(std::move(status));
  Batch batch(session.runtime());
  batch.Submit(session.link(judge.member), judge.request);
  net::Latch latch(session.runtime());
  const bool blocks = believed && !believed->is_inline;
  std::optional<ObjectMap> map;
  if (blocks) {
    Result<Range> range = asked.Within(believed->length);
    if (range && value.Resize(range->length)) {
      map.emplace(believed);
      latch.Add();
      net::Spawn(
          ReadBlocks(session, *map, *range, value.data(), attempt.read, latch));
    }
  }
  co_await batch;
  Result<ManifestPtr> current = co_await chain.FinishReadJudge(judge);
  co_await latch;
  if (!current) co_return Fail(current.error());
  attempt.current = std::move(*current);
  attempt.trusted =
      map && attempt.current && attempt.current->id == believed->id;
  co_return attempt;
}

Result<GetInfo> FromInline(const Manifest& manifest, Range asked,
                           Value& value) {
  Result<Range> range = asked.Within(manifest.length);
  if (!range) return Fail(range.error());
  if (!value.Resize(range->length)) {
    return Fail(StatusCode::kNoMemory, "no memory for the value");
  }
  // An empty value has no memory, which memcpy may not be given.
  if (range->length > 0) {
    std::memcpy(value.data(), manifest.value.data() + range->offset,
                range->length);
  }
  return GetInfoOf(manifest, ReadOutcome());
}

Task<Result<GetInfo>> GetBytes(Session& session, std::string_view key,
                               Range asked, Value& value) {
  Status status = co_await EnsureViewFor(session, key);
  if (!status.ok()) co_return Fail(std::move(status));
  HomeChain chain(session, key);
  ManifestPtr believed = session.manifests().Find(key);
  ChangeId short_before;
  for (int i = 0; i < kRestarts; ++i) {
    Result<Attempt> attempt =
        co_await TryRead(session, chain, believed, asked, value);
    if (!attempt) co_return Fail(attempt.error());
    const ManifestPtr current = attempt->current;
    if (!current) {
      session.manifests().Erase(key);
      co_return Fail(Miss(key));
    }
    session.manifests().Insert(current);
    if (current->is_inline) co_return FromInline(*current, asked, value);
    const Result<Range> range = asked.Within(current->length);
    if (!range) co_return Fail(range.error());
    if (attempt->trusted && attempt->read.status.ok()) {
      co_return GetInfoOf(*current, attempt->read);
    }
    // A change may have come between the judge's answer and the blocks'. Blocks
    // that were short before the judge showed this very change again are.
    if (attempt->trusted && short_before == current->id) {
      co_return Fail(attempt->read.status);
    }
    if (attempt->trusted) short_before = current->id;
    believed = current;
  }
  co_return Fail(KeptChanging(key));
}

}  // namespace

Task<Result<GetInfo>> Store::Get(std::string_view key, Value& value) {
  Result<GetInfo> info = co_await GetBytes(session_, key, Range(), value);
  if (!info) value.Resize(0);
  co_return info;
}

Task<Result<GetInfo>> Store::GetRange(std::string_view key,
                                      std::uint64_t offset,
                                      std::uint64_t length, Value& value) {
  const Range range{offset, length};
  Result<GetInfo> info = co_await GetBytes(session_, key, range, value);
  if (!info) value.Resize(0);
  co_return info;
}

namespace {

// One group of a stream: read ahead while the one before is handed out.
struct StreamedGroup {
  Value buffer;
  ReadOutcome outcome;
  std::optional<net::Latch> latch;

  void Start(Session& session, const ObjectMap& map, int group) {
    const Range range{map.GroupOffset(group), map.GroupLength(group)};
    latch.emplace(session.runtime(), 1);
    if (!buffer.Resize(range.length)) {
      outcome.status =
          Status(StatusCode::kNoMemory, "no memory for a group's buffer");
      latch->CountDown();
      return;
    }
    net::Spawn(ReadBlocks(session, map, range, buffer.data(), outcome, *latch));
  }
};

using Begin = std::function<void(const GetInfo&)>;

// Hands the groups out in order. `started` is set once the sink saw a byte.
Task<ReadOutcome> StreamGroups(Session& session, const ObjectMap& map,
                               const Begin& begin, const Sink& sink,
                               bool& started) {
  ReadOutcome all;
  StreamedGroup slots[2];
  slots[0].Start(session, map, 0);
  for (int group = 0; group < map.groups(); ++group) {
    StreamedGroup& slot = slots[group % 2];
    co_await *slot.latch;
    if (group + 1 < map.groups() && slot.outcome.status.ok()) {
      slots[(group + 1) % 2].Start(session, map, group + 1);
    }
    all.degraded |= slot.outcome.degraded;
    all.repaired += slot.outcome.repaired;
    all.status = slot.outcome.status;
    if (all.status.ok()) {
      if (!std::exchange(started, true)) {
        begin(GetInfoOf(map.manifest(), all));
      }
      all.status = sink(slot.buffer.bytes());
    }
    if (!all.status.ok()) {
      StreamedGroup& other = slots[(group + 1) % 2];
      if (other.latch) co_await *other.latch;
      break;
    }
  }
  co_return all;
}

// A stream that has begun ended with `failure`: because of a change?
Task<Status> WhyBroken(HomeChain& chain, const Manifest& streamed,
                       Status failure) {
  if (failure.code() != StatusCode::kNotFound &&
      failure.code() != StatusCode::kCorruption) {
    co_return failure;
  }
  const Result<ManifestPtr> now = co_await chain.ReadJudge();
  if (now && (!*now || (*now)->id != streamed.id)) {
    co_return ChangedInMidStream(streamed.key);
  }
  co_return failure;
}

}  // namespace

Task<Result<GetInfo>> Store::GetTo(std::string_view key, const Begin& begin,
                                   const Sink& sink) {
  Status status = co_await EnsureViewFor(session_, key);
  if (!status.ok()) co_return Fail(std::move(status));
  HomeChain chain(session_, key);
  ChangeId failed_before;
  for (int i = 0; i < kRestarts; ++i) {
    Result<ManifestPtr> current = co_await chain.ReadJudge();
    if (!current) co_return Fail(current.error());
    if (!*current) co_return Fail(Miss(key));
    const Manifest& manifest = **current;
    if (manifest.is_inline) {
      begin(GetInfoOf(manifest, ReadOutcome()));
      status = sink(std::as_bytes(std::span(manifest.value)));
      if (!status.ok()) co_return Fail(std::move(status));
      co_return GetInfoOf(manifest, ReadOutcome());
    }
    const ObjectMap map(*current);
    bool started = false;
    const ReadOutcome read =
        co_await StreamGroups(session_, map, begin, sink, started);
    if (read.status.ok()) co_return GetInfoOf(manifest, read);
    if (manifest.id == failed_before) co_return Fail(read.status);
    // The manifest gets a second look: blocks of an object that changed
    // meanwhile are gone by right.
    if (started) {
      co_return Fail(co_await WhyBroken(chain, manifest, read.status));
    }
    failed_before = manifest.id;
  }
  co_return Fail(KeptChanging(key));
}

}  // namespace ers::store
