#include "admin/admin.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "admin/api.h"
#include "config/address.h"
#include "server/listener.h"

namespace ers::proxy {
namespace {

constexpr int kTimeoutS = 10;
constexpr ev_ssize_t kMaxHeaders = 8 << 10;
constexpr ev_ssize_t kMaxBody = kMaxApiBody;
constexpr std::string_view kApi = "/v1/";

std::string_view MethodOf(evhttp_request* request) {
  switch (evhttp_request_get_command(request)) {
    case EVHTTP_REQ_GET:
      return "GET";
    case EVHTTP_REQ_HEAD:
      return "HEAD";
    case EVHTTP_REQ_POST:
      return "POST";
    case EVHTTP_REQ_DELETE:
      return "DELETE";
    default:
      return "";
  }
}

std::string_view HeaderOf(evhttp_request* request, const char* name) {
  const char* value =
      evhttp_find_header(evhttp_request_get_input_headers(request), name);
  return value == nullptr ? std::string_view() : value;
}

std::string BodyOf(evhttp_request* request) {
  evbuffer* buffer = evhttp_request_get_input_buffer(request);
  std::string body(evbuffer_get_length(buffer), '\0');
  evbuffer_copyout(buffer, body.data(), body.size());
  return body;
}

// Answers that other threads have for requests that wait on the admin's.
struct Answers {
  Socket ready{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex;
  // Guarded by mutex.
  std::vector<std::pair<evhttp_request*, ApiReply>> list;

  void Add(evhttp_request* request, ApiReply reply) {
    {
      const std::lock_guard lock(mutex);
      list.emplace_back(request, std::move(reply));
    }
    // An eventfd takes one always.
    (void)!eventfd_write(ready.get(), 1);
  }
  std::vector<std::pair<evhttp_request*, ApiReply>> Take() {
    eventfd_t count = 0;
    (void)!eventfd_read(ready.get(), &count);
    const std::lock_guard lock(mutex);
    return std::exchange(list, {});
  }
};

template <typename T, void (*free_it)(T*)>
struct Free {
  void operator()(T* pointer) const { free_it(pointer); }
};
template <typename T, void (*free_it)(T*)>
using Owned = std::unique_ptr<T, Free<T, free_it>>;

}  // namespace

struct Admin::Loop {
  std::function<Facts()> facts;
  Jobs* jobs = nullptr;
  const std::shared_ptr<Answers> answers = std::make_shared<Answers>();
  Socket stop{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  // Those below are gone before their base.
  Owned<event_base, event_base_free> base{event_base_new()};
  Owned<event, event_free> stop_event;
  Owned<event, event_free> answers_event;
  Owned<evhttp, evhttp_free> http;
  std::thread thread;

  void Reply(evhttp_request* request, int code, const char* type,
             const std::string& body) const {
    evkeyvalq* headers = evhttp_request_get_output_headers(request);
    evhttp_add_header(headers, "Content-Type", type);
    evhttp_add_header(headers, "Cache-Control", "no-store");
    const Owned<evbuffer, evbuffer_free> buffer(evbuffer_new());
    evbuffer_add(buffer.get(), body.data(), body.size());
    evhttp_send_reply(request, code, nullptr, buffer.get());
  }

  // What can only be read.
  template <typename Make>
  void Show(evhttp_request* request, Make make) const {
    const std::string_view method = MethodOf(request);
    if (method != "GET" && method != "HEAD") {
      evhttp_add_header(evhttp_request_get_output_headers(request), "Allow",
                        "GET, HEAD");
      Reply(request, HTTP_BADMETHOD, "text/plain", "only GET and HEAD\n");
      return;
    }
    make();
  }
  void OnApi(evhttp_request* request) const;
  void ReplyApi(evhttp_request* request, const ApiReply& reply) const;
  bool Prepare(int socket);
};

void Admin::Loop::ReplyApi(evhttp_request* request,
                           const ApiReply& reply) const {
  if (!reply.allow.empty()) {
    evhttp_add_header(evhttp_request_get_output_headers(request), "Allow",
                      reply.allow.c_str());
  }
  Reply(request, reply.code, "application/json", reply.body);
}

void Admin::Loop::OnApi(evhttp_request* request) const {
  const char* path =
      evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
  if (path == nullptr || !std::string_view(path).starts_with(kApi)) {
    return evhttp_send_error(request, HTTP_NOTFOUND, nullptr);
  }
  const std::string body = BodyOf(request);
  ApiRequest asked;
  asked.method = MethodOf(request);
  asked.path = path;
  asked.body = body;
  asked.content_type = HeaderOf(request, "Content-Type");
  asked.has_origin = !HeaderOf(request, "Origin").empty();
  // Where the client leaves meanwhile, libevent keeps the request until it is
  // answered.
  ServeApi(*jobs, asked, [request, answers = answers](ApiReply reply) {
    answers->Add(request, std::move(reply));
  });
}

bool Admin::Loop::Prepare(int socket) {
  if (!base || stop.get() < 0) return false;
  stop_event.reset(event_new(
      base.get(), stop.get(), EV_READ,
      [](evutil_socket_t, short, void* loop) {
        event_base_loopbreak(static_cast<event_base*>(loop));
      },
      base.get()));
  http.reset(evhttp_new(base.get()));
  answers_event.reset(event_new(
      base.get(), answers->ready.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) {
        const auto& loop = *static_cast<Loop*>(self);
        for (const auto& [request, reply] : loop.answers->Take()) {
          loop.ReplyApi(request, reply);
        }
      },
      this));
  if (!stop_event || event_add(stop_event.get(), nullptr) != 0 ||
      !answers_event || event_add(answers_event.get(), nullptr) != 0 || !http) {
    return false;
  }
  evhttp_set_timeout(http.get(), kTimeoutS);
  evhttp_set_max_headers_size(http.get(), kMaxHeaders);
  evhttp_set_max_body_size(http.get(), kMaxBody);
  evhttp_set_allowed_methods(http.get(), EVHTTP_REQ_GET | EVHTTP_REQ_HEAD |
                                             EVHTTP_REQ_POST |
                                             EVHTTP_REQ_DELETE);
  evhttp_set_cb(
      http.get(), "/healthz",
      [](evhttp_request* request, void* self) {
        const auto& loop = *static_cast<Loop*>(self);
        loop.Show(request, [&] {
          const bool stopping = loop.facts().stopping;
          loop.Reply(request, stopping ? HTTP_SERVUNAVAIL : HTTP_OK,
                     "text/plain", stopping ? "stopping\n" : "ok\n");
        });
      },
      this);
  evhttp_set_cb(
      http.get(), "/status",
      [](evhttp_request* request, void* self) {
        const auto& loop = *static_cast<Loop*>(self);
        loop.Show(request, [&] {
          loop.Reply(request, HTTP_OK, "application/json",
                     StatusText(loop.facts()));
        });
      },
      this);
  evhttp_set_cb(
      http.get(), "/metrics",
      [](evhttp_request* request, void* self) {
        const auto& loop = *static_cast<Loop*>(self);
        loop.Show(request, [&] {
          loop.Reply(request, HTTP_OK,
                     "text/plain; version=0.0.4; charset=utf-8",
                     MetricsText(loop.facts()));
        });
      },
      this);
  evhttp_set_gencb(
      http.get(),
      [](evhttp_request* request, void* self) {
        static_cast<const Loop*>(self)->OnApi(request);
      },
      this);
  // It closes its socket; the caller's stays the caller's.
  const int own = dup(socket);
  if (own < 0) return false;
  if (evhttp_accept_socket(http.get(), own) != 0) {
    close(own);
    return false;
  }
  return true;
}

Admin::Admin(std::string name, std::unique_ptr<Loop> loop)
    : name_(std::move(name)), loop_(std::move(loop)) {}

Result<std::unique_ptr<Admin>> Admin::Open(std::string_view address,
                                           std::function<Facts()> facts,
                                           Jobs& jobs) {
  const Result<std::string> where = AdminAddress(address);
  if (!where) return Fail(where.error());
  const Result<Listener> listener = Listen(*where, 1);
  if (!listener) return Fail(listener.error());
  auto loop = std::make_unique<Loop>();
  loop->facts = std::move(facts);
  loop->jobs = &jobs;
  if (!loop->Prepare(listener->sockets.front().get())) {
    return Fail(StatusCode::kNoMemory, "admin: no event loop can be made");
  }
  Loop& running = *loop;
  running.thread =
      std::thread([&running] { event_base_dispatch(running.base.get()); });
  return std::unique_ptr<Admin>(new Admin(listener->name, std::move(loop)));
}

Admin::~Admin() {
  // An eventfd takes one always.
  (void)!eventfd_write(loop_->stop.get(), 1);
  loop_->thread.join();
}

}  // namespace ers::proxy
