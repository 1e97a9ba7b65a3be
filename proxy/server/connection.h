// Connection: one client. Its requests run side by side where their order does
// not show, and are answered in the order in which they came.
#ifndef ERS_PROXY_SERVER_CONNECTION_H_
#define ERS_PROXY_SERVER_CONNECTION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "metrics/request_meter.h"
#include "net/event_loop.h"
#include "net/task.h"
#include "protocol/reply.h"
#include "protocol/request_reader.h"
#include "server/memory.h"
#include "server/output.h"
#include "server/trace.h"
#include "server/waiter.h"

namespace ers::proxy {

// What a connection needs of its worker.
struct ConnectionHost {
  net::EventLoop& loop;
  Engine& engine;
  Counters& counters;
  RequestMeter& requests;
  StepMeter& steps;
  Limits limits;
  MemoryBudget& memory;
  // Answers `stats` with these words behind it: calls for each name and value;
  // returns what stands in place of END, or ""; nothing: no such stats.
  std::function<std::optional<std::string>(
      const std::string& argument,
      const std::function<void(std::string_view, std::string_view)>& stat)>
      stats;
  std::atomic<std::uint32_t>& verbosity;
  int until_sample = kSampleEvery;
  // Memory to read into that no connection needs now.
  std::vector<std::unique_ptr<char[]>> spare_buffers = {};
};

class IncomingValue;

// Loop thread only. Lives until `on_end` is called, once, from the loop: its
// client is gone and nothing runs for it any more.
class Connection final : private net::StreamHandler, private net::Deferred {
 public:
  Connection(ConnectionHost& host, int socket,
             std::function<void(Connection&)> on_end);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Of requests that are read from now on.
  void SetLimits(const Limits& limits) { reader_.set_limits(limits); }
  // No more requests are read; it ends when those read are answered.
  void Drain();
  // The client is cut off. It ends when nothing runs for it any more.
  void Abort() { Break(); }
  // Nothing has come from the client or gone to it from `then` on, and it is
  // the client that is waited for.
  [[nodiscard]] bool IdleSince(net::TimePoint then) const {
    const bool for_more = awaits_input_ && (slots_.empty() || incoming_);
    return stream_ && (for_more || want_write_) && moved_at_ < then;
  }
  // Bytes of values that it holds.
  [[nodiscard]] std::uint64_t held() const { return account_.held; }
  // Bytes per second that the client has moved since the last look, if memory
  // waited for it all the time. Nothing where that is not kRateWindow yet, or
  // where the last look was before `since`.
  std::optional<double> RateOfClient(net::TimePoint now, net::TimePoint since);
  static constexpr net::Duration kRateWindow = std::chrono::seconds(5);

 private:
  // Nothing more is read from a client who leaves this much unread.
  static constexpr std::size_t kMaxUnsent = 256 << 10;
  // Its errors are told by the end of its line.
  static bool IsTextGet(const Request& request) {
    return request.verb == Verb::kGet &&
           request.style.dialect == Dialect::kText;
  }

  // A request on its way to its answer.
  struct Slot {
    explicit Slot(MemoryAccount& account) : memory(account, Pace::kServers) {}
    Request request;
    MemoryHold memory;
    std::string head;  // answer, or what comes before the value
    Value value;
    std::string_view tail;
    Outcome outcome = Outcome::kDone;
    bool done = false;
    bool closes = false;   // the connection ends behind it
    bool refused = false;  // its line: no request
    bool created = false;  // by a request for what was not there
    net::TimePoint read;   // when the last bytes of its line were
    // Set while the slot waits to be the first, to stream its value.
    std::optional<net::Latch> turn;
    std::string small_value;       // of a store
    std::shared_ptr<Trace> trace;  // null for all but a few
  };

  void OnConnected() override {}
  void OnReadable() override;
  void OnWritable() override;
  void OnFailed(const std::string& reason) override;

  net::Task<void> Serve();
  // What the client sends next goes to `straight`, as far as it fits there
  // (placed_), then to input_. False: no more bytes will come.
  net::Task<bool> ReadMore(std::span<std::byte> straight = {});
  void TakeBuffer();
  void ReturnBuffer();
  net::Task<bool> Dispatch();
  net::Task<bool> DispatchStore(Slot& slot);
  net::Task<void> RoomFor(const Request& request);
  net::Task<void> RoomForAnswer();
  net::Task<void> AllAnswered();
  net::Task<void> AnswerError();

  net::Task<void> RunGet(Slot& slot);
  void AnswerGet(Slot& slot, Gotten gotten);
  // `judged`: its marks as they were decided on.
  net::Task<void> StreamLong(Slot& slot, ItemInfo judged, bool counted);
  net::Task<void> RunStore(Slot& slot);
  net::Task<void> RunChange(Slot& slot);
  net::Task<void> RunList(Slot& slot);
  void AnswerAtOnce(Slot& slot);
  void AnswerStats(Slot& slot);

  Slot& NewSlot(Request request);
  void End(Slot& slot);
  void Advance();
  void Finish(Slot& slot);
  void Count(const Slot& slot, net::TimePoint now);
  std::shared_ptr<Trace> TraceOf(const Request& request);
  void EndTrace(const Slot& slot);
  static store::StepTimer* StepsOf(const Slot& slot) {
    return slot.trace ? &slot.trace->steps : nullptr;
  }
  Engine& EngineOf(const Slot& slot) {
    return slot.trace ? slot.trace->engine : host_.engine;
  }
  void WantFlush();
  void WantEnd();
  void Flush();
  void Break();
  void MaybeEnd();

  friend class IncomingValue;
  friend class StreamMemory;

  ConnectionHost& host_;
  std::function<void(Connection&)> on_end_;
  std::unique_ptr<net::AcceptedStream> stream_;  // null once broken
  RequestReader reader_;
  std::unique_ptr<char[]> buffer_;
  std::string_view input_;  // in buffer_, not looked at yet
  std::size_t placed_ = 0;  // by the last ReadMore
  net::TimePoint input_read_;
  // Set while the request that comes next is to be traced.
  std::optional<net::TimePoint> sample_from_;
  bool reading_ = true;  // the stream calls OnReadable
  bool readable_ = false;
  unsigned reads_ = 0;  // that filled the buffer, or not
  bool awaits_input_ = false;
  bool peer_ended_ = false;
  bool draining_ = false;
  bool serving_ = true;
  bool closing_ = false;  // nothing more is answered
  bool want_write_ = false;
  bool ended_ = false;

  MemoryAccount account_;
  MemoryHold unsent_;                        // of values in output_
  const IncomingValue* incoming_ = nullptr;  // what is being read
  // When it was last seen that the client held memory up, and how many bytes
  // it had moved by then.
  net::TimePoint looked_;
  std::uint64_t moved_then_ = 0;
  std::uint64_t moved_ = 0;
  net::TimePoint moved_at_;

  // Not a deque: an idle client's must cost nothing.
  std::list<std::unique_ptr<Slot>> slots_;
  // Of the text get line that is being answered.
  std::optional<Outcome> gets_error_;
  std::string gets_error_text_;
  std::shared_ptr<Trace> gets_trace_;  // of the one that is read
  Output output_;
  Waiter serve_waiter_;
  Waiter stream_waiter_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_CONNECTION_H_
