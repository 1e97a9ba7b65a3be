// SimConnection: one connection between a client process and a model server:
// the bytes under way in both directions, and how each side sees it end.
#ifndef ERS_TESTS_SIM_WORLD_SIM_CONNECTION_H_
#define ERS_TESTS_SIM_WORLD_SIM_CONNECTION_H_

#include <cstdint>
#include <deque>
#include <string>

#include "net/runtime.h"
#include "sim/world/model_server.h"
#include "sim/world/sim_world.h"

namespace ers::sim {

// Owned by the World; the client's Stream and the server point to it. One
// thread.
class SimConnection {
 public:
  SimConnection(World& world, SimRuntime& process, SimServer* server,
                net::StreamHandler& handler);
  ~SimConnection();

  // The client's half: what SimRuntime::Connect hands out. Survives the
  // connection, as a process that was killed keeps its objects.
  class ClientStream : public net::Stream {
   public:
    explicit ClientStream(SimConnection& connection);
    ~ClientStream() override;
    ssize_t ReadV(const iovec* pieces, int count) override;
    ssize_t WriteV(const iovec* pieces, int count) override;
    void WantWrite(bool want) override;

   private:
    friend class SimConnection;
    SimConnection* connection_;
  };

  // The client is gone (closed or killed): it hears nothing more, and what it
  // wrote arrives, in part or late.
  void ClientGone();
  // The server's process is gone: what had not arrived is lost.
  void ServerGone();
  // The network breaks it: the client hears of it, with some or all of the
  // replies under way; what it wrote may still arrive. `reply_bytes_kept` of
  // the replies not yet received are delivered at most.
  void Cut(std::size_t reply_bytes_kept);
  // Tries again what the network held back.
  void Unblock();
  // What the client has sent, or will send, arrives no earlier than that, but
  // in time (late_max): the network has lost a piece, which is sent again.
  void Delay(TimePoint until);

  // For the server.
  void Reply(std::string_view bytes, Duration delay);
  ModelServer::Session& session() { return session_; }
  // Bytes that a stopped server has not read.
  std::string& unread() { return unread_; }

  [[nodiscard]] std::uint64_t id() const { return session_.id; }
  [[nodiscard]] SimRuntime& process() const { return process_; }
  // Nothing can come of it any more.
  [[nodiscard]] bool Finished() const;
  // Null once the client is gone.
  [[nodiscard]] net::StreamHandler* handler() const { return handler_; }
  [[nodiscard]] bool server_open() const { return server_open_; }
  // Bytes sent by the client that have not reached the server.
  [[nodiscard]] std::size_t bytes_to_server() const {
    return to_server_.bytes.size() - to_server_.head;
  }

 private:
  struct Piece {
    std::size_t bytes;
    TimePoint sent;
    TimePoint arrives;
  };
  // One direction.
  struct Flow {
    std::string bytes;
    std::size_t head = 0;
    std::deque<Piece> pieces;
    TimePoint last_arrival{};
    bool held = false;  // by a network that lets nothing through
  };
  class Delivery;
  enum class Ending : std::uint8_t { kNone, kEnd, kReset, kFailed };
  enum class Opening : std::uint8_t {
    kUnderWay,
    kRefused,
    kAccepted,
    kConnected
  };

  void Send(Flow& flow, std::string_view bytes, Duration delay);
  // Takes the bytes that are due, or a random part of them; the view holds
  // until the flow is compacted or sent to.
  std::string_view Due(Flow& flow);
  static void Compact(Flow& flow);
  static void KeepOnly(Flow& flow, std::size_t bytes);
  void ScheduleNext(Flow& flow, SimEvent& event);
  [[nodiscard]] bool Blocked() const;
  void EndClient(Ending ending);

  void Open();
  void DeliverToServer();
  void DeliverToClient();
  void NotifyClient();
  void WakeClient();
  [[nodiscard]] bool Readable() const;
  [[nodiscard]] bool Writable() const;
  ssize_t Read(const iovec* pieces, int count);
  ssize_t Write(const iovec* pieces, int count);

  World& world_;
  SimRuntime& process_;
  SimServer* const server_;  // null: none is at that address
  net::StreamHandler* handler_;
  ClientStream* stream_ = nullptr;
  ModelServer::Session session_;
  Opening opening_ = Opening::kUnderWay;
  bool server_open_ = false;
  bool client_finished_ = false;  // no more bytes will come from the client
  bool want_write_ = false;
  bool firing_ = false;
  Ending ending_ = Ending::kNone;        // how the replies end, once read
  Ending ending_heard_ = Ending::kNone;  // the client's side saw it
  Flow to_server_;
  Flow to_client_;
  std::string inbox_;
  std::size_t inbox_head_ = 0;
  std::string unread_;
  std::unique_ptr<Delivery> open_;
  std::unique_ptr<Delivery> deliver_to_server_;
  std::unique_ptr<Delivery> deliver_to_client_;
  std::unique_ptr<Delivery> notify_client_;
};

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_WORLD_SIM_CONNECTION_H_
