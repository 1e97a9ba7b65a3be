#include "admin/admin.h"

#include <event2/event.h>
#include <fmt/format.h>
#include <sys/eventfd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "admin/api.h"
#include "admin/events.h"
#include "admin/gate.h"
#include "admin/http.h"
#include "admin/http_server.h"
#include "admin/page.h"
#include "metrics/event_log.h"
#include "metrics/process_usage.h"
#include "metrics/recent_requests.h"
#include "server/descriptors.h"

namespace ers::proxy {
namespace {

constexpr std::string_view kApi = "/v1/";
constexpr std::string_view kTransitioning = "/v1/transitioning";
constexpr timeval kSamplePeriod = {1, 0};

HttpReply Page(const char* type, std::string body) {
  HttpReply reply;
  reply.type = type;
  reply.body = std::move(body);
  return reply;
}

// Does the daemon live?
HttpReply Healthy(const Facts& now) {
  HttpReply reply = Page("text/plain", now.stopping ? "stopping\n" : "ok\n");
  if (now.stopping) reply.code = kUnavailable;
  return reply;
}

// Would a client be served? Why not is only for requests that may ask anything.
HttpReply Ready(const Facts& now, bool trusted) {
  if (now.serving.serves() && !now.stopping) return Page("text/plain", "ok\n");
  std::string why = "not serving";
  if (now.stopping) {
    why = "stopping";
  } else if (!now.serving.known) {
    why = "starting: the servers are being probed";
  } else if (trusted) {
    why += fmt::format(": {}", now.serving.status.message());
  }
  HttpReply reply = Page("text/plain", why + "\n");
  reply.code = kUnavailable;
  return reply;
}

}  // namespace

struct Admin::Loop {
  Sources sources;
  RecentRequests recent;
  Jobs* jobs = nullptr;
  Tunnels* tunnels = nullptr;
  Gate gate;
  Socket stop{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Socket listener;
  // Those below are gone before their base.
  EventOwned<event_base, event_base_free> base{event_base_new()};
  EventOwned<event, event_free> stop_event;
  EventOwned<event, event_free> sample_event;
  std::unique_ptr<HttpServer> server;
  std::thread thread;

  [[nodiscard]] HttpReply Show(const HttpRequest& request) const;
  void Sample();
  bool Prepare();
};

// What can only be read.
HttpReply Admin::Loop::Show(const HttpRequest& request) const {
  const bool known = request.path == "/healthz" || request.path == "/readyz" ||
                     request.path == "/status" || request.path == "/metrics" ||
                     request.path == kTransitioning ||
                     request.path == "/events" || request.path == "/";
  if (!known) {
    return HttpError(404,
                     "nothing is here: there are /, /healthz, /readyz, "
                     "/status, /events, /metrics and /v1/");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    HttpReply reply = HttpError(405, "only GET and HEAD");
    reply.allow = "GET, HEAD";
    return reply;
  }
  if (request.path == "/") return OverviewPage();
  if (request.path == "/events") {
    return Page("application/json", EventsText(EventLog::OfProcess().Last()));
  }
  Facts now = sources.facts();
  if (request.path == "/status") {
    now.lately = recent.Lately();
    now.history = recent.History();
    return Page("application/json", StatusText(now));
  }
  if (request.path == kTransitioning) {
    return Page("application/json", TransitioningText(now));
  }
  if (request.path == "/metrics") {
    now.process = ReadProcessUsage();
    now.max_descriptors = static_cast<std::uint64_t>(AllowedDescriptors());
    return Page("text/plain; version=0.0.4; charset=utf-8", MetricsText(now));
  }
  return request.path == "/readyz" ? Ready(now, gate.Knows(request))
                                   : Healthy(now);
}

void Admin::Loop::Sample() {
  recent.Take(sources.requests(), std::chrono::steady_clock::now());
}

bool Admin::Loop::Prepare() {
  if (!base || stop.get() < 0) return false;
  stop_event.reset(event_new(
      base.get(), stop.get(), EV_READ,
      [](evutil_socket_t, short, void* loop) {
        event_base_loopbreak(static_cast<event_base*>(loop));
      },
      base.get()));
  if (!stop_event || event_add(stop_event.get(), nullptr) != 0) return false;
  recent.Take({}, std::chrono::steady_clock::now());  // none came yet
  sample_event.reset(event_new(
      base.get(), -1, EV_PERSIST,
      [](evutil_socket_t, short, void* loop) {
        static_cast<Loop*>(loop)->Sample();
      },
      this));
  if (!sample_event || event_add(sample_event.get(), &kSamplePeriod) != 0) {
    return false;
  }
  server = HttpServer::Open(
      base.get(), listener.get(),
      [this](const HttpRequest& request, HttpServer::Answer answer) {
        std::optional<HttpReply> refused = gate.Refuse(request);
        if (refused) return answer(std::move(*refused));
        if (request.method == "CONNECT") {
          return tunnels->Ask(request.path, std::move(answer));
        }
        const bool shown = request.path == kTransitioning;
        if (request.path.starts_with(kApi) && !shown) {
          return ServeApi(*jobs, *tunnels, request, std::move(answer));
        }
        answer(Show(request));
      });
  return server != nullptr;
}

Admin::Admin(std::string name, std::unique_ptr<Loop> loop)
    : name_(std::move(name)), loop_(std::move(loop)) {}

Result<std::unique_ptr<Admin>> Admin::Open(Listener listener, std::string token,
                                           Sources sources, Jobs& jobs,
                                           Tunnels& tunnels) {
  auto loop = std::make_unique<Loop>();
  loop->sources = std::move(sources);
  loop->jobs = &jobs;
  loop->tunnels = &tunnels;
  loop->gate.SetToken(std::move(token));
  loop->listener = std::move(listener.sockets.front());
  if (!loop->Prepare()) {
    return Fail(StatusCode::kNoMemory, "admin: no event loop can be made");
  }
  Loop& running = *loop;
  running.thread =
      std::thread([&running] { event_base_dispatch(running.base.get()); });
  return std::unique_ptr<Admin>(
      new Admin(std::move(listener.name), std::move(loop)));
}

void Admin::SetToken(std::string token) {
  loop_->gate.SetToken(std::move(token));
}

Admin::~Admin() {
  // An eventfd takes one always.
  (void)!eventfd_write(loop_->stop.get(), 1);
  loop_->thread.join();
}

}  // namespace ers::proxy
