// Connection: one client, from the first byte that it sends to the last that it
// is sent.
#ifndef ERS_PROXY_SERVER_CONNECTION_H_
#define ERS_PROXY_SERVER_CONNECTION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "net/runtime.h"
#include "net/task.h"
#include "protocol/request.h"
#include "protocol/request_reader.h"
#include "server/client_stream.h"
#include "server/connection_host.h"
#include "server/incoming_value.h"
#include "server/memory.h"
#include "server/request_pipeline.h"
#include "server/request_runner.h"
#include "server/request_tracer.h"

namespace ers::proxy {

// Reads requests, starts them and sends their answers. Loop thread only. Lives
// until `on_end` is called, once, from the loop: its client is gone or has its
// last answer, and nothing runs for it any more.
class Connection final {
 public:
  // `unread` is what the client has sent already; it fits a read buffer.
  Connection(ConnectionHost& host, int socket, std::string_view unread,
             std::function<void(Connection&)> on_end);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Of requests that are read from now on.
  void SetLimits(const Limits& limits) { reader_.set_limits(limits); }
  // No more requests are read; it ends when those read are answered.
  void Drain() { stream_.Drain(); }
  // It ends between two requests, once all that came before is answered; the
  // client goes to host.hand_over.
  void HandOver();
  // The client is cut off. It ends when nothing runs for it any more.
  void Abort() { stream_.Break(); }
  // Nothing has come from the client or gone to it from `then` on, and it is
  // the client that is waited for.
  [[nodiscard]] bool IdleSince(net::TimePoint then) const;
  // Bytes of values that it holds.
  [[nodiscard]] std::uint64_t held() const { return account_.held; }
  // Bytes per second that the client has moved since the last measure, if
  // memory waited for it all the time; see ClientPace::Rate.
  std::optional<double> RateOfClient(net::TimePoint now, net::TimePoint since);

 private:
  using Slot = RequestPipeline::Slot;

  // All of the connection's life.
  net::Task<void> Serve();
  bool StartAtOnce();
  bool StoreAtOnce();
  net::Task<bool> Dispatch();
  net::Task<bool> DispatchStore(Slot& slot);
  net::Task<void> AnswerError();
  net::Task<void> RoomFor(const ClientRequest& request);
  net::Task<void> RoomForAnswer();
  net::Task<void> AllAnswered();

  void Deliver(Slot& slot, net::TimePoint now);
  void Count(const Slot& slot, net::TimePoint now);
  void EndTrace(const Slot& slot);
  void OnProgress();

  ConnectionHost& host_;
  const std::function<void(Connection&)> on_end_;
  MemoryAccount account_;
  ClientStream stream_;
  RequestReader reader_;
  RequestPipeline pipeline_;
  RequestTracer tracer_;
  RequestRunner runner_;
  bool hands_over_ = false;
  const IncomingValue* incoming_ = nullptr;  // what is being read
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_CONNECTION_H_
