#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "store/blocks/object_reader.h"
#include "store/membership/batch.h"
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

// Whole groups, one read ahead, where the reader says nothing else.
constexpr StreamWindow kByGroups = {kMaxGroupBytes, 2};

// Some bytes of the value, being read or waiting to be handed out.
struct Piece {
  explicit Piece(net::Runtime& runtime) : latch(runtime, 1) {}
  std::uint64_t offset = 0;
  std::uint64_t taken = 0;  // of StreamWindow::memory
  Value buffer;
  ReadOutcome outcome;
  net::Latch latch;
};

// The value in pieces: whole blocks, as many as fit, never over a group's end.
// Up to `window.pieces` are under way.
class PieceReader {
 public:
  PieceReader(Session& session, ManifestPtr manifest, StreamWindow window,
              StepTimer* steps)
      : session_(session),
        map_(std::move(manifest)),
        window_(window),
        steps_(steps) {}

  // Starts what the window has room for, and one piece at least.
  Task<void> Fill() {
    while (static_cast<int>(pieces_.size()) < window_.pieces &&
           next_ < map_.manifest().length && !failed_) {
      auto piece = std::make_unique<Piece>(session_.runtime());
      if (window_.memory != nullptr) {
        const std::uint64_t wanted = LengthOfNext() + DecodeBytes();
        if (!window_.memory->TryTake(wanted)) {
          if (!pieces_.empty()) co_return;
          piece->outcome.status = co_await window_.memory->Take(wanted);
        }
        if (piece->outcome.status.ok()) piece->taken = wanted;
      }
      Start(std::move(piece));
    }
  }
  [[nodiscard]] bool AtEnd() const {
    return pieces_.empty() && next_ == map_.manifest().length;
  }
  // The oldest piece, read; it stays until Pop.
  Task<Piece*> Front() {
    Piece& piece = *pieces_.front();
    co_await piece.latch;
    failed_ = failed_ || !piece.outcome.status.ok();
    co_return &piece;
  }
  // Its buffer was handed out.
  void Pop() { pieces_.pop_front(); }
  // What is under way must end before its memory goes.
  Task<void> Abandon() {
    failed_ = true;
    for (const auto& piece : pieces_) {
      co_await piece->latch;
      KeepTaken(*piece, 0);
    }
    pieces_.clear();
  }
  [[nodiscard]] const Manifest& manifest() const { return map_.manifest(); }

 private:
  [[nodiscard]] int GroupOfNext() const {
    return static_cast<int>(next_ / map_.manifest().group_bytes);
  }
  [[nodiscard]] std::uint64_t LengthOfNext() const {
    const int group = GroupOfNext();
    const std::uint64_t block = map_.DataBytes(group);
    const std::uint64_t whole =
        std::max<std::uint64_t>(1, window_.piece_bytes / block) * block;
    const std::uint64_t end = map_.GroupOffset(group) + map_.GroupLength(group);
    return std::min(whole, end - next_);
  }
  // What a read may take beside the piece itself, to decode a lost block.
  [[nodiscard]] std::uint64_t DecodeBytes() const {
    // Parity columns may be longer than those of data.
    const layout::Geometry& geometry = map_.geometry();
    const int blocks = geometry.stripe_width(map_.width());
    return map_.BlockBytes(GroupOfNext(),
                           geometry.ParityId(map_.width(), 0, 0)) *
           static_cast<std::uint64_t>(blocks);
  }
  void KeepTaken(Piece& piece, std::uint64_t bytes) {
    if (window_.memory == nullptr || piece.taken <= bytes) return;
    window_.memory->Give(std::exchange(piece.taken, bytes) - bytes);
  }
  void Start(std::unique_ptr<Piece> piece) {
    piece->offset = next_;
    const std::uint64_t length = LengthOfNext();
    next_ += length;
    Status& status = piece->outcome.status;
    if (status.ok() && !piece->buffer.Resize(length)) {
      status =
          Status(StatusCode::kNoMemory, "no memory for a piece of the value");
    }
    if (status.ok()) {
      net::Spawn(Read(*piece, length));
    } else {
      piece->latch.CountDown();
    }
    pieces_.push_back(std::move(piece));
  }
  Task<void> Read(Piece& piece, std::uint64_t length) {
    piece.outcome = co_await ReadRange(session_, map_, piece.offset, length,
                                       piece.buffer.data(), steps_);
    KeepTaken(piece, length);
    piece.latch.CountDown();
  }

  Session& session_;
  const ObjectMap map_;
  const StreamWindow window_;
  StepTimer* const steps_;
  std::uint64_t next_ = 0;
  bool failed_ = false;
  std::deque<std::unique_ptr<Piece>> pieces_;
};

Status ChangedInMidStream(std::string_view key) {
  return {StatusCode::kConflict,
          fmt::format("key '{}' was changed while its value was handed out; "
                      "what came is a part of the old one: read it again",
                      key)};
}

// A stream that has begun ended with `failure`: because of a change?
Task<Status> WhyBroken(ReplicaSet& replicas, const Manifest& streamed,
                       Status failure) {
  if (failure.code() != StatusCode::kNotFound &&
      failure.code() != StatusCode::kCorruption) {
    co_return failure;
  }
  const Result<ManifestPtr> now = co_await replicas.ReadPrimary(kNoBump);
  if (now && (!*now || (*now)->id != streamed.id)) {
    co_return ChangedInMidStream(streamed.key);
  }
  co_return failure;
}

struct Streamed {
  ReadOutcome read;
  bool started = false;      // `begin` was called
  bool sink_failed = false;  // read.status is the sink's
};

// Hands the pieces out in order.
Task<Streamed> HandOut(PieceReader& reader, const StreamBegin& begin,
                       const AsyncSink& sink) {
  Streamed streamed;
  ReadOutcome& all = streamed.read;
  for (;;) {
    co_await reader.Fill();
    if (reader.AtEnd()) break;
    Piece* piece = co_await reader.Front();
    all.degraded |= piece->outcome.degraded;
    all.repaired += piece->outcome.repaired;
    all.status = piece->outcome.status;
    if (!all.status.ok()) break;
    if (!std::exchange(streamed.started, true)) {
      begin(GetInfoOf(reader.manifest(), all));
    }
    all.status = co_await sink(std::move(piece->buffer));
    reader.Pop();
    if (!all.status.ok()) {
      streamed.sink_failed = true;
      break;
    }
  }
  co_await reader.Abandon();
  co_return streamed;
}

Task<Status> HandOutInline(const Manifest& manifest, const StreamBegin& begin,
                           const AsyncSink& sink) {
  begin(GetInfoOf(manifest, ReadOutcome()));
  Value value;
  if (!value.Resize(manifest.value.size())) {
    co_return Status(StatusCode::kNoMemory, "no memory for the value");
  }
  std::copy_n(reinterpret_cast<const std::byte*>(manifest.value.data()),
              manifest.value.size(), value.data());
  co_return co_await sink(std::move(value));
}

}  // namespace

Task<Result<GetInfo>> Store::Stream(std::string_view key, StreamWindow window,
                                    const StreamBegin& begin,
                                    const AsyncSink& sink) {
  Status status = co_await EnsureViewFor(session_, key);
  if (!status.ok()) co_return Fail(std::move(status));
  ReplicaSet replicas(session_, key, steps_);
  const bool bump_lru = !window.no_bump && MayBumpLru(session_);
  PrimaryTerms primary;
  primary.no_bump = window.no_bump;
  ManifestPtr believed = session_.manifests().Find(key);
  ChangeId failed_before;
  for (int i = 0; i < kGetRestarts; ++i) {
    // The blocks of the manifest believed in come in the same round trip as the
    // primary's word on it.
    std::optional<PieceReader> reader;
    if (believed && !believed->is_inline) {
      reader.emplace(session_, believed, window, steps_);
      co_await reader->Fill();
    }
    Result<ManifestPtr> current = co_await replicas.ReadPrimary(primary);
    const bool confirmed =
        reader && current && *current && (*current)->id == believed->id;
    if (reader && !confirmed) co_await reader->Abandon();
    if (!current) co_return Fail(current.error());
    if (!*current) {
      session_.manifests().Erase(key);
      co_return Fail(GetMiss(key));
    }
    session_.manifests().Insert(*current);
    const ChangeId shown = (*current)->id;
    if (i == 0 && bump_lru) BumpLru(session_, *current, true);
    primary.no_bump = true;  // one access, however often it asks
    if ((*current)->is_packed()) {
      current = co_await Unpacked(session_, *current, steps_);
      if (!current) {
        // A change may have come between, and the pack be dropped since.
        const bool again = std::exchange(failed_before, shown) != shown;
        if (again) continue;
        co_return Fail(current.error());
      }
    }
    const Manifest& manifest = **current;
    if (manifest.is_inline) {
      status = co_await HandOutInline(manifest, begin, sink);
      if (!status.ok()) co_return Fail(std::move(status));
      co_return GetInfoOf(manifest, ReadOutcome());
    }
    believed = *current;
    if (!confirmed) reader.emplace(session_, believed, window, steps_);
    const Streamed streamed = co_await HandOut(*reader, begin, sink);
    session_.counters().degraded_reads.Add(streamed.read.degraded);
    if (streamed.read.status.ok()) {
      co_return GetInfoOf(manifest, streamed.read);
    }
    if (streamed.sink_failed) co_return Fail(streamed.read.status);
    if (manifest.id == failed_before) {
      DropUnreadable(session_, believed, streamed.read.status);
      co_return Fail(streamed.read.status);
    }
    // The manifest is read once more: blocks of an object that changed
    // meanwhile are gone by right.
    if (streamed.started) {
      Status why = co_await WhyBroken(replicas, manifest, streamed.read.status);
      DropUnreadable(session_, believed, why);
      co_return Fail(std::move(why));
    }
    failed_before = manifest.id;
  }
  co_return Fail(GetKeptChanging(key));
}

Task<Result<GetInfo>> Store::GetTo(std::string_view key,
                                   const StreamBegin& begin, const Sink& sink) {
  const AsyncSink at_once = [&sink](Value piece) -> Task<Status> {
    co_return sink(piece.bytes());
  };
  co_return co_await Stream(key, kByGroups, begin, at_once);
}

}  // namespace ers::store
