// Trace: what one request, or one get line, spends its time on.
#ifndef ERS_PROXY_SERVER_TRACE_H_
#define ERS_PROXY_SERVER_TRACE_H_

#include <array>
#include <cstddef>
#include <memory>

#include "engine/engine.h"
#include "metrics/histogram.h"
#include "net/runtime.h"
#include "store/objects/store.h"
#include "store/support/step_timer.h"
#include "tracing/request_trace.h"

namespace ers::proxy {

// Of so many of a worker's reads of its clients' bytes one is followed by a
// trace: of about every hundredth request.
inline constexpr int kSampleEvery = 128;

// Its engine does what the worker's does, and takes the time of the steps.
// Loop thread only; does not move.
struct Trace {
  Trace(net::Runtime& runtime, const Engine& untraced)
      : steps(runtime),
        store(untraced.store(), steps),
        engine(untraced, store) {}
  // The collector gets it, as a request that began then.
  void Export(net::TimePoint begin) {
    exported = std::make_unique<RequestTrace>();
    exported->begin = begin;
    steps.NotePeriods(&exported->steps);
    engine.SetTracedObject(&exported->object);
  }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  store::StepTimer steps;
  store::Store store;
  Engine engine;
  net::TimePoint understood;
  net::TimePoint ended;                    // the answer is ready
  std::unique_ptr<RequestTrace> exported;  // null: none gets it
};

// How long the steps of those requests took that were traced. One writer, its
// worker; any thread may read.
class StepMeter {
 public:
  void Add(const store::StepTimer& timer) {
    for (std::size_t i = 0; i < store::kSteps; ++i) {
      const auto step = static_cast<store::RequestStep>(i);
      if (timer.seen(step)) durations_[i].Add(timer.spent(step));
    }
  }
  void AddTo(std::array<HistogramSum, store::kSteps>& sums) const {
    for (std::size_t i = 0; i < store::kSteps; ++i) {
      durations_[i].AddTo(sums[i]);
    }
  }

 private:
  std::array<Histogram, store::kSteps> durations_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_TRACE_H_
