#include "ctl/support/admin_client.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "ctl/support/proxy_address.h"
#include "shared/event_owned.h"

namespace ers::ctl {
namespace {

// More than the list of every job takes.
constexpr ev_ssize_t kMaxBody = 64 << 20;

struct Answer {
  int code = 0;  // 0: none came
  std::string body;
  std::optional<evhttp_request_error> error;
};

void TakeAnswer(evhttp_request* request, void* context) {
  auto& answer = *static_cast<Answer*>(context);
  if (request == nullptr) return;
  answer.code = evhttp_request_get_response_code(request);
  evbuffer* body = evhttp_request_get_input_buffer(request);
  answer.body.resize(evbuffer_get_length(body));
  evbuffer_remove(body, answer.body.data(), answer.body.size());
}

evhttp_cmd_type CommandOf(Method method) {
  switch (method) {
    case Method::kPost:
      return EVHTTP_REQ_POST;
    case Method::kDelete:
      return EVHTTP_REQ_DELETE;
    default:
      return EVHTTP_REQ_GET;
  }
}

Result<Answer> Exchange(const GlobalOptions& global, Method method,
                        const std::string& path, const std::string& body) {
  const Result<proxy::Address> where = ParseProxy(global.proxy);
  if (!where) return Fail(where.error());
  std::string authorization;
  if (!global.token_file.empty()) {
    const Result<std::string> token = ReadTokenFile(global.token_file);
    if (!token) return Fail(token.error());
    authorization = "Bearer " + *token;
  }
  const std::string host = where->host.empty() ? "localhost" : where->host;
  int port = 0;
  std::from_chars(where->port.data(), where->port.data() + where->port.size(),
                  port);
  // What it would print on standard error is reported below.
  event_set_log_callback([](int, const char*) {});
  const proxy::EventOwned<event_base, event_base_free> base(event_base_new());
  const proxy::EventOwned<evhttp_connection, evhttp_connection_free> link(
      base ? evhttp_connection_base_new(base.get(), nullptr, host.c_str(),
                                        static_cast<ev_uint16_t>(port))
           : nullptr);
  Answer answer;
  evhttp_request* request =
      link ? evhttp_request_new(TakeAnswer, &answer) : nullptr;
  if (request == nullptr) {
    return Fail(StatusCode::kNoMemory, "this process has no memory left");
  }
  double seconds = 0;
  const double part = std::modf(global.timeout_seconds, &seconds);
  timeval timeout = {};
  timeout.tv_sec = static_cast<time_t>(seconds);
  timeout.tv_usec = static_cast<suseconds_t>(part * 1e6);
  evhttp_connection_set_timeout_tv(link.get(), &timeout);
  evhttp_connection_set_max_body_size(link.get(), kMaxBody);
  evhttp_request_set_error_cb(request,
                              [](evhttp_request_error error, void* context) {
                                static_cast<Answer*>(context)->error = error;
                              });
  evkeyvalq* headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Host", global.proxy.c_str());
  evhttp_add_header(headers, "Connection", "close");
  const std::string agent = "ersctl/" + std::string(Version());
  evhttp_add_header(headers, "User-Agent", agent.c_str());
  if (!authorization.empty()) {
    evhttp_add_header(headers, "Authorization", authorization.c_str());
  }
  if (method == Method::kPost) {
    evhttp_add_header(headers, "Content-Type", "application/json");
    evbuffer_add(evhttp_request_get_output_buffer(request), body.data(),
                 body.size());
  }
  // From here on the request is the connection's.
  if (evhttp_make_request(link.get(), request, CommandOf(method),
                          path.c_str()) == 0) {
    event_base_dispatch(base.get());
  }
  return answer;
}

// Why there is no answer.
Status NoAnswer(const GlobalOptions& global, Method method,
                const Answer& answer) {
  if (answer.error == EVREQ_HTTP_TIMEOUT && method != Method::kGet) {
    return {StatusCode::kOutcomeUnknown,
            fmt::format("{}: no answer within {} s: what was asked for may go "
                        "on there: see its log (--timeout waits longer)",
                        global.proxy, global.timeout_seconds)};
  }
  if (answer.error == EVREQ_HTTP_TIMEOUT) {
    return {StatusCode::kUnavailable,
            fmt::format("{}: no answer within {} s: is it the admin address "
                        "of an ersproxy? (--timeout gives it longer)",
                        global.proxy, global.timeout_seconds)};
  }
  if (answer.error == EVREQ_HTTP_INVALID_HEADER) {
    return {StatusCode::kIncompatible,
            fmt::format("{} does not speak HTTP: a client port or a memcached? "
                        "--proxy takes the admin address (--admin of "
                        "ersproxy)",
                        global.proxy)};
  }
  // The HTTP library does not report why it could not connect.
  const Status reached = TryProxy(global.proxy, global.timeout_seconds);
  if (!reached.ok()) return reached;
  // So do memcached and a client port when they see HTTP.
  return {StatusCode::kUnavailable,
          fmt::format("{} closed the connection without an answer: is it the "
                      "admin address (--admin) of an ersproxy, and no client "
                      "port? If it is, see its log",
                      global.proxy)};
}

std::optional<StatusCode> CodeNamed(const Json& name) {
  if (!name.is_string()) return std::nullopt;
  for (int number = 1; number <= static_cast<int>(StatusCode::kIncompatible);
       ++number) {
    const auto code = static_cast<StatusCode>(number);
    if (name == StatusCodeName(code)) return code;
  }
  return std::nullopt;
}

// By its name, where the proxy gives it. Whatever a job does not allow is bad
// usage.
StatusCode CodeOf(std::string_view path, int http, const Json& error) {
  const auto named = CodeNamed(error.value("code", Json()));
  if (named && !path.starts_with("/v1/jobs")) return *named;
  if (http == HTTP_NOTFOUND) return StatusCode::kNotFound;
  constexpr int kTooManyRequests = 429;
  if (http == kTooManyRequests || http >= HTTP_INTERNAL) {
    return StatusCode::kUnavailable;
  }
  return StatusCode::kInvalidArgument;
}

}  // namespace

Result<Json> AskAdmin(const GlobalOptions& global, Method method,
                      const std::string& path, const std::string& body) {
  if (global.proxy.empty()) {
    return Fail(StatusCode::kInvalidArgument,
                "no proxy: give --proxy and the admin address of an ersproxy");
  }
  const Result<Answer> answer = Exchange(global, method, path, body);
  if (!answer) return Fail(answer.error());
  if (answer->code == 0) return Fail(NoAnswer(global, method, *answer));
  Json json = Json::parse(answer->body, nullptr, /*allow_exceptions=*/false);
  const bool fine = answer->code >= HTTP_OK && answer->code < 300;
  if (fine && json.is_object()) return json;
  if (!fine && json.is_object() && json.contains("error") &&
      json["error"].is_string()) {
    return Fail(CodeOf(path, answer->code, json),
                json["error"].get<std::string>());
  }
  return Fail(StatusCode::kIncompatible,
              fmt::format("{} answers {} with HTTP status {}, and not as the "
                          "admin port of an ersproxy that knows jobs",
                          global.proxy, path, answer->code));
}

}  // namespace ers::ctl
