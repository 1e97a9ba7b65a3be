// Pack: small values that no client asks for go into one coded object.
#include "store/format/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/micros.h"
#include "store/commit/change.h"
#include "store/format/change_age.h"
#include "store/format/keys.h"
#include "store/format/object_map.h"
#include "store/format/planted_bug.h"
#include "store/membership/view_loader.h"
#include "store/objects/packed_value.h"
#include "store/objects/store.h"
#include "store/objects/whole_write.h"
#include "store/support/content.h"

namespace ers::store {
namespace {

using net::Task;
using ManifestPtr = std::shared_ptr<const Manifest>;

constexpr int kCommitsAtOnce = 16;
// Of a value's entry in a directory and its place in a manifest, about.
constexpr std::size_t kEntryBytes = 3;
constexpr std::size_t kPlaceBytes = 16;

constexpr ChangeTerms kOfPack{.of_pack = true};
constexpr ChangeTerms kGivesWay{.out_of_turn = true};

// An old pack may be gone by the time at which this one would be named.
bool IsTooOldToName(Session& session, const ChangeId& pack) {
  using std::chrono::microseconds;
  const bool too_old =
      microseconds(session.WallMicros()) - microseconds(pack.time_us) >
      ChangeTimeout();
  return too_old && !Planted(PlantedBug::kPackNamedOld);
}

std::uint64_t StoredBytes(const ManifestPtr& pack) {
  const ObjectMap map(pack);
  std::uint64_t bytes = 0;
  for (int group = 0; group < map.groups(); ++group) {
    for (const layout::BlockId block :
         map.geometry().StoredBlocks(map.width())) {
      if (map.GenerationOf(group, block)) bytes += map.BlockBytes(group, block);
    }
  }
  return bytes;
}

// A value, with its bytes.
struct Chosen {
  ManifestPtr whole;
  bool was_packed = false;
};

class Packing {
 public:
  Packing(Session& session, const ClientOptions& options,
          const PackTerms& terms)
      : session_(session), options_(options), terms_(terms) {}

  Task<Result<PackedValues>> Run(std::vector<ManifestPtr> values) {
    co_await Choose(std::move(values));
    if (!terms_.any && bytes_ < PackBytesFor(chosen_scheme_) / 2) {
      // What is left of old packs would keep these for ever: it is whole again,
      // and waits for more.
      std::erase_if(chosen_,
                    [](const Chosen& value) { return !value.was_packed; });
      co_await CommitAll();
      co_return done_;
    }
    if (chosen_.empty()) co_return done_;
    Status stored = co_await StorePack();
    if (!stored.ok()) co_return Fail(std::move(stored));
    session_.counters().packs_made.Add();
    co_await CommitAll();
    if (done_.values == 0 && !unknown_) co_await DropPack();
    co_return done_;
  }

 private:
  // As many as go into one pack, with their bytes.
  Task<void> Choose(std::vector<ManifestPtr> values) {
    for (ManifestPtr& value : values) {
      const bool fits = value->is_inline && !value->tombstone &&
                        value->length > 0 && !IsPackKey(value->key) &&
                        (terms_.any || IsWorthPacking(session_, *value));
      if (!fits) continue;
      if (chosen_.empty()) {
        chosen_scheme_ = value->scheme;
        width_ = value->width;
      }
      const std::uint64_t more = value->key.size() + value->length;
      if (value->scheme != chosen_scheme_ || value->width != width_ ||
          bytes_ + more > PackBytesFor(chosen_scheme_)) {
        continue;
      }
      Result<ManifestPtr> whole = co_await Unpacked(session_, value, nullptr);
      if (!whole) continue;
      if (value->is_packed()) done_.bytes_read += value->length;
      bytes_ += more;
      chosen_.push_back({std::move(*whole), value->is_packed()});
    }
  }

  // An object as any other, under a key that no other has.
  Task<Status> StorePack() {
    PutOptions put;
    put.width = width_;
    Manifest manifest = ManifestOfPut(session_, {}, chosen_scheme_, put);
    pack_ = manifest.id;
    manifest.key = PackKey(pack_);
    for (const Chosen& value : chosen_) {
      entries_.push_back({value.whole->key, value.whole->length, 0});
    }
    std::string bytes = EncodePackDirectory(entries_);
    for (const Chosen& value : chosen_) bytes += value.whole->value;
    // In blocks: of columns a read of one value would take a fifth of the pack.
    ClientOptions client = options_;
    client.inline_below = 0;
    client.column_below = 0;
    MemoryContent content(std::as_bytes(std::span(bytes)));
    const std::string key = manifest.key;
    ReplicaSet replicas(session_, key, nullptr, kOfPack);
    PutJob job{session_, client, content, std::move(manifest), nullptr};
    const ChangeOutcome outcome =
        co_await WriteWhole(job, replicas, Check(), ClientCas::kRises);
    if (outcome.committed) {
      stored_ = outcome.committed->id;
      done_.bytes_written = StoredBytes(outcome.committed);
    }
    co_return outcome.status;
  }

  Task<void> CommitAll() {
    net::Latch latch(session_.runtime(), kCommitsAtOnce);
    for (int i = 0; i < kCommitsAtOnce; ++i) net::Spawn(CommitSome(latch));
    co_await latch;
  }

  // Names their places in the pack; where none was stored, makes them whole.
  Task<void> CommitSome(net::Latch& latch) {
    const bool names = !entries_.empty();
    while (next_ < chosen_.size()) {
      const std::size_t at = next_++;
      const Manifest& value = *chosen_[at].whole;
      Manifest next = value;
      next.id = session_.NewChangeId();
      if (names) {
        next.value.clear();
        next.pack = pack_;
        next.pack_offset = entries_[at].offset;
      }
      const bool committed = co_await Commit(value, std::move(next));
      if (!committed) continue;
      (names ? done_.values : done_.unpacked) += 1;
      if (!names) continue;
      done_.bytes += value.length;
      session_.counters().packed_values.Add();
      session_.counters().packed_bytes.Add(value.length);
    }
    latch.CountDown();
  }

  // Any other change of the value comes first.
  Task<bool> Commit(const Manifest& value, Manifest next) {
    ReplicaSet replicas(session_, value.key, nullptr, kGivesWay);
    const bool names = next.is_packed();
    const Check planned = PlannedOn(value.id);
    const Check check = [this, &planned,
                         names](const Manifest* living) -> Result<Verdict> {
      if (names && IsTooOldToName(session_, pack_)) {
        return Fail(StatusCode::kUnavailable, "packing took too long");
      }
      const bool takes_over = Planted(names ? PlantedBug::kPackTakesOver
                                            : PlantedBug::kUnpackTakesOver);
      if (living != nullptr && takes_over) {
        return Verdict::kGoOn;
      }
      return planned(living);
    };
    const ChangeOutcome outcome =
        co_await CommitChange(session_, replicas, std::move(next),
                              ClientCas::kStays, std::nullopt, check);
    unknown_ = unknown_ || outcome.status.code() == StatusCode::kOutcomeUnknown;
    co_return outcome.status.ok() && !outcome.restart;
  }

  // No manifest names it, nor will.
  Task<void> DropPack() {
    const std::string key = PackKey(pack_);
    ReplicaSet replicas(session_, key, nullptr, kOfPack);
    (void)co_await CommitChange(
        session_, replicas, TombstoneFor(key, session_.NewChangeId()),
        ClientCas::kRises, std::nullopt, PlannedOn(stored_));
  }

  Session& session_;
  const ClientOptions& options_;
  const PackTerms terms_;
  Scheme chosen_scheme_;
  Width width_ = Width::kNarrow;
  std::uint64_t bytes_ = 0;
  std::vector<Chosen> chosen_;
  std::vector<PackEntry> entries_;
  ChangeId pack_;
  ChangeId stored_;  // the change that stored it
  std::size_t next_ = 0;
  bool unknown_ = false;
  PackedValues done_;
};

}  // namespace

std::uint64_t PackBytesFor(const Scheme& scheme) {
  constexpr std::uint64_t kBlockBytes = std::uint64_t{12} << 10;
  return std::min<std::uint64_t>(
      kMaxPackBytes,
      kBlockBytes * static_cast<std::uint64_t>(GroupDataBlocks(scheme)));
}

bool IsWorthPacking(Session& session, const Manifest& value) {
  const auto copies =
      static_cast<std::uint64_t>(session.view()->max_failures) + 1;
  const auto w =
      static_cast<std::uint64_t>(StripeDataBlocks(value.scheme, value.width));
  const auto m = static_cast<std::uint64_t>(value.scheme.m);
  const std::uint64_t packed =
      (value.length + value.key.size() + kEntryBytes) * (w + m) / w +
      copies * kPlaceBytes;
  // What ends sooner would leave its place in the pack empty at once.
  const std::int64_t least_end_s =
      session.WallMicros() / kMicrosPerSecond +
      2 * std::chrono::duration_cast<std::chrono::seconds>(kChangeTimeout)
              .count();
  return (value.expiry == 0 || value.expiry > least_end_s) &&
         4 * packed <= 3 * copies * value.length;
}

Task<Result<PackedValues>> Store::Pack(std::vector<ManifestPtr> values,
                                       PackTerms terms) {
  Status status = co_await EnsureView(session_);
  if (!status.ok()) co_return Fail(std::move(status));
  Packing packing(session_, options_, terms);
  co_return co_await packing.Run(std::move(values));
}

}  // namespace ers::store
