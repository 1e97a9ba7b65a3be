#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "base/micros.h"
#include "store/format/keys.h"
#include "store/membership/view_loader.h"
#include "store/objects/store.h"
#include "store/repair/key_walk.h"
#include "store/replicas/replica_set.h"

namespace ers::store {
namespace {

using net::Task;

constexpr std::size_t kReadsAtOnce = 64;

struct Listed {
  WalkedItem item;
  std::string key;  // empty: gone, or not wanted
  std::shared_ptr<const Manifest> manifest;
  Status status;
};

Task<Result<ListedObject>> ReadAsListed(Session& session,
                                        std::string_view key) {
  ReplicaSet replicas(session, key);
  CopyRead copy = replicas.BeginRead({.no_bump = true, .report_access = true});
  Status status = copy.Start();
  if (!status.ok()) co_return Fail(std::move(status));
  co_await copy;
  ListedObject listed;
  if (copy.request().outcome == net::Outcome::kOk) {
    listed.last_access = copy.asked_us() / kMicrosPerSecond -
                         static_cast<std::int64_t>(copy.request().item_idle);
  }
  Result<std::shared_ptr<const Manifest>> shown =
      co_await replicas.FinishRead(copy);
  if (!shown) co_return Fail(shown.error());
  listed.manifest = std::move(*shown);
  co_return listed;
}

// The replica that is asked says how long the object is idle, too: the dump of
// the primary, which nearly all reads are asked of, may have failed.
Task<void> Visit(Session& session, const ListTerms& terms, Listed& listed,
                 net::Latch& latch) {
  Result<std::string> key = co_await KeyOfItem(session, listed.item);
  if (!key) {
    listed.status = key.error();
    latch.CountDown();
    co_return;
  }
  listed.key = std::move(*key);
  if (terms.wanted && !terms.wanted(listed.key)) listed.key.clear();
  if (!terms.packs && IsPackKey(listed.key)) listed.key.clear();
  if (listed.key.empty()) {
    latch.CountDown();
    co_return;
  }
  const Result<ListedObject> read = co_await ReadAsListed(session, listed.key);
  if (read) {
    listed.manifest = read->manifest;
    listed.item.last_access =
        std::max(listed.item.last_access, read->last_access);
  } else if (read.error().code() != StatusCode::kNotManaged &&
             read.error().code() != StatusCode::kConflict) {
    listed.status = read.error();
  }
  latch.CountDown();
}

bool Stopped(const ListTerms& terms) {
  return terms.stop != nullptr && terms.stop->stopped();
}

Task<void> ReadSome(Session& session, const ListTerms& terms, KeyWalk& walk,
                    std::deque<Listed>& batch) {
  net::Latch latch(session.runtime());
  while (!walk.empty() && batch.size() < kReadsAtOnce) {
    Listed& listed = batch.emplace_back();
    listed.item = walk.Take();
    latch.Add();
    net::Spawn(Visit(session, terms, listed, latch));
  }
  co_await latch;
}

// One slice; false: `visit` has seen enough.
Task<Result<bool>> VisitSlice(
    Session& session, const ListTerms& terms, KeyWalk& walk,
    const std::function<bool(const ListedObject&)>& visit) {
  while (!walk.empty()) {
    if (Stopped(terms)) co_return Fail(StoppedStatus());
    std::deque<Listed> batch;
    co_await ReadSome(session, terms, walk, batch);
    for (Listed& listed : batch) {
      if (!listed.status.ok()) {
        // Without its key it can be named to no one.
        if (!terms.unreadable || listed.key.empty()) {
          co_return Fail(listed.status);
        }
        terms.unreadable(listed.key, listed.status);
      }
      if (!listed.manifest) continue;
      const ListedObject object{std::move(listed.manifest),
                                listed.item.last_access};
      const bool more = visit(object);
      if (!more) co_return false;
    }
  }
  co_return true;
}

}  // namespace

Task<Status> Store::ListObjects(
    const ListTerms& terms,
    const std::function<bool(const ListedObject&)>& visit) {
  if (Stopped(terms)) co_return StoppedStatus();
  Status status = co_await EnsureView(session_);
  if (status.code() == StatusCode::kNotFound) co_return Status();
  if (!status.ok()) co_return status;
  KeyWalk walk(session_, terms);
  for (;;) {
    const Result<bool> slice = co_await walk.NextSlice(session_.view());
    if (!slice) co_return slice.error();
    if (!*slice) break;
    const Result<bool> more = co_await VisitSlice(session_, terms, walk, visit);
    if (!more) co_return more.error();
    if (!*more) co_return Status();
  }
  co_return Stopped(terms) ? StoppedStatus() : Status();
}

Task<Result<ListedObject>> Store::ReadListed(std::string_view key) {
  Status status = co_await EnsureViewFor(session_, key);
  if (!status.ok()) co_return Fail(std::move(status));
  co_return co_await ReadAsListed(session_, key);
}

Task<Status> Store::List(
    const std::function<bool(std::string_view, const ObjectInfo&)>& visit,
    const ListOptions& options) {
  ListTerms terms;
  terms.wanted = options.wanted;
  terms.unreadable = options.unreadable;
  const auto shown = [&visit](const ListedObject& object) {
    return visit(object.manifest->key, InfoOf(*object.manifest));
  };
  const std::function<bool(const ListedObject&)> each = shown;
  co_return co_await ListObjects(terms, each);
}

}  // namespace ers::store
