// TraceExporter: sends traces to an OpenTelemetry collector, beside the
// requests that they are of: these wait for nothing. A bounded queue is sent in
// batches, one POST at a time; what it has no room for, or the collector does
// not take, is dropped and counted.
#ifndef ERS_PROXY_TRACING_TRACE_EXPORTER_H_
#define ERS_PROXY_TRACING_TRACE_EXPORTER_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "ers/status.h"
#include "tracing/request_trace.h"

namespace ers::proxy {

// Why spans were dropped.
enum class TraceDrop : std::uint8_t {
  kQueueFull,
  kUnreachable,  // no answer came
  kRefused,      // by the collector
};
inline constexpr std::string_view kTraceDrops[] = {"queue_full", "unreachable",
                                                   "refused"};

// Spans. A plain value.
struct TraceCounts {
  std::uint64_t sent = 0;
  std::array<std::uint64_t, std::size(kTraceDrops)> dropped{};
};

// Defaults are for a daemon.
struct ExportPace {
  std::size_t most_queued = 2048;  // traces
  std::size_t most_in_batch = 256;
  // A batch that is not full waits so long.
  std::chrono::milliseconds delay{1000};
  std::chrono::milliseconds timeout{10'000};  // of a POST
  // Until a batch is sent again that the collector had no time for; each time
  // twice as long, and so often.
  std::chrono::milliseconds back_off{1000};
  int most_tries = 4;
  std::chrono::milliseconds most_at_end{2000};  // of Stop
  // That the queue was full is said no more often.
  std::chrono::milliseconds say_every{60'000};
};

// Has a thread and an event loop of its own.
class TraceExporter {
 public:
  // To the collector at `url`, as ParseCollectorUrl takes it. kNoMemory: also
  // where there is no file descriptor.
  static Result<std::unique_ptr<TraceExporter>> Open(
      const std::string& url, const ExportPace& pace = {});
  // Does as Stop.
  ~TraceExporter();
  TraceExporter(const TraceExporter&) = delete;
  TraceExporter& operator=(const TraceExporter&) = delete;

  // Any thread; never waits for the collector.
  void Offer(RequestTrace trace);
  // Any thread.
  [[nodiscard]] TraceCounts counts() const;
  // What is queued is sent, as far as the collector takes it soon; blocks until
  // then. Whatever is offered later is dropped. One thread.
  void Stop();

 private:
  class Loop;
  explicit TraceExporter(std::unique_ptr<Loop> loop);

  const std::unique_ptr<Loop> loop_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_TRACING_TRACE_EXPORTER_H_
