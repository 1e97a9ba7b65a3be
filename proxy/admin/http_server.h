// HttpServer: the admin port's connections, by libevent's HTTP server.
#ifndef ERS_PROXY_ADMIN_HTTP_SERVER_H_
#define ERS_PROXY_ADMIN_HTTP_SERVER_H_

#include <event2/event.h>
#include <event2/http.h>

#include <cstddef>
#include <functional>
#include <list>
#include <memory>

#include "admin/http.h"
#include "shared/event_owned.h"

struct bufferevent;
struct evconnlistener;

namespace ers::proxy {

// Longer ones are refused.
inline constexpr std::size_t kMaxHttpBody = 64 << 10;

// The loop's thread only.
class HttpServer {
 public:
  // To be called once, on any thread, also when the server has ended.
  using Answer = std::function<void(HttpReply)>;
  using Handler = std::function<void(const HttpRequest&, Answer)>;

  // Serves clients of the listening `socket`, which stays the caller's;
  // `base` outlives it. Null: no memory, or no file descriptor.
  static std::unique_ptr<HttpServer> Open(event_base* base, int socket,
                                          Handler handler);
  // Cuts readers off.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 private:
  struct Answers;
  struct Connection {
    bufferevent* stream;  // a reference of its own
    bool answering = false;
  };

  HttpServer(event_base* base, Handler handler);
  bool Prepare(int socket);
  bufferevent* NewStream();
  void ForgetClosed();
  void MakeRoom();
  void SetAnswering(evhttp_request* request, bool answering);
  void Ask(evhttp_request* request);
  void CarryAnswers();
  void GiveAway(evhttp_request* request, const HttpReply& reply);

  event_base* const base_;
  const Handler handler_;
  const std::size_t most_;  // connections
  const std::shared_ptr<Answers> answers_;
  EventOwned<event, event_free> answers_event_;
  std::list<Connection> connections_;  // the oldest first
  EventOwned<evhttp, evhttp_free> http_;
  evconnlistener* listener_ = nullptr;  // http_'s
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_HTTP_SERVER_H_
