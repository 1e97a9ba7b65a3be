#include "sim/objects/quick_read.h"

#include <coroutine>
#include <cstring>
#include <memory>
#include <utility>

#include "store/format/manifest.h"
#include "store/objects/quick_get.h"

namespace ers::sim {
namespace {

// Resumed inside the call, at whose end the QuickGet may be gone.
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

}  // namespace ers::sim
