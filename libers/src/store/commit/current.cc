#include "store/commit/current.h"

#include <fmt/format.h>

#include <utility>

#include "store/format/planted_bug.h"
#include "store/membership/view_loader.h"

namespace ers::store {
namespace {

// At least, of what takes long.
constexpr int kMinTries = 64;

}  // namespace

CurrentManifest::CurrentManifest(Session& session, std::string_view key,
                                 StepTimer* steps, PrimaryTerms reads,
                                 const ChangeTerms& changes)
    : session_(session),
      key_(key),
      steps_(steps),
      reads_(reads),
      changes_(changes) {}

net::Task<Status> CurrentManifest::Begin() {
  Status status = co_await EnsureViewFor(session_, key_);
  if (!status.ok()) co_return status;
  replica_set_ = std::make_unique<ReplicaSet>(session_, key_, steps_, changes_);
  until_ =
      session_.runtime().Now() + session_.cluster().options.operation_timeout;
  co_return status;
}

net::Task<Status> CurrentManifest::BeginInTurn() {
  Status status = co_await Begin();
  if (status.ok()) status = co_await replica_set_->turn().Take();
  until_ =
      session_.runtime().Now() + session_.cluster().options.operation_timeout;
  co_return status;
}

ReplicaSet& CurrentManifest::replica_set() { return *replica_set_; }

net::Task<Result<std::shared_ptr<const Manifest>>> CurrentManifest::Next() {
  using ManifestPtr = std::shared_ptr<const Manifest>;
  if (++tries_ > kMinTries && session_.runtime().Now() >= until_) {
    co_return Fail(replica_set_->turn().ChangedWithoutEnd());
  }
  replicas_.reset();
  if (tries_ == 1) {
    ManifestPtr known = session_.manifests().Find(key_);
    if (known && replica_set_->Alive(*known, session_.WallMicros())) {
      remembered_ = true;
      co_return known;
    }
  }
  remembered_ = false;
  Result<ManifestPtr> found;
  if (met_ && met_->Agreed() && !Impatient()) {
    replicas_ = std::exchange(met_, {});
    const ManifestPtr& shown = replicas_->primary().manifest;
    if (shown && replica_set_->Alive(*shown, replicas_->asked_us))
      found = shown;
  } else {
    found = co_await replica_set_->ReadPrimary(reads_);
  }
  if (!found) co_return found;
  if (!*found) {
    session_.manifests().Erase(key_);
    co_return Fail(StatusCode::kNotFound,
                   fmt::format("key '{}' holds no object", key_));
  }
  session_.manifests().Insert(*found);
  shown_ = (*found)->id;
  co_return found;
}

bool CurrentManifest::MayRetry(const Status& failure) {
  const bool short_of_blocks = failure.code() == StatusCode::kNotFound ||
                               failure.code() == StatusCode::kCorruption ||
                               failure.code() == StatusCode::kUnavailable;
  if (!short_of_blocks || remembered_) return short_of_blocks;
  // That the primary showed the same manifest in between proves the first of
  // two failures, not the second: that one must be of the same kind.
  const bool same_change = std::exchange(short_, shown_) == shown_;
  const bool same_failure =
      std::exchange(failure_, failure.code()) == failure.code();
  return !same_change || !same_failure;
}

}  // namespace ers::store
