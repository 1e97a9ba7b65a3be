// RequestTracer: which requests of one connection are traced: those that `ers
// trace` asks for, a sample for /metrics, and a share for the collector.
#ifndef ERS_PROXY_SERVER_REQUEST_TRACER_H_
#define ERS_PROXY_SERVER_REQUEST_TRACER_H_

#include <memory>
#include <optional>
#include <string>

#include "net/runtime.h"
#include "protocol/request.h"
#include "server/connection_host.h"
#include "server/request_pipeline.h"
#include "server/trace.h"

namespace ers::proxy {

// Loop thread only.
class RequestTracer {
 public:
  explicit RequestTracer(ConnectionHost& host) : host_(host) {}

  // The reader begins with what may be a request, and with bytes that came so
  // late.
  void BeginParse();
  void BytesCame(net::TimePoint at) {
    if (sample_from_) sample_from_ = at;
    if (export_from_) export_from_ = at;
  }
  // It was a request, whose turn it is now.
  void Came(const ClientRequest& request) {
    const bool counts =
        !request.traced && request.operation != Operation::kEndOfGets;
    if (counts) {
      host_.exported.Count();
    } else {
      export_from_.reset();
    }
  }
  // False: TraceOf has nothing to do.
  [[nodiscard]] bool MayTrace(const ClientRequest& request) const {
    return request.traced || sample_from_ || export_from_ || line_;
  }
  // Null for all but a few. `read`: when the last bytes were.
  std::shared_ptr<Trace> TraceOf(const ClientRequest& request,
                                 net::TimePoint read);
  // The get line that is read is none.
  void DropLine() { line_.reset(); }

  // The trace of a slot ends with its answer, but for a line's keys.
  [[nodiscard]] static bool EndsWith(const RequestPipeline::Slot& slot) {
    return slot.trace && !(slot.request.traced && IsTextGet(slot.request));
  }
  // That answer was written. What the client is to be sent of the trace.
  std::string End(const RequestPipeline::Slot& slot);

 private:
  void Export(const RequestPipeline::Slot& slot, net::TimePoint end);

  ConnectionHost& host_;
  // Set while the request that comes next is to be traced.
  std::optional<net::TimePoint> sample_from_;
  std::optional<net::TimePoint> export_from_;  // for the collector
  std::shared_ptr<Trace> line_;                // of the get line that is read
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_REQUEST_TRACER_H_
