// RequestPipeline: the requests of one client that are under way. They run side
// by side where their order does not show, and are answered in the order in
// which they came.
#ifndef ERS_PROXY_SERVER_REQUEST_PIPELINE_H_
#define ERS_PROXY_SERVER_REQUEST_PIPELINE_H_

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/recycled.h"
#include "engine/engine.h"
#include "ers/value.h"
#include "net/runtime.h"
#include "net/task.h"
#include "protocol/reply.h"
#include "protocol/request.h"
#include "server/condition.h"
#include "server/memory.h"
#include "server/trace.h"

namespace ers::proxy {

class RequestRunner;

// Its errors are answered at the end of its line.
inline bool IsTextGet(const ClientRequest& request) {
  return request.operation == Operation::kGet &&
         request.style.dialect == Dialect::kText;
}

// Loop thread only. Knows no socket.
class RequestPipeline {
 public:
  // A request on its way to its answer: head, value and tail, in this order.
  struct Slot : Recycled {
    Slot(MemoryAccount& account, ClientRequest&& what)
        : request(std::move(what)), memory(account, WaitsFor::kServers) {}
    // Its steps are timed where it is traced, and steps() is null where not.
    [[nodiscard]] Engine& EngineOr(Engine& untraced) const {
      return trace ? trace->engine : untraced;
    }
    [[nodiscard]] store::StepTimer* steps() const {
      return trace ? &trace->steps : nullptr;
    }

    ClientRequest request;
    MemoryHold memory;
    std::string head;
    Value value;
    std::string_view tail;
    ReplyStatus outcome = ReplyStatus::kDone;
    bool done = false;     // answered, but perhaps not the next in line
    bool closes = false;   // the connection ends behind it
    bool refused = false;  // its line: no request
    bool created = false;  // by a request for what was not there
    net::TimePoint read;   // when the last bytes of its line were
    // Set while the slot waits to be the first, to stream its value.
    std::optional<net::Latch> turn;
    // A store's short value. Of a text get: why it failed.
    std::string text;
    std::shared_ptr<Trace> trace;  // null for all but a few
    std::unique_ptr<store::QuickGet> begun;
    std::unique_ptr<store::QuickPut> begun_put;
    RequestRunner* runner = nullptr;  // that has begun it
  };
  using Answer = std::function<void(Slot&, net::TimePoint now)>;

  // `answer` takes each answer once all before it are taken; its slot is gone
  // then.
  RequestPipeline(net::Runtime& runtime, MemoryAccount& account, Answer answer)
      : runtime_(runtime),
        account_(account),
        answer_(std::move(answer)),
        condition_(runtime) {}
  RequestPipeline(const RequestPipeline&) = delete;
  RequestPipeline& operator=(const RequestPipeline&) = delete;

  [[nodiscard]] bool empty() const { return slots_.empty(); }
  [[nodiscard]] bool HasRoom() const { return slots_.size() < kMaxSlots; }
  // There is room, and none of those under way has to come first.
  [[nodiscard]] bool MayStart(const ClientRequest& request) const;

  // Stays until its answer is taken.
  Slot& Add(ClientRequest&& request);
  // Takes the last one back: nothing has begun for it.
  void DropLast() { slots_.pop_back(); }
  // The slot's answer is complete.
  void End(Slot& slot);
  // Awaited: all before the slot are answered, or Release was called.
  net::Latch& TurnOf(Slot& slot);
  // None waits for its turn any more.
  void Release();

  // For the one coroutine that adds requests. `holds` is asked again after each
  // End and each Wake.
  template <typename Predicate>
  net::Task<void> Until(Predicate holds) {
    return condition_.Until(std::move(holds));
  }
  void Wake() { condition_.Wake(); }

 private:
  static constexpr std::size_t kMaxSlots = 64;

  void EndGets(Slot& slot);
  void PassTurn(Slot& slot) const;

  net::Runtime& runtime_;
  MemoryAccount& account_;
  const Answer answer_;
  // Not a deque: an idle client's must cost nothing.
  std::list<std::unique_ptr<Slot>> slots_;
  // Of the text get line that is being answered: its first error.
  std::optional<ReplyStatus> gets_error_;
  std::string gets_error_text_;
  Condition condition_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_REQUEST_PIPELINE_H_
