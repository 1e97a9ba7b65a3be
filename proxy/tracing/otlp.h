// OTLP: traces as the body of a POST to an OpenTelemetry collector, and what
// its answer says. JSON encoding:
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
#ifndef ERS_PROXY_TRACING_OTLP_H_
#define ERS_PROXY_TRACING_OTLP_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tracing/request_trace.h"

namespace ers::proxy {

// The process that the traces are of.
struct TraceSource {
  std::string version;
  std::string host;
  std::int64_t process = 0;
};

// An ExportTraceServiceRequest. `random` gives 64 bits, of which ids are made.
std::string EncodeTraces(const TraceSource& source,
                         std::span<const RequestTrace> traces,
                         const std::function<std::uint64_t()>& random);

// Spans that a collector which took the request has not taken all the same, by
// the body of its answer. 0, also where that says nothing of the kind.
std::uint64_t RejectedSpans(std::string_view answer);

}  // namespace ers::proxy

#endif  // ERS_PROXY_TRACING_OTLP_H_
