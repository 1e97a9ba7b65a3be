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

// A PUT has the same form twice, and no variant.
using Key = std::tuple<Scheme, Unit, Width, int, Width, int, TransitionVariant>;

Key KeyOf(const Geometry& geometry, const FormChange& change,
          TransitionVariant variant) {
  return {geometry.scheme(),
          geometry.unit(),
          change.from.width,
          change.from.m,
          change.to.width,
          change.to.m,
          variant};
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
  const Form form{width, geometry.scheme().m};
  return Cached(KeyOf(geometry, {form, form}, {}),
                [&] { return PlanPut(geometry, width, {}); });
}

// With nothing missing there is always a plan.
std::shared_ptr<const Plan> CachedTransitionPlan(const Geometry& geometry,
                                                 const FormChange& change,
                                                 TransitionVariant variant) {
  return Cached(KeyOf(geometry, change, variant),
                [&] { return *PlanTransition(geometry, change, variant, {}); });
}

}  // namespace ers::plan
