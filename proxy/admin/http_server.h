// HttpServer: the admin port's connections.
//
//   reading -> answering -> writing -> reading ... -> closing
//
// One request at a time for each. A connection that is not answering may be
// closed to make room for another one.
#ifndef ERS_PROXY_ADMIN_HTTP_SERVER_H_
#define ERS_PROXY_ADMIN_HTTP_SERVER_H_

#include <event2/event.h>
#include <event2/listener.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "admin/http.h"

namespace ers::proxy {

// At a time. The oldest make room for new ones.
inline constexpr std::size_t kMaxHttpConnections = 128;

// For what libevent makes.
template <typename T, void (*free_it)(T*)>
struct EventFree {
  void operator()(T* pointer) const { free_it(pointer); }
};
template <typename T, void (*free_it)(T*)>
using EventOwned = std::unique_ptr<T, EventFree<T, free_it>>;

// The loop's thread only.
class HttpServer {
 public:
  // To be called once, on any thread, also when the server has ended.
  using Answer = std::function<void(HttpReply)>;
  using Handler = std::function<void(const HttpRequest&, Answer)>;

  // Serves who comes to the listening `socket`; that and `base` outlive it.
  // Null: no memory.
  static std::unique_ptr<HttpServer> Open(event_base* base, int socket,
                                          Handler handler);
  // Cuts readers off.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 private:
  class Connection;
  struct Answers;

  HttpServer(event_base* base, Handler handler);
  bool Prepare(int socket);
  void Add(int socket);
  void MakeRoom();
  void Pause();
  void CarryAnswers();
  void Ask(std::uint64_t id, const HttpRequest& request);
  void Close(std::uint64_t id);

  event_base* const base_;
  const Handler handler_;
  const std::shared_ptr<Answers> answers_;
  EventOwned<event, event_free> answers_event_;
  EventOwned<event, event_free> pause_;
  EventOwned<evconnlistener, evconnlistener_free> listener_;
  std::uint64_t next_id_ = 1;
  std::uint64_t next_turn_ = 1;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_HTTP_SERVER_H_
