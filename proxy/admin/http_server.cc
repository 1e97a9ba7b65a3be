#include "admin/http_server.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "config/options.h"
#include "server/descriptors.h"
#include "shared/listener.h"

namespace ers::proxy {
namespace {

// Of a client that sends or takes nothing.
constexpr int kTimeoutS = 10;
constexpr ev_ssize_t kMaxHead = 8 << 10;
// What is a little too long is refused here, in JSON; more than this by
// libevent, in its own words.
constexpr ev_ssize_t kMaxBodyRead = 2 * kMaxHttpBody;
// Where few file descriptors are allowed, one in so many is for these.
constexpr std::size_t kPartOfAllowed = 8;
// Until it is tried again whether there is a file descriptor.
constexpr timeval kPause = {0, 100'000};
constexpr timeval kOneTurn = {0, 0};

constexpr std::pair<evhttp_cmd_type, const char*> kMethods[] = {
    {EVHTTP_REQ_GET, "GET"},         {EVHTTP_REQ_HEAD, "HEAD"},
    {EVHTTP_REQ_POST, "POST"},       {EVHTTP_REQ_DELETE, "DELETE"},
    {EVHTTP_REQ_PUT, "PUT"},         {EVHTTP_REQ_PATCH, "PATCH"},
    {EVHTTP_REQ_OPTIONS, "OPTIONS"}, {EVHTTP_REQ_TRACE, "TRACE"},
    {EVHTTP_REQ_CONNECT, "CONNECT"}};

std::string HeaderOf(evhttp_request* request, const char* name) {
  const char* value =
      evhttp_find_header(evhttp_request_get_input_headers(request), name);
  return value == nullptr ? std::string() : value;
}

std::string AddressOf(evhttp_request* request) {
  evhttp_connection* connection = evhttp_request_get_connection(request);
  char* address = nullptr;
  ev_uint16_t port = 0;
  if (connection != nullptr) {
    evhttp_connection_get_peer(connection, &address, &port);
  }
  return address == nullptr ? std::string() : address;
}

HttpRequest Read(evhttp_request* request) {
  HttpRequest read;
  for (const auto& [method, name] : kMethods) {
    if (method == evhttp_request_get_command(request)) read.method = name;
  }
  const evhttp_uri* uri = evhttp_request_get_evhttp_uri(request);
  const char* path = uri == nullptr ? nullptr : evhttp_uri_get_path(uri);
  if (path != nullptr) read.path = path;
  const bool connects = read.method == "CONNECT";
  if (connects) read.path = evhttp_request_get_uri(request);
  evbuffer* body = evhttp_request_get_input_buffer(request);
  read.body.resize(evbuffer_get_length(body));
  evbuffer_copyout(body, read.body.data(), read.body.size());
  read.content_type = HeaderOf(request, "Content-Type");
  read.host = HeaderOf(request, "Host");
  read.authorization =
      HeaderOf(request, connects ? "Proxy-Authorization" : "Authorization");
  read.origin = HeaderOf(request, "Origin");
  read.fetch_site = HeaderOf(request, "Sec-Fetch-Site");
  read.sender = {AddressOf(request), HeaderOf(request, "User-Agent")};
  return read;
}

// What its headers say of a request's body.
struct Framing {
  int lengths = 0;    // Content-Length
  int encodings = 0;  // Transfer-Encoding
  bool empty = true;  // there is none, by all of these
  bool odd = false;   // programs may read one of these in several ways
};

Framing FramingOf(evhttp_request* request) {
  Framing framing;
  const evkeyvalq* headers = evhttp_request_get_input_headers(request);
  for (const evkeyval* header = headers->tqh_first; header != nullptr;
       header = header->next.tqe_next) {
    const std::string_view name = header->key;
    const std::string_view value = header->value;
    if (evutil_ascii_strcasecmp(header->key, "Content-Length") == 0) {
      ++framing.lengths;
      framing.empty = framing.empty && value == "0";
      framing.odd = framing.odd || value.find_first_not_of("0123456789") !=
                                       std::string_view::npos;
    } else if (evutil_ascii_strcasecmp(header->key, "Transfer-Encoding") == 0) {
      ++framing.encodings;
      framing.empty = false;
      framing.odd =
          framing.odd || evutil_ascii_strcasecmp(header->value, "chunked") != 0;
    } else if (name.find_first_of(" \t") != std::string_view::npos) {
      framing.odd = true;  // some take it for one of these
    }
  }
  return framing;
}

// Why a request cannot be taken for what it says; empty: it can. What libevent
// takes for the next request may be the body of this one to a proxy before it.
std::string_view WhyUnclear(evhttp_request* request) {
  const evhttp_cmd_type method = evhttp_request_get_command(request);
  const Framing framing = FramingOf(request);
  if (method == EVHTTP_REQ_CONNECT) {
    const evhttp_uri* uri = evhttp_request_get_evhttp_uri(request);
    // libevent has cut the name at the '@'.
    if (uri == nullptr || evhttp_uri_get_userinfo(uri) != nullptr) {
      return "CONNECT takes host:port, without user and @";
    }
    if (!framing.empty) return "CONNECT has no body";  // no server would get it
  }
  if (method == EVHTTP_REQ_HEAD && !framing.empty) return "HEAD has no body";
  if (method == EVHTTP_REQ_TRACE && !framing.empty) return "TRACE has no body";
  if (framing.odd || framing.lengths + framing.encodings > 1) {
    return "its length is not clear: give one Content-Length in digits, or "
           "Transfer-Encoding: chunked";
  }
  return {};
}

void Send(evhttp_request* request, const HttpReply& reply) {
  evkeyvalq* headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Content-Type", reply.type.c_str());
  evhttp_add_header(headers, "Cache-Control", "no-store");
  // Nothing here is for pages of other sites, nor to be taken for a script.
  evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
  evhttp_add_header(headers, "Cross-Origin-Resource-Policy", "same-origin");
  evhttp_add_header(headers, "Referrer-Policy", "no-referrer");
  if (!reply.content_security_policy.empty()) {
    evhttp_add_header(headers, "Content-Security-Policy",
                      reply.content_security_policy.c_str());
    evhttp_add_header(headers, "X-Frame-Options", "DENY");
    evhttp_add_header(headers, "Cross-Origin-Opener-Policy", "same-origin");
  }
  if (reply.code == kUnauthorized) {
    evhttp_add_header(headers, "WWW-Authenticate", "Bearer");
  }
  if (reply.code == kProxyUnauthorized) {
    evhttp_add_header(headers, "Proxy-Authenticate", "Bearer");
  }
  if (!reply.allow.empty()) {
    evhttp_add_header(headers, "Allow", reply.allow.c_str());
  }
  const evhttp_cmd_type method = evhttp_request_get_command(request);
  if (method == EVHTTP_REQ_CONNECT || method == EVHTTP_REQ_HEAD) {
    // libevent takes no answer to them to have a body.
    evhttp_add_header(headers, "Content-Length",
                      std::to_string(reply.body.size()).c_str());
  }
  const EventOwned<evbuffer, evbuffer_free> body(evbuffer_new());
  // It would send one to HEAD even so, before the next answer.
  if (method != EVHTTP_REQ_HEAD) {
    evbuffer_add(body.get(), reply.body.data(), reply.body.size());
  }
  evhttp_send_reply(request, reply.code, nullptr, body.get());
}

// Nothing more comes of it, also not what has come already: the kernel would
// give that even so.
void EndReading(bufferevent* stream) {
  const int socket = bufferevent_getfd(stream);
  shutdown(socket, SHUT_RDWR);
  std::array<char, 4096> rest;
  while (recv(socket, rest.data(), rest.size(), MSG_DONTWAIT) > 0) {
  }
  evbuffer* input = bufferevent_get_input(stream);
  evbuffer_drain(input, evbuffer_get_length(input));
}

// What comes behind it may be no request: the connection ends with the answer.
void RefuseAndEnd(evhttp_request* request, std::string_view why) {
  evhttp_add_header(evhttp_request_get_output_headers(request), "Connection",
                    "close");
  // After a CONNECT libevent goes on whatever that header says.
  evhttp_request_set_on_complete_cb(
      request,
      [](evhttp_request* answered, void*) {
        EndReading(evhttp_connection_get_bufferevent(
            evhttp_request_get_connection(answered)));
      },
      nullptr);
  Send(request, HttpError(kBadRequest, why));
}

void Pause(evconnlistener* listener, const timeval& time) {
  evconnlistener_disable(listener);
  event_base_once(
      evconnlistener_get_base(listener), -1, EV_TIMEOUT,
      [](evutil_socket_t, short, void* paused) {
        evconnlistener_enable(static_cast<evconnlistener*>(paused));
      },
      listener, &time);
}

}  // namespace

// What other threads have for requests that wait on the server's.
struct HttpServer::Answers {
  using List = std::vector<std::pair<evhttp_request*, HttpReply>>;
  Socket ready{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Mutex mutex;
  List list ERS_GUARDED_BY(mutex);

  void Add(evhttp_request* request, HttpReply reply) {
    {
      const MutexLock lock(mutex);
      list.emplace_back(request, std::move(reply));
    }
    // An eventfd takes one always.
    (void)!eventfd_write(ready.get(), 1);
  }
  List Take() {
    eventfd_t count = 0;
    (void)!eventfd_read(ready.get(), &count);
    const MutexLock lock(mutex);
    return std::exchange(list, {});
  }
};

HttpServer::HttpServer(event_base* base, Handler handler)
    : base_(base),
      handler_(std::move(handler)),
      most_(std::min<std::size_t>(
          kMaxAdminConnections,
          static_cast<std::size_t>(AllowedDescriptors()) / kPartOfAllowed)),
      answers_(std::make_shared<Answers>()) {}

HttpServer::~HttpServer() {
  http_.reset();
  for (const Connection& connection : connections_) {
    bufferevent_decref(connection.stream);
  }
}

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
  http_.reset(evhttp_new(base_));
  if (answers_->ready.get() < 0 || !answers_event_ || !http_ ||
      event_add(answers_event_.get(), nullptr) != 0) {
    return false;
  }
  evhttp_set_timeout(http_.get(), kTimeoutS);
  evhttp_set_max_headers_size(http_.get(), kMaxHead);
  evhttp_set_max_body_size(http_.get(), kMaxBodyRead);
  ev_uint16_t methods = 0;
  for (const auto& [method, name] : kMethods) {
    methods = static_cast<ev_uint16_t>(methods | method);
  }
  evhttp_set_allowed_methods(http_.get(), methods);
  evhttp_set_bevcb(
      http_.get(),
      [](event_base*, void* self) {
        return static_cast<HttpServer*>(self)->NewStream();
      },
      this);
  evhttp_set_gencb(
      http_.get(),
      [](evhttp_request* request, void* self) {
        static_cast<HttpServer*>(self)->Ask(request);
      },
      this);
  const int own = dup(socket);  // libevent closes its
  if (own < 0) return false;
  evhttp_bound_socket* bound =
      evhttp_accept_socket_with_handle(http_.get(), own);
  if (bound == nullptr) {
    close(own);
    return false;
  }
  listener_ = evhttp_bound_socket_get_listener(bound);
  // No file descriptor is left: the loop would spin.
  evconnlistener_set_error_cb(listener_, [](evconnlistener* listener, void*) {
    Pause(listener, kPause);
  });
  return true;
}

// Of a connection that libevent is about to make; null: it makes one itself.
bufferevent* HttpServer::NewStream() {
  ForgetClosed();
  if (connections_.size() >= most_) MakeRoom();
  // The stream closes its socket: libevent would do so before the last
  // reference to the stream is gone, and its events would be those of the next
  // owner of the descriptor, a client of another thread also.
  bufferevent* stream =
      bufferevent_socket_new(base_, -1, BEV_OPT_CLOSE_ON_FREE);
  if (stream == nullptr) return nullptr;
  bufferevent_incref(stream);
  connections_.push_back({stream});
  return stream;
}

// libevent 2.1 does not report when it has freed a connection. But a stream
// that is freed calls nothing any more, and one in use always reports errors.
void HttpServer::ForgetClosed() {
  connections_.remove_if([](const Connection& connection) {
    bufferevent_event_cb on_error = nullptr;
    bufferevent_getcb(connection.stream, nullptr, nullptr, &on_error, nullptr);
    if (on_error != nullptr) return false;
    bufferevent_decref(connection.stream);
    return true;
  });
}

// The oldest goes, but none whose request is at work: it finds its client gone.
void HttpServer::MakeRoom() {
  const auto oldest =
      std::find_if(connections_.begin(), connections_.end(),
                   [](const Connection& one) { return !one.answering; });
  if (oldest == connections_.end()) return;
  shutdown(bufferevent_getfd(oldest->stream), SHUT_RDWR);
  bufferevent_decref(oldest->stream);
  connections_.erase(oldest);
  // libevent closes it in a turn of the loop, and in one turn takes all that
  // have come.
  Pause(listener_, kOneTurn);
}

void HttpServer::SetAnswering(evhttp_request* request, bool answering) {
  evhttp_connection* connection = evhttp_request_get_connection(request);
  if (connection == nullptr) return;  // the client left
  const bufferevent* stream = evhttp_connection_get_bufferevent(connection);
  for (Connection& one : connections_) {
    if (one.stream == stream) one.answering = answering;
  }
}

void HttpServer::Ask(evhttp_request* request) {
  if (const std::string_view why = WhyUnclear(request); !why.empty()) {
    return RefuseAndEnd(request, why);
  }
  SetAnswering(request, true);
  const HttpRequest read = Read(request);
  // Where the client leaves meanwhile, libevent keeps the request until it is
  // answered.
  const Answer answer = [request, answers = answers_](HttpReply reply) {
    answers->Add(request, std::move(reply));
  };
  if (read.body.size() > kMaxHttpBody) {
    return answer(HttpError(413, "the body is over 64 KiB"));
  }
  handler_(read, answer);
}

void HttpServer::CarryAnswers() {
  for (const auto& [request, reply] : answers_->Take()) {
    SetAnswering(request, false);
    if (reply.take_over) {
      GiveAway(request, reply);
    } else {
      Send(request, reply);
    }
  }
}

void HttpServer::GiveAway(evhttp_request* request, const HttpReply& reply) {
  evhttp_connection* connection = evhttp_request_get_connection(request);
  // Where the client has left, this is but the end of the request.
  if (connection == nullptr) return Send(request, reply);
  bufferevent* stream = evhttp_connection_get_bufferevent(connection);
  const int number = bufferevent_getfd(stream);
  // It may have waited here, or in the kernel, for any time, and a server must
  // not get a write that is too old.
  int unread = 0;
  if (evbuffer_get_length(bufferevent_get_input(stream)) > 0 ||
      ioctl(number, FIONREAD, &unread) != 0 || unread > 0) {
    return RefuseAndEnd(
        request, "nothing may be sent behind CONNECT before it is answered");
  }
  Socket client(fcntl(number, F_DUPFD_CLOEXEC, 0));
  if (client.get() < 0) {
    return Send(request, HttpError(kUnavailable, "no file descriptor is left"));
  }
  // libevent shuts down the socket of a connection that it frees, and has no
  // other way to part with one. So it gets something else under that number.
  bufferevent_disable(stream, EV_READ | EV_WRITE);
  dup3(answers_->ready.get(), number, O_CLOEXEC);
  evhttp_connection_free(connection);
  ForgetClosed();
  reply.take_over(std::move(client));
}

}  // namespace ers::proxy
