#include "admin/admin.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "config/address.h"
#include "server/listener.h"

namespace ers::proxy {
namespace {

constexpr int kTimeoutS = 10;
constexpr ev_ssize_t kMaxHeaders = 8 << 10;
constexpr ev_ssize_t kMaxBody = 1 << 10;

template <typename T, void (*free_it)(T*)>
struct Free {
  void operator()(T* pointer) const { free_it(pointer); }
};
template <typename T, void (*free_it)(T*)>
using Owned = std::unique_ptr<T, Free<T, free_it>>;

}  // namespace

struct Admin::Loop {
  std::function<Facts()> facts;
  Socket stop{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  // Those below are gone before their base.
  Owned<event_base, event_base_free> base{event_base_new()};
  Owned<event, event_free> stop_event;
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

  bool Prepare(int socket);
};

bool Admin::Loop::Prepare(int socket) {
  if (!base || stop.get() < 0) return false;
  stop_event.reset(event_new(
      base.get(), stop.get(), EV_READ,
      [](evutil_socket_t, short, void* loop) {
        event_base_loopbreak(static_cast<event_base*>(loop));
      },
      base.get()));
  http.reset(evhttp_new(base.get()));
  if (!stop_event || event_add(stop_event.get(), nullptr) != 0 || !http) {
    return false;
  }
  evhttp_set_timeout(http.get(), kTimeoutS);
  evhttp_set_max_headers_size(http.get(), kMaxHeaders);
  evhttp_set_max_body_size(http.get(), kMaxBody);
  evhttp_set_allowed_methods(http.get(), EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
  evhttp_set_cb(
      http.get(), "/healthz",
      [](evhttp_request* request, void* self) {
        const auto& loop = *static_cast<Loop*>(self);
        const bool stopping = loop.facts().stopping;
        loop.Reply(request, stopping ? HTTP_SERVUNAVAIL : HTTP_OK, "text/plain",
                   stopping ? "stopping\n" : "ok\n");
      },
      this);
  evhttp_set_cb(
      http.get(), "/status",
      [](evhttp_request* request, void* self) {
        const auto& loop = *static_cast<Loop*>(self);
        loop.Reply(request, HTTP_OK, "application/json",
                   StatusText(loop.facts()));
      },
      this);
  evhttp_set_cb(
      http.get(), "/metrics",
      [](evhttp_request* request, void* self) {
        const auto& loop = *static_cast<Loop*>(self);
        loop.Reply(request, HTTP_OK, "text/plain; version=0.0.4; charset=utf-8",
                   MetricsText(loop.facts()));
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
                                           std::function<Facts()> facts) {
  const Result<std::string> where = AdminAddress(address);
  if (!where) return Fail(where.error());
  const Result<Listener> listener = Listen(*where, 1);
  if (!listener) return Fail(listener.error());
  auto loop = std::make_unique<Loop>();
  loop->facts = std::move(facts);
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
