// Handshake: the first requests on a connection: which server it is, and
// whether its memory is still the one of before. No I/O.
#ifndef ERS_NET_HANDSHAKE_H_
#define ERS_NET_HANDSHAKE_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "net/request.h"
#include "net/server_link.h"

namespace ers::net {

// The nonce item marks a life of the server's memory: a process that finds none
// creates one with a random value, for ever, by cas, so that of several
// processes one wins and all read the same. An emptied memory (restart,
// flush_all) has lost it. Not copyable: its requests point into it.
class Handshake {
 public:
  enum class Progress : std::uint8_t {
    kWait,     // more replies are outstanding
    kSend,     // send next(), then wait for its reply
    kDone,     // facts() are complete
    kRefused,  // error() says why this server must not be used
    kBroken,   // error() says what was wrong with a reply
  };

  // `nonce_key` outlives the handshake.
  explicit Handshake(std::string_view nonce_key) : nonce_key_(nonce_key) {}
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

  // Starts over, at `now`. Sent in one go, in this order. `random` becomes the
  // nonce if this process is the one to create it.
  std::span<Request> Begin(std::uint64_t random, TimePoint now);
  // `reply` is the oldest of the requests sent, with its outcome.
  Progress OnReply(const Request& reply);
  Request& next() { return cas_or_reread_; }

  const ServerFacts& facts() const { return facts_; }
  const std::string& error() const { return error_; }

 private:
  Progress OnVersion(const Request& reply);
  Progress OnStats(const Request& reply);
  Progress OnSettings(const Request& reply);
  Progress OnNonce(const Request& reply);
  Progress OnNonceWritten(const Request& reply);
  Progress ReadNonce();
  Progress Refuse(std::string why);
  Progress Break(std::string what);

  std::string_view nonce_key_;
  std::string nonce_;
  iovec nonce_piece_{};
  int reads_ = 0;  // of the nonce
  std::array<Request, 4> first_;
  Request cas_or_reread_;
  ServerFacts facts_;
  std::string error_;
};

}  // namespace ers::net

#endif  // ERS_NET_HANDSHAKE_H_
