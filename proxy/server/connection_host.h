// ConnectionHost: what the connections of one worker have in common.
#ifndef ERS_PROXY_SERVER_CONNECTION_HOST_H_
#define ERS_PROXY_SERVER_CONNECTION_HOST_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "metrics/counters.h"
#include "metrics/request_meter.h"
#include "net/event_loop.h"
#include "protocol/parsed.h"
#include "server/client_stream.h"
#include "server/memory.h"
#include "server/request_sampler.h"
#include "server/trace.h"
#include "tracing/trace_exporter.h"

namespace ers::proxy {

// Loop thread only.
struct ConnectionHost {
  net::EventLoop& loop;
  Engine& engine;
  Counters& counters;
  RequestMeter& requests;
  StepMeter& steps;
  Limits limits;
  MemoryBudget& memory;
  // Answers `stats` with these words behind it: calls for each name and value;
  // returns what stands in place of END, or ""; nothing: no such stats.
  std::function<std::optional<std::string>(
      const std::string& argument,
      const std::function<void(std::string_view, std::string_view)>& stat)>
      stats;
  std::atomic<std::uint32_t>& verbosity;
  TraceExporter* exporter;  // null: there is no collector
  RequestSampler exported;  // which requests it gets
  // Gives a client, and what it has sent of a request, to another process.
  // Empty: there is none.
  std::function<void(int socket, std::string_view unread)> hand_over = {};
  int until_sample = kSampleEvery;
  ReadBuffers read_buffers = {};
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_CONNECTION_HOST_H_
