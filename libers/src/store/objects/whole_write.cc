#include "store/objects/whole_write.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "store/blocks/dropping.h"
#include "store/blocks/object_placement.h"
#include "store/blocks/object_writer.h"
#include "store/membership/view_changer.h"

namespace ers::store {
namespace {

using net::Task;

// The value is small: it goes into the manifest.
Task<Status> TakeInline(PutJob& job, std::size_t length) {
  Status redundancy = CheckServers(job.session, job.manifest.scheme);
  if (redundancy.ok()) {
    redundancy =
        CheckCopies(job.session, job.manifest.key, job.manifest.scheme);
  }
  if (!redundancy.ok()) co_return redundancy;
  job.manifest.is_inline = true;
  job.manifest.length = length;
  Result<std::span<const std::byte>> bytes = co_await job.content.Next(length);
  if (!bytes) co_return bytes.error();
  job.manifest.value.assign(reinterpret_cast<const char*>(bytes->data()),
                            bytes->size());
  co_return Status();
}

Task<Status> WriteAll(PutJob& job) {
  WriteOutcome outcome = co_await WriteGroups(job.session, job.content, 0,
                                              job.manifest, job.steps);
  co_await MarkFailed(job.session, outcome.epoch,
                      std::move(outcome.failed_members));
  co_return outcome.status;
}

// Stages the blocks. The replicas are read meanwhile where the value is one
// group: a longer one takes so long that rivals would come in between.
Task<Status> StageBlocks(PutJob& job, ReplicaSet& replicas,
                         std::uint64_t length,
                         std::optional<ReplicasRead>& prepared) {
  Status status =
      PlaceObject(job.session, job.manifest, length, job.client.column_below);
  if (!status.ok()) co_return status;
  prepared.reset();  // it takes too long for that
  const std::optional<std::uint64_t> left = job.content.Left();
  if (left && *left <= job.manifest.group_bytes) {
    Staged staged =
        co_await StageAndPrepare(job.session, replicas, WriteAll(job));
    status = std::move(staged.status);
    prepared = std::move(staged.prepared);
  } else {
    status = co_await WriteAll(job);
  }
  if (!status.ok()) DropStaged(job.session, job.manifest);
  co_return status;
}

}  // namespace

Status CheckPut(const Scheme& scheme, const PutOptions& options) {
  Status status = ValidateStoredScheme(scheme);
  if (status.ok() && !HasWidth(scheme, options.width)) {
    status = Status(StatusCode::kInvalidArgument,
                    "scheme " + FormatScheme(scheme) + " has no " +
                        (scheme.elastic() ? "such width" : "wide form"));
  }
  if (status.ok() && options.expiry < 0) {
    status = Status(StatusCode::kInvalidArgument,
                    "the expiry is negative: give Unix seconds, or 0 for none");
  }
  if (status.ok() && options.only_if_absent && options.expected_cas != 0) {
    status = Status(StatusCode::kInvalidArgument,
                    "both only_if_absent and expected_cas: give one of them");
  }
  return status;
}

Manifest ManifestOfPut(Session& session, std::string_view key,
                       const Scheme& scheme, const PutOptions& options) {
  Manifest manifest;
  manifest.id = session.NewChangeId();
  manifest.key = key;
  manifest.scheme = scheme;
  manifest.width = options.width;
  manifest.client_flags = options.client_flags;
  manifest.expiry = options.expiry;
  return manifest;
}

bool IsRoomBeingMade(Session& session) {
  return session.cluster().needs.GivingBack(session.runtime().Now());
}

Task<ChangeOutcome> WriteWhole(PutJob& job, ReplicaSet& replicas, Check check,
                               ClientCas cas,
                               std::optional<ReplicasRead> prepared) {
  std::uint64_t length = 0;  // or so long at least

  if (const std::optional<std::uint64_t> left = job.content.Left()) {
    length = *left;
  } else {
    Result<std::span<const std::byte>> head = co_await job.content.Peek(
        LongestChosenFor(job.session, job.manifest, job.client));
    if (!head) co_return ChangeOutcome{head.error(), false, nullptr, {}};
    length = head->size();
  }
  Status status;
  if (RidesInManifest(job.session, job.manifest, length, job.client)) {
    status = co_await TakeInline(job, length);
  } else {
    status = co_await StageBlocks(job, replicas, length, prepared);
  }
  if (!status.ok()) {
    co_return ChangeOutcome{std::move(status), false, nullptr, {}};
  }
  co_return co_await CommitChange(job.session, replicas,
                                  std::move(job.manifest), cas,
                                  std::move(prepared), std::move(check));
}

}  // namespace ers::store
