#include "tracing/otlp.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace ers::proxy {
namespace {

using Json = nlohmann::json;

// Enumerators of OTLP, which are numbers in its JSON.
enum SpanKind { kInternal = 1, kServer = 2 };
enum SpanStatus { kError = 2 };

// It is written as text, not built as a tree first, which takes several times
// as long. But for the host's name, all texts are of this program: nothing in
// them needs an escape.
template <typename... Arguments>
void Append(std::string& out, fmt::format_string<Arguments...> form,
            Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(out), form,
                 std::forward<Arguments>(arguments)...);
}

// --- Attributes --------------------------------------------------------------

void AddText(std::string_view key, std::string_view text, std::string& out) {
  Append(out, R"({{"key":"{}","value":{{"stringValue":"{}"}}}},)", key, text);
}

// Numbers of 64 bits are texts.
void AddNumber(std::string_view key, std::uint64_t number, std::string& out) {
  Append(out, R"({{"key":"{}","value":{{"intValue":"{}"}}}},)", key, number);
}

// The comma behind the last one of a list becomes the list's end.
void EndList(std::string& out) {
  if (out.back() == ',') out.pop_back();
  out += ']';
}

bool IsError(RequestResult result) {
  return result == RequestResult::kServerError ||
         result == RequestResult::kOutOfMemory;
}

void AddAttributes(const RequestTrace& trace, std::string& out) {
  out += R"(,"attributes":[)";
  const std::string_view result =
      kResultNames[static_cast<std::size_t>(trace.result)];
  AddText("ersproxy.result", result, out);
  if (IsError(trace.result)) AddText("error.type", result, out);
  if (trace.object) {
    const TracedObject& object = *trace.object;
    AddText("ersproxy.scheme", FormatScheme(object.scheme), out);
    AddText("ersproxy.width", WidthName(object.scheme, object.width), out);
    Append(out, R"({{"key":"ersproxy.inline","value":{{"boolValue":{}}}}},)",
           object.is_inline);
    AddNumber("ersproxy.object_bytes", object.length, out);
  }
  if (trace.value_bytes) {
    AddNumber("ersproxy.value_bytes", *trace.value_bytes, out);
  }
  if (trace.steps.left_out > 0) {
    AddNumber("ersproxy.steps_left_out", trace.steps.left_out, out);
  }
  EndList(out);
}

void AddResource(const TraceSource& source, std::string& out) {
  // A host may be called anything.
  const std::string quoted =
      Json(source.host).dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string_view host =
      std::string_view(quoted).substr(1, quoted.size() - 2);
  out += R"("resource":{"attributes":[)";
  AddText("service.name", "ersproxy", out);
  AddText("service.version", source.version, out);
  AddText("service.instance.id", fmt::format("{}:{}", host, source.process),
          out);
  AddText("host.name", host, out);
  AddNumber("process.pid", static_cast<std::uint64_t>(source.process), out);
  EndList(out);
  out += '}';
}

// --- Spans -------------------------------------------------------------------

// Nanoseconds since 1970.
std::int64_t UnixTime(const RequestTrace& trace, net::TimePoint at) {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  const auto end =
      duration_cast<nanoseconds>(trace.end_time.time_since_epoch());
  return (end - duration_cast<nanoseconds>(trace.end - at)).count();
}

struct TraceId {
  std::uint64_t high;
  std::uint64_t low;
};

// All of a span but its end, behind which more may stand.
void BeginSpan(const TraceId& id, std::uint64_t span, std::string_view name,
               SpanKind kind, std::int64_t begin, std::int64_t end,
               std::string& out) {
  Append(out,
         R"({{"traceId":"{:016x}{:016x}","spanId":"{:016x}","name":"{}",)"
         R"("kind":{},"startTimeUnixNano":"{}","endTimeUnixNano":"{}")",
         id.high, id.low, span, name, static_cast<int>(kind), begin, end);
}

void AddSpans(const RequestTrace& trace,
              const std::function<std::uint64_t()>& random, std::string& out) {
  const std::uint64_t high = random();
  const TraceId id{high, random()};
  const std::uint64_t root = random();
  BeginSpan(id, root, kCommandNames[static_cast<std::size_t>(trace.command)],
            kServer, UnixTime(trace, trace.begin), UnixTime(trace, trace.end),
            out);
  AddAttributes(trace, out);
  if (IsError(trace.result)) {
    Append(out, R"(,"status":{{"code":{}}})", static_cast<int>(kError));
  }
  out += "},";
  for (const store::StepPeriods::Period& period : trace.steps.list) {
    BeginSpan(id, random(),
              store::kStepTable[static_cast<std::size_t>(period.step)].name,
              kInternal, UnixTime(trace, period.begin),
              UnixTime(trace, period.end), out);
    Append(out, R"(,"parentSpanId":"{:016x}"}},)", root);
  }
}

}  // namespace

std::string EncodeTraces(const TraceSource& source,
                         std::span<const RequestTrace> traces,
                         const std::function<std::uint64_t()>& random) {
  std::string out = R"({"resourceSpans":[{)";
  AddResource(source, out);
  Append(out,
         R"(,"scopeSpans":[{{"scope":{{"name":"ersproxy","version":"{}"}},)"
         R"("spans":[)",
         source.version);
  for (const RequestTrace& trace : traces) AddSpans(trace, random, out);
  EndList(out);
  out += "}]}]}";
  return out;
}

// {"partialSuccess": {"rejectedSpans": "5"}}; a number is taken, too.
std::uint64_t RejectedSpans(std::string_view answer) {
  const Json root = Json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || !root.contains("partialSuccess")) return 0;
  const Json& partial = root["partialSuccess"];
  if (!partial.is_object() || !partial.contains("rejectedSpans")) return 0;
  const Json& rejected = partial["rejectedSpans"];
  if (rejected.is_number_unsigned()) return rejected.get<std::uint64_t>();
  if (!rejected.is_string()) return 0;
  const auto& text = rejected.get_ref<const std::string&>();
  std::uint64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, count);
  return parsed.ec == std::errc() && parsed.ptr == end ? count : 0;
}

}  // namespace ers::proxy
