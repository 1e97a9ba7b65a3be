// CollectorLink: POSTs to an OpenTelemetry collector, by libevent's HTTP
// client.
#ifndef ERS_PROXY_TRACING_COLLECTOR_LINK_H_
#define ERS_PROXY_TRACING_COLLECTOR_LINK_H_

#include <event2/dns.h>
#include <event2/event.h>
#include <event2/http.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/collector_url.h"
#include "shared/event_owned.h"

namespace ers::proxy {

inline void FreeNames(evdns_base* names) { evdns_base_free(names, 0); }

inline timeval TimevalOf(std::chrono::milliseconds time) {
  timeval value = {};
  value.tv_sec = static_cast<time_t>(time.count() / 1000);
  value.tv_usec = static_cast<suseconds_t>(time.count() % 1000 * 1000);
  return value;
}

// The loop's thread only.
class CollectorLink {
 public:
  struct Answer {
    int code = 0;          // 0: none came
    std::string_view why;  // none came
    std::string body;
    std::optional<std::chrono::seconds> retry_after;
  };
  using Done = std::function<void(Answer)>;

  // `base` outlives it. `timeout`: of a POST, from its beginning to the last
  // byte of the answer.
  CollectorLink(event_base* base, CollectorUrl url, std::string agent,
                std::chrono::milliseconds timeout);
  CollectorLink(const CollectorLink&) = delete;
  CollectorLink& operator=(const CollectorLink&) = delete;

  // False: there is no memory, and nothing may be posted.
  [[nodiscard]] bool ready() const { return try_ && deadline_; }
  // One at a time: calls `done` once, from the loop, unless this ends before.
  // `body` stays until then.
  void Post(const std::string& body, Done done);
  // Of what is posted nothing is heard any more. In the same turn of the loop
  // libevent gives back what it has for it.
  void Cancel();

 private:
  void Try();
  void OnEnded(evhttp_request* request);
  void OnDeadline();
  void EndConnection();
  void End(Answer answer);

  event_base* const base_;
  const CollectorUrl url_;
  const std::string agent_;
  const std::chrono::milliseconds timeout_;
  EventOwned<event, event_free> try_;
  EventOwned<event, event_free> deadline_;
  // A connection for each try, and what resolves its host's name for it.
  EventOwned<evdns_base, FreeNames> names_;
  EventOwned<evhttp_connection, evhttp_connection_free> connection_;
  int family_;  // that was reached last
  bool tried_other_family_ = false;
  std::optional<evhttp_request_error> error_;  // of this try
  const std::string* body_ = nullptr;
  Done done_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_TRACING_COLLECTOR_LINK_H_
