#include "server/request_tracer.h"

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <utility>

#include "metrics/commands.h"
#include "protocol/reply.h"

namespace ers::proxy {
namespace {

void AppendTime(std::string_view name, net::Duration time, std::string& lines) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(time);
  AppendTrace(name, fmt::format("{}us", micros.count()), lines);
}

}  // namespace

void RequestTracer::BeginParse() {
  if (!host_.exported.due()) {
    export_from_.reset();  // another connection was first
  } else if (!export_from_) {
    export_from_ = host_.loop.Now();
  }
  if (--host_.until_sample != 0) return;
  host_.until_sample = kSampleEvery;
  sample_from_ = host_.loop.Now();
}

std::shared_ptr<Trace> RequestTracer::TraceOf(const ClientRequest& request,
                                              net::TimePoint read) {
  const std::optional<net::TimePoint> sampled = std::exchange(sample_from_, {});
  const std::optional<net::TimePoint> exported =
      std::exchange(export_from_, {});
  if (!request.traced && !sampled && !exported) return nullptr;
  const bool line = request.traced && IsTextGet(request);
  std::shared_ptr<Trace> trace;
  // All keys of a get line share one.
  if (line || request.operation == Operation::kEndOfGets) trace = line_;
  if (request.operation == Operation::kEndOfGets) line_.reset();
  const bool known = trace != nullptr;
  if (!known) {
    if (request.operation == Operation::kEndOfGets && !request.traced) {
      host_.until_sample = 1;  // the next one instead
      return nullptr;
    }
    trace = std::make_shared<Trace>(host_.loop, host_.engine);
    if (line) line_ = trace;
  }
  trace->understood = host_.loop.Now();
  if (!known) {
    const net::TimePoint begin = exported.value_or(sampled.value_or(read));
    if (exported) trace->Export(begin);
    trace->steps.Add(store::RequestStep::kParse, begin, trace->understood);
  }
  return trace;
}

void RequestTracer::Export(const RequestPipeline::Slot& slot,
                           net::TimePoint end) {
  RequestTrace& trace = *slot.trace->exported;
  trace.command = CommandOf(slot.request);
  trace.result = ResultOf(trace.command, slot.outcome, slot.created);
  if (slot.request.has_value()) trace.value_bytes = slot.request.value_bytes;
  trace.end = end;
  trace.end_time = std::chrono::system_clock::now();
  host_.exporter->Offer(std::move(trace));
}

std::string RequestTracer::End(const RequestPipeline::Slot& slot) {
  Trace& trace = *slot.trace;
  const net::TimePoint now = host_.loop.Now();
  trace.steps.Add(store::RequestStep::kReply, trace.ended, now);
  host_.steps.Add(trace.steps);
  if (trace.exported) Export(slot, now);
  std::string lines;
  if (!slot.request.traced) return lines;
  for (std::size_t i = 0; i < store::kSteps; ++i) {
    const auto step = static_cast<store::RequestStep>(i);
    if (!trace.steps.seen(step)) continue;
    AppendTime(store::kStepTable[i].name, trace.steps.spent(step), lines);
  }
  AppendTime("total", now - slot.read, lines);
  AppendEndOfTrace(lines);
  return lines;
}

}  // namespace ers::proxy
