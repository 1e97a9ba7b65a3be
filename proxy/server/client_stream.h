// ClientStream: the bytes of one client, read from it and written to it.
#ifndef ERS_PROXY_SERVER_CLIENT_STREAM_H_
#define ERS_PROXY_SERVER_CLIENT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ers/value.h"
#include "metrics/counters.h"
#include "net/event_loop.h"
#include "net/task.h"
#include "server/client_pace.h"
#include "server/condition.h"
#include "server/memory.h"
#include "server/output.h"

namespace ers::proxy {

// Memory to read into: an idle client has none. One per worker. Loop thread
// only.
class ReadBuffers {
 public:
  static constexpr std::size_t kBytes = 16 << 10;  // of each

  std::unique_ptr<char[]> Take();
  void GiveBack(std::unique_ptr<char[]> buffer);

 private:
  std::vector<std::unique_ptr<char[]>> spare_;
};

// Loop thread only. At most one coroutine waits in ReadMore at a time, and one
// in UntilRoom or UntilAllSent.
class ClientStream final : private net::StreamHandler, private net::Deferred {
 public:
  // `on_progress` is called when bytes have left and when the client is gone.
  // The account's memory holds what is sent until it has left. `unread` has
  // come already, and fits a buffer.
  ClientStream(net::EventLoop& loop, int socket, std::string_view unread,
               ReadBuffers& buffers, Counters& counters, MemoryAccount& account,
               std::function<void()> on_progress);
  ClientStream(const ClientStream&) = delete;
  ClientStream& operator=(const ClientStream&) = delete;

  // What the client sends next goes to `straight`, as far as it fits there
  // (placed), then to input(), which is used up by now. False: no more bytes
  // will come.
  net::Task<bool> ReadMore(std::span<std::byte> straight = {});
  // What was read and not taken from its front yet.
  std::string_view& input() { return input_; }
  [[nodiscard]] std::size_t placed() const { return placed_; }
  // When the last bytes were read.
  [[nodiscard]] net::TimePoint read_at() const { return read_at_; }
  // ReadMore may find bytes without waiting.
  [[nodiscard]] bool readable() const { return readable_; }
  [[nodiscard]] bool awaits_input() const { return input_condition_.waiting(); }
  // Bytes that have come and are not taken yet, as far as is known.
  [[nodiscard]] std::size_t unread() const {
    return stream_ ? input_.size() + stream_->Unread() : 0;
  }

  // Leaves with all else that this turn of the loop sends.
  void Send(std::string_view text);
  // The same; what `hold` has for it is taken over.
  void Send(std::string_view text, MemoryHold& hold);
  // The value's memory is taken over from `hold`.
  void Send(Value value, MemoryHold& hold);
  void Flush();
  // The client reads slower than it is sent to.
  [[nodiscard]] bool full() const { return want_write_; }
  [[nodiscard]] bool has_room() const { return output_.bytes() < kMaxUnsent; }
  // Nothing is left that can still be sent.
  [[nodiscard]] bool all_sent() const {
    return !stream_ || output_.bytes() == 0;
  }
  // Or until closing().
  net::Task<void> UntilRoom();
  net::Task<void> UntilAllSent();

  // Nothing more is read.
  void Drain();
  // Nor is anything more sent than what is on its way.
  void Close();
  // The client is cut off, or is gone.
  void Break();
  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] bool closing() const { return phase_ >= Phase::kClosing; }
  [[nodiscard]] bool broken() const { return phase_ == Phase::kBroken; }

  ClientPace& pace() { return pace_; }
  [[nodiscard]] const ClientPace& pace() const { return pace_; }

 private:
  // Nothing more is read from a client that leaves this much unread.
  static constexpr std::size_t kMaxUnsent = 256 << 10;

  // Only forward, and any may be skipped:
  //
  //   kReading ----> kLastRequests ----> kClosing ----> kBroken
  //       Drain, or the         Close            Break, or a read
  //       client's end                           or write failed
  enum class Phase : std::uint8_t {
    kReading,
    kLastRequests,  // what was read is answered
    kClosing,       // what is answered is sent
    kBroken,        // stream_ is null
  };

  void OnConnected() override {}
  void OnReadable() override;
  void OnWritable() override;
  void OnFailed(const std::string& reason) override;
  void Reach(Phase phase);

  net::EventLoop& loop_;
  const int socket_;  // stream_'s
  ReadBuffers& buffers_;
  Counters& counters_;
  const std::function<void()> on_progress_;
  std::unique_ptr<net::PacedStream> stream_;
  Phase phase_ = Phase::kReading;

  std::unique_ptr<char[]> buffer_;
  std::string_view input_;  // in buffer_
  std::size_t placed_ = 0;
  net::TimePoint read_at_;
  bool want_read_ = true;  // as the stream was last asked
  bool readable_ = false;
  unsigned reads_ = 0;  // since others had their turn, and before

  bool want_write_ = false;  // as the stream was last asked
  Output output_;
  MemoryHold unsent_;  // of values in output_

  ClientPace pace_;
  Condition input_condition_;
  Condition sent_condition_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_CLIENT_STREAM_H_
