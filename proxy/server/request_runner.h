// RequestRunner: the requests of one connection, each run on the engine to its
// answer.
#ifndef ERS_PROXY_SERVER_REQUEST_RUNNER_H_
#define ERS_PROXY_SERVER_REQUEST_RUNNER_H_

#include "engine/engine.h"
#include "net/task.h"
#include "protocol/reply.h"
#include "server/client_stream.h"
#include "server/connection_host.h"
#include "server/request_pipeline.h"

namespace ers::proxy {

// Every call ends its slot, at its end at the latest. Loop thread only.
class RequestRunner {
 public:
  using Slot = RequestPipeline::Slot;

  RequestRunner(ConnectionHost& host, ClientStream& stream,
                RequestPipeline& pipeline)
      : host_(host), stream_(stream), pipeline_(pipeline) {}
  RequestRunner(const RequestRunner&) = delete;
  RequestRunner& operator=(const RequestRunner&) = delete;

  void Get(Slot& slot);
  // Of a value that is in slot.text.
  void Store(Slot& slot);
  net::Task<void> Change(Slot& slot);
  net::Task<void> List(Slot& slot);
  void AnswerAtOnce(Slot& slot);

 private:
  void OnBegun(Slot& slot);
  net::Task<void> GetOn(Slot& slot);
  void AnswerGet(Slot& slot, Gotten gotten);
  void OnStored(Slot& slot);
  net::Task<void> StoreOn(Slot& slot);
  void AnswerStore(Slot& slot, const Reply& reply);
  void AnswerNoStream(Slot& slot, const Status& why);
  // `judged`: its marks as they were decided on.
  net::Task<void> StreamLong(Slot& slot, ItemInfo judged, bool counted);
  // The next piece of a slot that is first.
  net::Task<Status> SendPiece(Slot& slot, Value piece);
  Engine& EngineOf(const Slot& slot) { return slot.EngineOr(host_.engine); }

  ConnectionHost& host_;
  ClientStream& stream_;
  RequestPipeline& pipeline_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_REQUEST_RUNNER_H_
