#include "sim/objects/quick_calls.h"

#include <coroutine>
#include <cstring>
#include <memory>
#include <utility>

#include "store/format/manifest.h"
#include "store/objects/quick_get.h"
#include "store/objects/quick_put.h"

namespace ers::sim {
namespace {

// Resumed inside the call, at whose end what was begun may be gone.
struct Ended {
  std::coroutine_handle<> waiter;
  bool ended = false;

  static void Call(void* context) {
    auto& self = *static_cast<Ended*>(context);
    self.ended = true;
    if (self.waiter) self.waiter.resume();
  }
  [[nodiscard]] bool await_ready() const { return ended; }
  void await_suspend(std::coroutine_handle<> handle) { waiter = handle; }
  void await_resume() const {}
};

}  // namespace

net::Task<Result<GetInfo>> QuickRead(store::Store& store,
                                     const std::string& key, Value& value,
                                     int* hits) {
  Ended ended;
  std::unique_ptr<store::QuickGet> begun =
      store.BeginGet(key, &Ended::Call, &ended);
  store::ReadTerms terms;
  if (begun) {
    co_await ended;
    const store::Manifest* const hit = begun->Hit();
    if (hit != nullptr && value.Resize(hit->value.size())) {
      if (hits != nullptr) ++*hits;
      if (value.size() > 0) {
        std::memcpy(value.data(), hit->value.data(), value.size());
      }
      GetInfo info;
      static_cast<ObjectInfo&>(info) = store::InfoOf(*hit);
      co_return info;
    }
    terms.begun = begun.get();
  }
  co_return co_await store.GetUpTo(key, kMaxValueBytes, value, terms);
}

net::Task<Result<ObjectInfo>> QuickWrite(store::Store& store,
                                         std::string_view key,
                                         std::span<const std::byte> bytes,
                                         const PutOptions& options, int* ends) {
  Ended ended;
  const std::string_view value(reinterpret_cast<const char*>(bytes.data()),
                               bytes.size());
  std::unique_ptr<store::QuickPut> begun =
      store.BeginPut(key, value, options, {}, &Ended::Call, &ended);
  if (!begun) co_return co_await store.Put(key, bytes, options);
  co_await ended;
  const store::Manifest* const committed = begun->Committed();
  if (committed == nullptr) co_return co_await begun->Finish();
  if (ends != nullptr) ++*ends;
  co_return store::InfoOf(*committed);
}

}  // namespace ers::sim
