#include "store/objects/quick_put.h"

#include <algorithm>
#include <utility>

#include "store/blocks/object_placement.h"
#include "store/format/expiry.h"
#include "store/membership/view_loader.h"
#include "store/objects/store.h"
#include "store/objects/whole_write.h"

namespace ers::store {
namespace {

using net::Task;

constexpr ChangeTerms kOverAnything{.replaces_corrupted = true,
                                    .replaces_plain = true};

// A view is in force, and a lease is held.
bool IsReady(Session& session) {
  Task<Status> ready = EnsureView(session);
  return ready.await_ready() && ready.await_resume().ok() &&
         !IsRoomBeingMade(session);
}

}  // namespace

std::unique_ptr<QuickPut> QuickPut::Begin(Session& session,
                                          const ClientOptions& client,
                                          std::string_view key,
                                          std::string_view value,
                                          const PutOptions& options, Call call,
                                          void* context) {
  ClusterState& cluster = session.cluster();
  if (!cluster.options.adopt_plain_items || options.expected_cas != 0 ||
      !cluster.known->Keeps(key)) {
    return nullptr;
  }
  const Scheme scheme = options.scheme.value_or(client.scheme);
  if (!CheckPut(scheme, options).ok() || !IsReady(session) ||
      !CheckServers(session, scheme).ok()) {
    return nullptr;
  }
  const bool ends = options.expiry != 0;
  if (ends && IsExpired(options.expiry, session.WallMicros())) return nullptr;
  Manifest manifest = ManifestOfPut(session, key, scheme, options);
  if (!RidesInManifest(session, manifest, value.size(), client)) return nullptr;
  manifest.is_inline = true;
  manifest.length = value.size();
  manifest.value = value;
  auto put = std::make_unique<QuickPut>(session, std::move(manifest));
  const int min_copies = std::min(scheme.m, cluster.options.min_redundancy) + 1;
  const bool begun =
      put->Start(static_cast<std::size_t>(min_copies), call, context);
  return begun ? std::move(put) : nullptr;
}

QuickPut::QuickPut(Session& session, Manifest manifest)
    : replicas_(session, manifest.key, nullptr, kOverAnything),
      change_(session, replicas_, std::move(manifest), ClientCas::kRises,
              std::nullopt, Check()) {}

bool QuickPut::Start(std::size_t min_copies, Call call, void* context) {
  if (!replicas_.turn().TryTake()) return false;
  change_.UseKept();
  if (change_.MustPrepare() || change_.replicas_read() < min_copies ||
      change_.Judge()) {
    return false;
  }
  writes_ = change_.BeginCommit(call, context);
  return writes_ != nullptr;
}

const Manifest* QuickPut::Committed() {
  if (!writes_->AllTook()) return nullptr;
  std::optional<ChangeOutcome> ended =
      change_.Conclude(change_.EndCommit(*writes_).await_resume());
  committed_ = std::move(ended->committed);
  return committed_.get();
}

Task<Result<ObjectInfo>> QuickPut::Finish() {
  CommitResult tried = co_await change_.EndCommit(*writes_);
  const ChangeOutcome outcome =
      co_await GoOn(change_, replicas_, std::move(tried));
  if (!outcome.status.ok()) co_return Fail(outcome.status);
  co_return InfoOf(*outcome.committed);
}

}  // namespace ers::store
