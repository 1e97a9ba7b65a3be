#include <algorithm>
#include <string>

#include "store/format/keys.h"
#include "store/membership/batch.h"
#include "store/membership/view_loader.h"
#include "store/objects/get_outcome.h"
#include "store/objects/store.h"
#include "store/replicas/replica_set.h"

namespace ers::store {

net::Task<Result<PlainItem>> Store::GetPlain(std::string_view key,
                                             Value& value) {
  session_.manifests().Erase(key);
  Status status = co_await EnsureViewFor(session_, key);
  if (!status.ok()) co_return Fail(std::move(status));
  const std::string name = ManifestKey(key);
  const std::vector<int> walk =
      session_.ring().Walk(key, session_.view()->max_failures + 1);
  for (const int member : walk) {
    net::Request read;
    read.verb = net::Verb::kGet;
    read.key = name;
    read.no_bump = true;  // the read that found no object was the access
    Batch batch(session_.runtime());
    batch.Send(SendStep::kReadPlain, session_.link(member), read);
    co_await batch;
    if (read.outcome != net::Outcome::kOk || IsStub(read)) continue;
    if (BeginsAsManifest(read.value)) continue;
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
