// Session: one connection through the relay, by the rules of its server.
#ifndef ERS_EVAL_TAILS_SESSION_H_
#define ERS_EVAL_TAILS_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/event_loop.h"
#include "tails/lane.h"

namespace ers::eval {

// How a server is made slow.
struct Rules {
  net::Duration delay{};         // of every reply
  double late_share = 0;         // of the replies, which are
  net::Duration late_by{};       // so much later
  std::uint64_t bits_per_s = 0;  // each way; 0: no limit
};

// What has passed. A request is what a client sends in one go, a reply what
// the server sends behind that: pipelined ones count as one.
struct Counts {
  std::uint64_t connections = 0;
  std::uint64_t requests = 0;
  std::uint64_t replies = 0;
  std::uint64_t late = 0;      // of the replies
  std::uint64_t bytes_in = 0;  // from clients
  std::uint64_t bytes_out = 0;
};

// What all connections to a server share.
struct Traffic {
  Rules rules;
  Counts counts;
  Wire in, out;
};

class Session {
 public:
  // What it needs of the relay, which outlives it.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void WakeAt(net::TimePoint due) = 0;
    // It is over: to be destroyed from the loop, not in this call.
    virtual void Ended(Session& session) = 0;
    // The longest chain of replies, each asked for after the one before.
    virtual std::uint64_t& Depth() = 0;
  };

  // Both are connected sockets, which become its own.
  Session(net::EventLoop& loop, Owner& owner, Traffic& traffic, int client,
          int server);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // While it is cut off nothing passes, and neither end is closed.
  void CutOff(bool cut);
  // Writes what is due by now.
  void Flush();

 private:
  struct End;

  void Took(End& from, std::string_view bytes);
  net::TimePoint DueOfReply(net::TimePoint now);
  void FlushTo(End& to);
  void SetReading();
  void Over();
  End& OtherOf(const End& end);

  net::EventLoop& loop_;
  Owner& owner_;
  Traffic& traffic_;
  std::unique_ptr<End> client_, server_;
  bool cut_ = false;
  bool ended_ = false;
  bool asked_ = false;             // since the last byte of a reply
  std::uint64_t asked_depth_ = 0;  // of the newest request
  net::TimePoint late_until_;      // of the reply under way
};

}  // namespace ers::eval

#endif  // ERS_EVAL_TAILS_SESSION_H_
