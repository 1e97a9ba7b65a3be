// ServerLink: the one pipelined connection of a loop to one memcached.
//
//   Submit -> waiting -> (written) sent -> (reply, in order) done
//
// States:
//   idle        no connection was tried yet; the first Submit connects, and
//               requests wait for it
//   connecting  TCP connect, then the handshake (version, stats, settings, boot
//               mark); requests wait only if the link has not failed before
//   up          requests flow; a connection that breaks is made anew at once,
//               as the first was
//   failed      the last try failed, or a deadline passed; requests end at once
//               with kNotSent, while probes go on in the background with
//               backoff: no request waits for a dead server twice
//   refused     the server answers but must not be used (too old, or the guard
//               refused its boot mark); requests end at once with kNotSent;
//               probed again with backoff
//
// A request that is over its deadline fails the whole connection: replies come
// in order, so nothing behind it would come sooner; what was sent and not
// answered ends as kLost, what was not sent as kNotSent. So does silence that
// is confirmed: for much longer than the server's replies take as a rule not a
// byte has come for what was sent, nor, after as long again, over another
// connection. A request with a time of its own may be silent for as long.
#ifndef ERS_NET_SERVER_LINK_H_
#define ERS_NET_SERVER_LINK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/count.h"
#include "net/endpoint.h"
#include "net/latency.h"
#include "net/request.h"
#include "net/runtime.h"
#include "net/silence_watch.h"

namespace ers::net {

// What the handshake learned of the server process.
struct ServerFacts {
  // pid, start time and the random nonce item: differs for every life of the
  // server's memory.
  std::string boot_mark;
  std::string version;
  std::uint64_t item_size_max = 1 << 20;
  // Larger items are made of several chunks.
  std::uint64_t slab_chunk_max = 0;
  bool evictions = true;
  // What its clock and its uptime showed, in Unix seconds and in seconds, some
  // time after that moment. It is up for up to 3 s less than it shows.
  std::uint64_t clock_seconds = 0;
  std::uint64_t up_seconds = 0;
  TimePoint greeted;
};

// Counted since construction, at the socket. Any thread may read.
struct LinkCounters {
  Count bytes_sent;
  Count bytes_received;
  Count requests;
  Count connections;
  Count failures;
  Count standing;  // goes down, too: connections whose handshake is done
  // From when a request for an item left to the end of its reply.
  Latency latency;
};

// What a link asks its owner, on the loop thread. Must not destroy the link
// that asks.
class LinkGuard {
 public:
  virtual ~LinkGuard() = default;
  // At the end of each handshake, before any request is sent. False refuses the
  // server; `why` then becomes last_error().
  virtual bool Accept(int member, const ServerFacts& facts,
                      std::string* why) = 0;
  // Before the server, silent since then, is asked over another connection; and
  // before the silence there, since it was asked, makes it a dead one. False:
  // what is silent may be the network, or more servers are than may be out.
  virtual bool MaySuspect(int /*member*/, TimePoint /*since*/) { return true; }
};

struct LinkOptions {
  Duration connect_timeout = std::chrono::milliseconds(500);  // with handshake
  Duration request_timeout = std::chrono::seconds(1);
  // The least silence after which the server is asked over another connection;
  // 0, or as long as request_timeout: it is not.
  Duration silence_timeout{};
  Duration backoff_min = std::chrono::milliseconds(50);
  Duration backoff_max = std::chrono::seconds(2);
  std::string nonce_key = "ers!boot";  // item that marks the server's memory
  // Where to count, also together with other links of this loop; outlives the
  // link. Null: for itself.
  LinkCounters* counters = nullptr;
};

// Loop thread only. Destruction ends open requests (kNotSent or kLost) by
// calling their `done` at once.
class ServerLink {
 public:
  // `runtime` and `guard` (may be null) outlive the link. `member` is passed
  // to the guard.
  ServerLink(Runtime& runtime, Endpoint endpoint, int member,
             const LinkOptions& options, LinkGuard* guard);
  ~ServerLink();
  ServerLink(const ServerLink&) = delete;
  ServerLink& operator=(const ServerLink&) = delete;

  // See Request for the contract. Requests of one loop turn leave in one
  // write; replies come in the order of Submit. A `done` may submit again, also
  // the same request, or destroy the link.
  void Submit(Request& request);

  // Drops the connection: sent requests end as kLost. Used when a member
  // leaves the view. The link probes again with backoff. No-op while idle.
  void Abort(const std::string& reason);

  // What kept the link from its server is over: it is tried again now, and
  // requests wait for that as for the first try. No-op while up or idle.
  void Retry();

  // From now on its server is another one. What is open ends, as after Abort;
  // the next Submit connects.
  void MoveTo(Endpoint endpoint);

  // Sends lazy requests now.
  void Flush();

  enum class State : std::uint8_t {
    kIdle,
    kConnecting,  // requests wait for it
    kUp,
    kFailed,   // requests end at once; tried again after a backoff
    kRefused,  // likewise: it answers, but is not what it must be
  };
  State state() const;
  int member() const;
  const Endpoint& endpoint() const;
  // Of the current connection; empty boot_mark unless the link is up.
  const ServerFacts& facts() const;
  std::uint64_t connection() const;  // id of the current one; 0 unless up
  // Why the link last failed or was refused: "connection refused". Empty if
  // it never was.
  const std::string& last_error() const;
  const LinkCounters& counters() const;
  const SilenceWatch& silence() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ers::net

#endif  // ERS_NET_SERVER_LINK_H_
