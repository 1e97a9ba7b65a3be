#include "tracing/collector_link.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <sys/socket.h>

#include <charconv>
#include <utility>

namespace ers::proxy {
namespace {

constexpr ev_ssize_t kMaxAnswer = 64 << 10;
constexpr timeval kNextTurn = {0, 0};

// A date, which it may be as well, is passed over.
std::optional<std::chrono::seconds> RetryAfter(evhttp_request* request) {
  const char* header = evhttp_find_header(
      evhttp_request_get_input_headers(request), "Retry-After");
  if (header == nullptr) return std::nullopt;
  const std::string_view text = header;
  unsigned seconds = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, seconds);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return std::chrono::seconds(seconds);
}

}  // namespace

CollectorLink::CollectorLink(event_base* base, CollectorUrl url,
                             std::string agent,
                             std::chrono::milliseconds timeout)
    : base_(base),
      url_(std::move(url)),
      agent_(std::move(agent)),
      timeout_(timeout),
      try_(event_new(
          base, -1, EV_TIMEOUT,
          [](evutil_socket_t, short, void* self) {
            static_cast<CollectorLink*>(self)->Try();
          },
          this)),
      deadline_(event_new(
          base, -1, EV_TIMEOUT,
          [](evutil_socket_t, short, void* self) {
            static_cast<CollectorLink*>(self)->OnDeadline();
          },
          this)),
      family_(AF_INET) {}

void CollectorLink::Post(const std::string& body, Done done) {
  body_ = &body;
  done_ = std::move(done);
  tried_other_family_ = false;
  const timeval timeout = TimevalOf(timeout_);
  event_add(deadline_.get(), &timeout);
  event_add(try_.get(), &kNextTurn);
}

// And its request, which is not heard of any more. The resolving of its name
// would go on, and keep what it has for good where its name servers are given
// up: without a socket this cancels it, and the loop ends it in this turn.
void CollectorLink::EndConnection() {
  if (!connection_) return;
  bufferevent* stream = evhttp_connection_get_bufferevent(connection_.get());
  if (bufferevent_getfd(stream) < 0) bufferevent_setfd(stream, -1);
  connection_.reset();
}

// libevent's own time limit begins anew with each byte.
void CollectorLink::OnDeadline() {
  event_del(try_.get());
  EndConnection();
  Answer none;
  none.why = "it does not answer in time";
  End(std::move(none));
}

void CollectorLink::Cancel() {
  event_del(try_.get());
  event_del(deadline_.get());
  EndConnection();
  done_ = nullptr;
}

void CollectorLink::End(Answer answer) {
  event_del(deadline_.get());
  std::exchange(done_, nullptr)(std::move(answer));
}

void CollectorLink::Try() {
  error_.reset();
  EndConnection();
  // Read anew each time: a name server may have changed, too.
  names_.reset(evdns_base_new(base_, EVDNS_BASE_INITIALIZE_NAMESERVERS));
  connection_.reset(evhttp_connection_base_new(base_, names_.get(),
                                               url_.host.c_str(), url_.port));
  evhttp_request* request =
      connection_ ? evhttp_request_new(
                        [](evhttp_request* ended, void* self) {
                          static_cast<CollectorLink*>(self)->OnEnded(ended);
                        },
                        this)
                  : nullptr;
  if (request == nullptr) return OnEnded(nullptr);
  evhttp_connection_set_family(connection_.get(), family_);
  evhttp_connection_set_max_headers_size(connection_.get(), kMaxAnswer);
  evhttp_connection_set_max_body_size(connection_.get(), kMaxAnswer);
  evhttp_request_set_error_cb(
      request, [](evhttp_request_error error, void* self) {
        static_cast<CollectorLink*>(self)->error_ = error;
      });
  evkeyvalq* headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Host", url_.authority.c_str());
  evhttp_add_header(headers, "User-Agent", agent_.c_str());
  evhttp_add_header(headers, "Content-Type", "application/json");
  // One that is kept may be closed there just when it is used again.
  evhttp_add_header(headers, "Connection", "close");
  evbuffer_add(evhttp_request_get_output_buffer(request), body_->data(),
               body_->size());
  // From here on the request is the connection's.
  if (evhttp_make_request(connection_.get(), request, EVHTTP_REQ_POST,
                          url_.path.c_str()) != 0) {
    OnEnded(nullptr);
  }
}

// libevent tries one address of a name only: where it does not connect there,
// the name may have one of the other family. It reports a connection that ends
// without an answer in the same way.
void CollectorLink::OnEnded(evhttp_request* request) {
  Answer answer;
  if (request != nullptr) {
    answer.code = evhttp_request_get_response_code(request);
  }
  const bool ended = error_.value_or(EVREQ_HTTP_EOF) == EVREQ_HTTP_EOF;
  if (answer.code == 0 && ended && !std::exchange(tried_other_family_, true)) {
    family_ = family_ == AF_INET ? AF_INET6 : AF_INET;
    event_add(try_.get(), &kNextTurn);
    return;
  }
  if (answer.code != 0) {
    evbuffer* body = evhttp_request_get_input_buffer(request);
    answer.body.resize(evbuffer_get_length(body));
    evbuffer_remove(body, answer.body.data(), answer.body.size());
    answer.retry_after = RetryAfter(request);
  } else if (ended) {
    answer.why = "no connection to it, or it ends without an answer";
  } else {
    answer.why = "it does not answer in HTTP";
  }
  End(std::move(answer));
}

}  // namespace ers::proxy
