#include "admin/http_server.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/listener.h"

namespace ers::proxy {
namespace {

// For a whole request, from the connection or the reply before it on; and for a
// client that takes no byte of a reply.
constexpr timeval kPatience = {10, 0};
// For a client to see that it is over.
constexpr timeval kFarewell = {2, 0};
// Until it is tried again whether there is a file descriptor.
constexpr timeval kPause = {0, 100'000};
constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

// What other threads have for connections that wait on the server's.
struct HttpServer::Answers {
  using List = std::vector<std::pair<std::uint64_t, HttpReply>>;
  Socket ready{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex;
  List list;  // guarded by mutex

  void Add(std::uint64_t id, HttpReply reply) {
    {
      const std::lock_guard lock(mutex);
      list.emplace_back(id, std::move(reply));
    }
    // An eventfd takes one always.
    (void)!eventfd_write(ready.get(), 1);
  }
  List Take() {
    eventfd_t count = 0;
    (void)!eventfd_read(ready.get(), &count);
    const std::lock_guard lock(mutex);
    return std::exchange(list, {});
  }
};

// --- One client --------------------------------------------------------------

class HttpServer::Connection {
 public:
  Connection(HttpServer& server, std::uint64_t id) : server_(server), id_(id) {}

  // False: no memory; `socket` is closed then, too.
  bool Open(int socket);
  void Reply(const HttpReply& reply);
  [[nodiscard]] bool answering() const { return state_ == State::kAnswering; }
  // Rises with each request that is waited for.
  [[nodiscard]] std::uint64_t turn() const { return turn_; }

 private:
  enum class State { kReading, kAnswering, kWriting, kClosing };

  void Await();
  void OnInput();
  void OnWritten();
  void OnEvent(int what);
  bool TakeHead();
  void Refuse(const HttpReply& reply);

  HttpServer& server_;
  const std::uint64_t id_;
  EventOwned<bufferevent, bufferevent_free> stream_;
  EventOwned<event, event_free> deadline_;
  State state_ = State::kReading;
  bool head_read_ = false;
  bool half_closed_ = false;  // no more requests, but it reads
  HttpRequest request_;
  std::uint64_t turn_ = 0;
};

bool HttpServer::Connection::Open(int socket) {
  stream_.reset(
      bufferevent_socket_new(server_.base_, socket, BEV_OPT_CLOSE_ON_FREE));
  if (!stream_) {
    evutil_closesocket(socket);
    return false;
  }
  deadline_.reset(evtimer_new(
      server_.base_,
      [](evutil_socket_t, short, void* self) {
        const auto& ended = *static_cast<Connection*>(self);
        ended.server_.Close(ended.id_);
      },
      this));
  if (!deadline_) return false;
  bufferevent_setcb(
      stream_.get(),
      [](bufferevent*, void* self) {
        static_cast<Connection*>(self)->OnInput();
      },
      [](bufferevent*, void* self) {
        static_cast<Connection*>(self)->OnWritten();
      },
      [](bufferevent*, short what, void* self) {
        static_cast<Connection*>(self)->OnEvent(what);
      },
      this);
  // Who sends request upon request waits in the kernel.
  bufferevent_setwatermark(stream_.get(), EV_READ, 0,
                           kMaxHttpHead + kMaxHttpBody);
  bufferevent_set_timeouts(stream_.get(), nullptr, &kPatience);
  Await();
  return bufferevent_enable(stream_.get(), EV_READ | EV_WRITE) == 0;
}

void HttpServer::Connection::Await() {
  state_ = State::kReading;
  head_read_ = false;
  request_ = {};
  turn_ = server_.next_turn_++;
  event_add(deadline_.get(), &kPatience);
}

// False: more is to come, or it was refused.
bool HttpServer::Connection::TakeHead() {
  evbuffer* input = bufferevent_get_input(stream_.get());
  const std::size_t most = std::min(evbuffer_get_length(input), kMaxHttpHead);
  const auto* bytes = reinterpret_cast<const char*>(
      evbuffer_pullup(input, static_cast<ev_ssize_t>(most)));
  const std::string_view begun(bytes, bytes == nullptr ? 0 : most);
  const std::optional<std::size_t> length = HttpHeadLength(begun);
  std::optional<HttpReply> refusal = RefuseHttpLine(begun);
  if (!refusal && !length && most == kMaxHttpHead) {
    refusal = HttpError(431, "the head of this request is too long");
  }
  if (!refusal && !length) return false;
  if (!refusal) refusal = ParseHttpHead(begun.substr(0, *length), request_);
  if (refusal) {
    Refuse(*refusal);
    return false;
  }
  evbuffer_drain(input, *length);
  if (request_.waits && evbuffer_get_length(input) < request_.content_length) {
    bufferevent_write(stream_.get(), kGoOn.data(), kGoOn.size());
  }
  head_read_ = true;
  return true;
}

void HttpServer::Connection::OnInput() {
  evbuffer* input = bufferevent_get_input(stream_.get());
  if (state_ == State::kClosing) {
    evbuffer_drain(input, evbuffer_get_length(input));
    return;
  }
  if (state_ != State::kReading || (!head_read_ && !TakeHead()) ||
      evbuffer_get_length(input) < request_.content_length) {
    return;
  }
  request_.body.resize(request_.content_length);
  evbuffer_remove(input, request_.body.data(), request_.body.size());
  state_ = State::kAnswering;
  event_del(deadline_.get());
  server_.Ask(id_, request_);
}

void HttpServer::Connection::Reply(const HttpReply& reply) {
  const std::string text =
      HttpReplyText(reply, request_.keeps_open, request_.method == "HEAD");
  state_ = State::kWriting;
  if (bufferevent_write(stream_.get(), text.data(), text.size()) != 0) {
    server_.Close(id_);
  }
}

// What follows cannot be understood.
void HttpServer::Connection::Refuse(const HttpReply& reply) {
  request_.keeps_open = false;
  Reply(reply);
}

void HttpServer::Connection::OnWritten() {
  if (state_ != State::kWriting) return;
  if (request_.keeps_open) {
    Await();
    OnInput();  // of what came meanwhile
    return;
  }
  if (half_closed_) return server_.Close(id_);
  // The client reads the reply, and closes: closed here at once, what it has
  // sent and nobody reads would take the reply from it.
  state_ = State::kClosing;
  shutdown(bufferevent_getfd(stream_.get()), SHUT_WR);
  event_add(deadline_.get(), &kFarewell);
  OnInput();
}

void HttpServer::Connection::OnEvent(int what) {
  half_closed_ = (what & BEV_EVENT_EOF) != 0 &&
                 (state_ == State::kAnswering || state_ == State::kWriting);
  if (!half_closed_) return server_.Close(id_);
  request_.keeps_open = false;
}

// --- All of them -------------------------------------------------------------

HttpServer::HttpServer(event_base* base, Handler handler)
    : base_(base),
      handler_(std::move(handler)),
      answers_(std::make_shared<Answers>()) {}

HttpServer::~HttpServer() = default;

std::unique_ptr<HttpServer> HttpServer::Open(event_base* base, int socket,
                                             Handler handler) {
  std::unique_ptr<HttpServer> server(new HttpServer(base, std::move(handler)));
  return server->Prepare(socket) ? std::move(server) : nullptr;
}

bool HttpServer::Prepare(int socket) {
  answers_event_.reset(event_new(
      base_, answers_->ready.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) {
        static_cast<HttpServer*>(self)->CarryAnswers();
      },
      this));
  pause_.reset(evtimer_new(
      base_,
      [](evutil_socket_t, short, void* self) {
        evconnlistener_enable(static_cast<HttpServer*>(self)->listener_.get());
      },
      this));
  listener_.reset(evconnlistener_new(
      base_,
      [](evconnlistener*, evutil_socket_t client, sockaddr*, int, void* self) {
        static_cast<HttpServer*>(self)->Add(client);
      },
      this, LEV_OPT_CLOSE_ON_EXEC, 0, socket));
  if (answers_->ready.get() < 0 || !answers_event_ || !pause_ || !listener_ ||
      event_add(answers_event_.get(), nullptr) != 0) {
    return false;
  }
  evconnlistener_set_error_cb(listener_.get(), [](evconnlistener*, void* self) {
    static_cast<HttpServer*>(self)->Pause();
  });
  return true;
}

// No file descriptor is left: the loop would spin.
void HttpServer::Pause() {
  evconnlistener_disable(listener_.get());
  event_add(pause_.get(), &kPause);
}

// Whoever waits for longest is the first to go, but nobody whose request is at
// work.
void HttpServer::MakeRoom() {
  auto oldest = connections_.end();
  for (auto at = connections_.begin(); at != connections_.end(); ++at) {
    if (at->second->answering()) continue;
    if (oldest == connections_.end() ||
        at->second->turn() < oldest->second->turn()) {
      oldest = at;
    }
  }
  if (oldest != connections_.end()) connections_.erase(oldest);
}

void HttpServer::Add(int socket) {
  if (connections_.size() >= kMaxHttpConnections) MakeRoom();
  if (connections_.size() >= kMaxHttpConnections) {
    evutil_closesocket(socket);
    return;
  }
  const std::uint64_t id = next_id_++;
  auto connection = std::make_unique<Connection>(*this, id);
  if (connection->Open(socket)) connections_[id] = std::move(connection);
}

void HttpServer::Ask(std::uint64_t id, const HttpRequest& request) {
  handler_(request, [id, answers = answers_](HttpReply reply) {
    answers->Add(id, std::move(reply));
  });
}

void HttpServer::CarryAnswers() {
  for (const auto& [id, reply] : answers_->Take()) {
    const auto found = connections_.find(id);
    if (found != connections_.end()) found->second->Reply(reply);
  }
}

// At the end of a connection's own calls.
void HttpServer::Close(std::uint64_t id) { connections_.erase(id); }

}  // namespace ers::proxy
