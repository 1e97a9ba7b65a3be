// What a connection's requests spend their time on: of those that `ers trace`
// asks for, and of a sample.
#include <fmt/format.h>

#include <utility>

#include "server/connection.h"

namespace ers::proxy {
namespace {

void AppendTime(std::string_view name, net::Duration time, std::string& lines) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(time);
  AppendTrace(name, fmt::format("{}us", micros.count()), lines);
}

}  // namespace

// Null for all but a few.
std::shared_ptr<Trace> Connection::TraceOf(const Request& request) {
  const std::optional<net::TimePoint> sampled = std::exchange(sample_from_, {});
  if (!request.traced && !sampled) return nullptr;
  const bool line = request.traced && IsTextGet(request);
  std::shared_ptr<Trace> trace;
  // All keys of a get line share one.
  if (line || request.verb == Verb::kEndOfGets) trace = gets_trace_;
  if (request.verb == Verb::kEndOfGets) gets_trace_.reset();
  const bool known = trace != nullptr;
  if (!known) {
    if (request.verb == Verb::kEndOfGets && !request.traced) {
      host_.until_sample = 1;  // the next one instead
      return nullptr;
    }
    trace = std::make_shared<Trace>(host_.loop, host_.engine);
    if (line) gets_trace_ = trace;
  }
  trace->understood = host_.loop.Now();
  if (!known) {
    trace->steps.Add(store::Step::kParse,
                     trace->understood - sampled.value_or(input_read_));
  }
  return trace;
}

// The slot's answer is in the output.
void Connection::EndTrace(const Slot& slot) {
  if (slot.request.traced && IsTextGet(slot.request)) return;
  Trace& trace = *slot.trace;
  Flush();
  const net::TimePoint now = host_.loop.Now();
  trace.steps.Add(store::Step::kReply, now - trace.ended);
  host_.steps.Add(trace.steps);
  if (!slot.request.traced) return;
  std::string lines;
  for (std::size_t i = 0; i < store::kSteps; ++i) {
    const auto step = static_cast<store::Step>(i);
    if (!trace.steps.seen(step)) continue;
    AppendTime(store::kStepTable[i].name, trace.steps.spent(step), lines);
  }
  AppendTime("total", now - slot.read, lines);
  AppendEndOfTrace(lines);
  output_.Add(lines);
}

}  // namespace ers::proxy
