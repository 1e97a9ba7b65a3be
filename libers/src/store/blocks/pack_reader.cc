#include "store/blocks/pack_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "store/format/keys.h"
#include "store/format/object_map.h"
#include "store/replicas/replica_set.h"

namespace ers::store {
namespace {

using net::Task;
using ManifestPtr = std::shared_ptr<const Manifest>;

// How often a read starts over because its pack changed its form.
constexpr int kPackReads = 16;
// Most directories are shorter.
constexpr std::uint64_t kDirectoryGuess = std::uint64_t{8} << 10;

bool MayBeOutdated(const Status& failure) {
  return failure.code() == StatusCode::kNotFound ||
         failure.code() == StatusCode::kCorruption ||
         failure.code() == StatusCode::kUnavailable;
}

// As its replicas show it; null: there is none.
Task<Result<ManifestPtr>> ReadPackManifest(Session& session,
                                           const std::string& key,
                                           StepTimer* steps) {
  ReplicaSet replicas(session, key, steps);
  Result<ManifestPtr> shown = co_await replicas.ReadPrimary();
  if (shown && *shown) session.manifests().Insert(*shown);
  if (shown && !*shown) session.manifests().Erase(key);
  co_return shown;
}

std::byte* Bytes(std::string& text) {
  return reinterpret_cast<std::byte*>(text.data());
}

// Makes the text the first bytes of the pack, as many as it has.
using BeginReader = std::function<Task<Status>(std::string&)>;

Task<Result<std::vector<PackEntry>>> ReadDirectory(std::uint64_t length,
                                                   const BeginReader& read) {
  std::uint64_t wanted = std::min(length, kDirectoryGuess);
  for (;;) {
    std::string begin(wanted, '\0');
    const Status status = co_await read(begin);
    if (!status.ok()) co_return Fail(status);
    const Result<std::size_t> bytes = PackDirectoryBytes(begin);
    if (!bytes) co_return Fail(bytes.error());
    if (*bytes <= wanted || *bytes > length) {
      co_return DecodePackDirectory(begin, length);
    }
    wanted = *bytes;
  }
}

}  // namespace

Task<PackRead> ReadPack(Session& session, ChangeId pack, std::uint64_t offset,
                        std::uint64_t length, std::byte* into,
                        StepTimer* steps) {
  PackRead result;
  Status& status = result.read.status;
  const std::string key = PackKey(pack);
  ManifestPtr known = session.manifests().Find(key);
  ChangeId short_of;
  StatusCode failure = StatusCode::kOk;  // of that try
  for (int i = 0; i < kPackReads; ++i) {
    if (!known) {
      Result<ManifestPtr> shown =
          co_await ReadPackManifest(session, key, steps);
      if (!shown) {
        status = shown.error();
        co_return result;
      }
      known = std::move(*shown);
      result.gone = known == nullptr;
    }
    if (result.gone) {
      status = Status(StatusCode::kNotFound,
                      fmt::format("the pack '{}' is gone, and the values that "
                                  "were in it",
                                  key));
      co_return result;
    }
    if (known->is_inline || offset > known->length ||
        length > known->length - offset) {
      status = Status(StatusCode::kCorruption,
                      fmt::format("pack '{}' has no bytes {} to {}", key,
                                  offset, offset + length));
      co_return result;
    }
    const ObjectMap map(known);
    result.read = co_await ReadRange(session, map, offset, length, into, steps);
    // Its parity may have moved, or all of it. Blocks that were short before
    // its replicas showed this very form again are: that proves the first of
    // two failures, so the second one must be of its kind.
    const bool same_form = std::exchange(short_of, known->id) == known->id;
    const bool same_failure =
        std::exchange(failure, status.code()) == status.code();
    if (!MayBeOutdated(status) || (same_form && same_failure)) co_return result;
    known = nullptr;
  }
  co_return result;
}

Task<Result<std::vector<PackEntry>>> ReadPackDirectory(Session& session,
                                                       ManifestPtr pack) {
  const ChangeId id = *PackOfKey(pack->key);
  const BeginReader read = [&session, id](std::string& begin) -> Task<Status> {
    PackRead got =
        co_await ReadPack(session, id, 0, begin.size(), Bytes(begin), nullptr);
    co_return std::move(got.read.status);
  };
  co_return co_await ReadDirectory(pack->length, read);
}

Task<Result<std::vector<PackEntry>>> PeekAtPackDirectory(Session& session,
                                                         ManifestPtr pack) {
  const std::uint64_t length = pack->length;
  const ObjectMap map(std::move(pack));
  const BeginReader read = [&session,
                            &map](std::string& begin) -> Task<Status> {
    ReadOutcome got = co_await ReadRange(session, map, 0, begin.size(),
                                         Bytes(begin), nullptr, Decoded::kLeft);
    co_return std::move(got.status);
  };
  co_return co_await ReadDirectory(length, read);
}

}  // namespace ers::store
