#include <algorithm>
#include <string>

#include "store/format/keys.h"
#include "store/membership/batch.h"
#include "store/membership/view_loader.h"
#include "store/objects/get_outcome.h"
#include "store/objects/store.h"
#include "store/replicas/replica_set.h"

namespace ers::store {

namespace {

// For a plain item of the member: as it comes, and as a value. Room for the
// longest one saves a round trip; where there is none, the item says how long
// it is. What was taken.
net::Task<Result<std::uint64_t>> TakeFor(Session& session, int member,
                                         const std::string& name,
                                         Memory& memory) {
  const std::uint64_t longest =
      2 * std::uint64_t{session.link(member).facts().item_size_max};
  if (memory.TryTake(longest)) co_return longest;
  net::Request ask;
  ask.verb = net::Verb::kHead;
  ask.key = name;
  ask.no_bump = true;
  Batch batch(session.runtime());
  batch.Send(SendStep::kReadPlain, session.link(member), ask);
  co_await batch;
  if (ask.outcome != net::Outcome::kOk) co_return 0;
  Status room = co_await memory.Take(2 * ask.item_bytes);
  if (!room.ok()) co_return Fail(std::move(room));
  co_return 2 * ask.item_bytes;
}

}  // namespace

net::Task<Result<PlainItem>> Store::GetPlain(std::string_view key, Value& value,
                                             Memory* memory) {
  session_.manifests().Erase(key);
  Status status = co_await EnsureViewFor(session_, key);
  if (!status.ok()) co_return Fail(std::move(status));
  const std::string name = ManifestKey(key);
  const std::vector<int> walk =
      session_.ring().Walk(key, session_.view()->max_failures + 1);
  for (const int member : walk) {
    std::uint64_t taken = 0;
    if (memory != nullptr) {
      const Result<std::uint64_t> room =
          co_await TakeFor(session_, member, name, *memory);
      if (!room) co_return Fail(room.error());
      taken = *room;
    }
    net::Request read;
    read.verb = net::Verb::kGet;
    read.key = name;
    read.no_bump = true;  // the read that found no object was the access
    Batch batch(session_.runtime());
    batch.Send(SendStep::kReadPlain, session_.link(member), read);
    co_await batch;
    const bool found = read.outcome == net::Outcome::kOk && !IsStub(read) &&
                       !BeginsAsManifest(read.value);
    const std::uint64_t kept =
        found ? std::min<std::uint64_t>(read.value.size(), taken) : 0;
    if (memory != nullptr) memory->Give(taken - kept);
    if (!found) continue;
    if (!value.Resize(read.value.size())) {
      co_return Fail(StatusCode::kNoMemory, "no memory for the value");
    }
    std::copy_n(reinterpret_cast<const std::byte*>(read.value.data()),
                read.value.size(), value.data());
    co_return PlainItem{read.item_flags, read.item_token, read.item_ttl};
  }
  co_return Fail(GetMiss(key));
}

}  // namespace ers::store
