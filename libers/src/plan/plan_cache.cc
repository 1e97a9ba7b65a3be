#include "plan/plan_cache.h"

#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "base/mutex.h"
#include "layout/geometry.h"

namespace ers::plan {
namespace {

// More schemes and operations than one process uses, and yet an end.
constexpr std::size_t kMaxCached = 128;

enum class Operation { kPut, kForward, kBackward };

// The last number is the width of a PUT, the variant of a transition.
using Key = std::tuple<Scheme, Unit, Operation, int>;

Key KeyOf(const Geometry& geometry, Operation operation, int number) {
  return {geometry.scheme(), geometry.unit(), operation, number};
}

std::shared_ptr<const Plan> Cached(const Key& key,
                                   const std::function<Plan()>& make) {
  static Mutex mutex;
  static std::map<Key, std::shared_ptr<const Plan>> cache;
  {
    const MutexLock lock(mutex);
    const auto found = cache.find(key);
    if (found != cache.end()) return found->second;
  }
  auto plan = std::make_shared<const Plan>(make());
  const MutexLock lock(mutex);
  if (cache.size() >= kMaxCached) cache.clear();
  return cache.try_emplace(key, std::move(plan)).first->second;
}

}  // namespace

std::shared_ptr<const Plan> CachedPutPlan(const Geometry& geometry,
                                          Width width) {
  const Key key = KeyOf(geometry, Operation::kPut, static_cast<int>(width));
  return Cached(key, [&] { return PlanPut(geometry, width, {}); });
}

// With nothing missing there is always a plan.
std::shared_ptr<const Plan> CachedForwardPlan(const Geometry& geometry,
                                              TransitionVariant variant) {
  const Key key =
      KeyOf(geometry, Operation::kForward, static_cast<int>(variant));
  return Cached(key, [&] { return *PlanForward(geometry, variant, {}); });
}

std::shared_ptr<const Plan> CachedBackwardPlan(const Geometry& geometry,
                                               TransitionVariant variant) {
  const Key key =
      KeyOf(geometry, Operation::kBackward, static_cast<int>(variant));
  return Cached(key, [&] { return *PlanBackward(geometry, variant, {}); });
}

}  // namespace ers::plan
