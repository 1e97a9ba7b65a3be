// RequestTrace: what one request was, and when its steps were under way.
#ifndef ERS_PROXY_TRACING_REQUEST_TRACE_H_
#define ERS_PROXY_TRACING_REQUEST_TRACE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "ers/scheme.h"
#include "metrics/commands.h"
#include "net/runtime.h"
#include "store/support/step_timer.h"

namespace ers::proxy {

// What a request found, or stored.
struct TracedObject {
  Scheme scheme;
  Width width = Width::kNarrow;
  bool is_inline = false;    // the value rides in the manifest
  std::uint64_t length = 0;  // bytes
};

// A plain value. Without the key: it may be about a person, and the collector
// is another system.
struct RequestTrace {
  Command command = Command::kEnd;
  RequestResult result = RequestResult::kOk;
  std::optional<TracedObject> object;
  std::optional<std::uint64_t> value_bytes;  // that came with the request
  net::TimePoint begin;
  net::TimePoint end;
  std::chrono::system_clock::time_point end_time;  // `end`, on the wall's clock
  store::StepPeriods steps;

  // Its own, and one for each period.
  [[nodiscard]] std::size_t spans() const { return 1 + steps.list.size(); }
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_TRACING_REQUEST_TRACE_H_
