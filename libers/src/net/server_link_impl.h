// ServerLink::Impl: what is inside of a link. server_link.cc is its life from
// connection to connection, server_link_io.cc what it writes and reads.
#ifndef ERS_NET_SERVER_LINK_IMPL_H_
#define ERS_NET_SERVER_LINK_IMPL_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/backoff.h"
#include "net/handshake.h"
#include "net/in_flight.h"
#include "net/patient_timer.h"
#include "net/request_queue.h"
#include "net/server_link.h"

namespace ers::net {

// No answer is reported from inside a call or a stream's callback: ended
// requests are collected, and one Deferred per loop turn calls their `done` and
// then writes what was submitted. So `done` may do anything, also destroy the
// link.
class ServerLink::Impl : private StreamHandler {
 public:
  Impl(Runtime& runtime, Endpoint endpoint, int member,
       const LinkOptions& options, LinkGuard* guard);
  ~Impl() override;

  void Submit(Request& request);
  void Abort(const std::string& reason);
  void Retry();
  void MoveTo(Endpoint endpoint);
  void Flush() { WantToWrite(); }

  // A try after a failure is no promise: nothing waits for it.
  State state() const {
    return state_ == State::kConnecting && failed_before_ ? State::kFailed
                                                          : state_;
  }
  int member() const { return member_; }
  const Endpoint& endpoint() const { return endpoint_; }
  const ServerFacts& facts() const { return facts_; }
  std::uint64_t connection() const {
    return state_ == State::kUp ? connection_ : 0;
  }
  const std::string& last_error() const { return last_error_; }
  const LinkCounters& counters() const { return counters_; }
  const SilenceWatch& silence() const { return silence_; }

 private:
  // What one read may take beyond the value that it is in.
  static constexpr std::size_t kBufferBytes = 16384;

  // A call of one of the link's methods by the runtime. On its own on the heap:
  // the runtime may still hold it when the link is gone.
  struct Turn : Deferred {
    Turn(Impl* link, void (Impl::*method)());
    void Forget();  // the link goes

    Impl* link;
    void (Impl::*method)();
    bool running = false;
  };

  void OnConnected() override;
  void OnReadable() override;
  void OnWritable() override;
  void OnFailed(const std::string& reason) override;

  void Connect();
  void OnConnectTimeout();
  void OnDeadline();
  void ArmDeadline(TimePoint deadline);
  // The first of each queue: those that are sent, and those that wait.
  std::array<Request*, 2> OpenRequests() const;
  void RestartDeadlines();

  void CallDone();
  void WriteIfUp();
  void WantToWrite();
  void Write();
  void FillBatch();
  bool FlushBatch();

  void ReadAvailable();
  int ReadPieces(iovec* pieces, std::size_t* straight);
  bool ReportPlaced();
  bool TakeBytes(std::string_view bytes);
  bool EndAnswered();
  void OnHandshakeReply(Request& reply);
  void OnHandshakeEnd();

  void End(Request& request, Outcome outcome);
  void Fail(const std::string& reason, State state = State::kFailed);
  void Cut(const std::string& reason);
  Duration TimeoutOf(const Request& request) const;
  void EndOpenRequests();
  void DropStream();

  Runtime& runtime_;
  Endpoint endpoint_;
  const int member_;
  const LinkOptions options_;
  LinkGuard* const guard_;

  State state_ = State::kIdle;
  bool failed_before_ = false;  // since it was last up
  Backoff backoff_;
  std::uint64_t connection_ = 0;
  int moves_ = 0;
  ServerFacts facts_;
  std::string last_error_;
  LinkCounters own_counters_;
  LinkCounters& counters_;

  std::unique_ptr<Stream> stream_;
  PatientTimer connect_timer_;
  std::unique_ptr<Timer> retry_timer_;
  std::unique_ptr<Timer> deadline_timer_;
  std::unique_ptr<Timer> lazy_timer_;
  int lazy_waiting_ = 0;  // requests since the last write
  TimePoint armed_deadline_ = TimePoint::max();
  Handshake handshake_;

  // A request is in one of these: not a byte written; in the batch or written;
  // ended, and its `done` not called.
  RequestQueue waiting_;
  RequestQueue greeting_;  // as waiting_, for the handshake's own
  InFlight in_flight_;
  SilenceWatch silence_;
  RequestQueue ended_;
  bool want_write_ = false;
  const std::atomic<Duration::rep>* batch_leaves_before_ = nullptr;
  std::unique_ptr<char[]> buffer_ = std::make_unique<char[]>(kBufferBytes);
  // Null while the link is being destroyed.
  Turn* call_done_;
  Turn* write_;
};

}  // namespace ers::net

#endif  // ERS_NET_SERVER_LINK_IMPL_H_
