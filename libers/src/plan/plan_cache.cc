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

// A PUT has the same width twice, and no variant.
using Key = std::tuple<Scheme, Unit, Width, Width, TransitionVariant>;

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
  const Key key{geometry.scheme(), geometry.unit(), width, width, {}};
  return Cached(key, [&] { return PlanPut(geometry, width, {}); });
}

// With nothing missing there is always a plan.
std::shared_ptr<const Plan> CachedTransitionPlan(const Geometry& geometry,
                                                 WidthChange change,
                                                 TransitionVariant variant) {
  const Key key{geometry.scheme(), geometry.unit(), change.from, change.to,
                variant};
  return Cached(key,
                [&] { return *PlanTransition(geometry, change, variant, {}); });
}

}  // namespace ers::plan
