#include "store/objects/packed_value.h"

#include <fmt/format.h>

#include <utility>

#include "store/blocks/pack_reader.h"
#include "store/format/keys.h"
#include "store/repair/lru_bump.h"

namespace ers::store {

namespace {

using net::Task;
using ManifestPtr = std::shared_ptr<const Manifest>;

}  // namespace

Task<ReadOutcome> ReadPacked(Session& session, ManifestPtr packed,
                             std::uint64_t offset, std::uint64_t length,
                             std::byte* into, StepTimer* steps) {
  PackRead got = co_await ReadPack(
      session, packed->pack, packed->pack_offset + offset, length, into, steps);
  if (got.gone) {
    // A manifest that is not the object's any more ends nothing. What is not
    // ended could be back later, so it is no miss yet.
    const Result<bool> ended = co_await EndUnreadable(session, packed);
    if (!ended) {
      got.read.status =
          Status(StatusCode::kUnavailable,
                 fmt::format("the pack of key '{}' is gone, and the value "
                             "cannot be ended yet: {}",
                             packed->key, ended.error().message()));
    }
  }
  if (got.read.status.ok() && MayBumpLru(session)) {
    const ManifestPtr pack = session.manifests().Find(PackKey(packed->pack));
    if (pack) BumpLru(session, pack, true);
  }
  co_return std::move(got.read);
}

namespace {

Task<Result<ManifestPtr>> LoadWhole(Session& session, ManifestPtr packed,
                                    StepTimer* steps) {
  Manifest whole = *packed;
  whole.value.resize(packed->length);
  const ReadOutcome read = co_await ReadPacked(
      session, packed, 0, whole.length,
      reinterpret_cast<std::byte*>(whole.value.data()), steps);
  session.counters().degraded_reads.Add(read.degraded);
  if (!read.status.ok()) co_return Fail(read.status);
  whole.pack = ChangeId();
  whole.pack_offset = 0;
  co_return std::make_shared<const Manifest>(std::move(whole));
}

}  // namespace

Task<Result<ManifestPtr>> Unpacked(Session& session, ManifestPtr manifest,
                                   StepTimer* steps) {
  if (manifest->is_packed())
    return LoadWhole(session, std::move(manifest), steps);
  return Task<Result<ManifestPtr>>::Ready(std::move(manifest));
}

Task<Result<std::vector<std::byte>>> ReadValue(Session& session,
                                               ManifestPtr manifest,
                                               StepTimer* steps) {
  const Result<ManifestPtr> whole =
      co_await Unpacked(session, std::move(manifest), steps);
  if (!whole) co_return Fail(whole.error());
  co_return co_await ReadWhole(session, *whole, steps);
}

}  // namespace ers::store
