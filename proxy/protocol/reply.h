// Reply writers: an outcome as bytes of the protocol that its request came in.
#ifndef ERS_PROXY_PROTOCOL_REPLY_H_
#define ERS_PROXY_PROTOCOL_REPLY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/request.h"

namespace ers::proxy {

enum class ReplyStatus : std::uint8_t {
  // What the operation is there for was done: a hit, stored, deleted, touched,
  // the
  // end of a list of stats, keys or gets.
  kDone,
  kNotStored,  // add of a key that is there; replace, append of one that is not
  kExists,     // another CAS than the one to compare with
  kNotFound,
  kNotNumber,     // arithmetic on something else
  kAlreadyThere,  // transition to what the object is
  kTooLarge,
  kNoMemory,
  kClientError,  // `text` says what the client did wrong
  kServerError,  // `text` says what is broken
};

// The version of memcached that we speak like. Clients compare it as numbers,
// so nothing stands behind it.
inline constexpr std::string_view kSpokenVersion = "1.6.18";

// What a reply may say of an item.
struct ItemInfo {
  std::uint64_t bytes = 0;  // length of the value
  std::uint32_t client_flags = 0;
  std::uint64_t cas = 0;
  std::int64_t ttl = -1;     // seconds left; -1: never expires
  std::uint64_t idle = 0;    // seconds since the access before
  bool fetched = false;      // was accessed before
  bool won = false;          // this client is to recache it
  bool stale = false;        // was invalidated
  bool another_won = false;  // another client is to recache it
};

struct Reply {
  ReplyStatus outcome = ReplyStatus::kDone;
  ItemInfo item = {};        // kDone of kGet, kStore (cas), kArithmetic, ...
  std::uint64_t number = 0;  // kDone of kArithmetic
  bool created = false;      // by it
  // kClientError, kServerError: one line without the word before it; line ends
  // in it become blanks. kVersion: the version. kStats: a line of its own in
  // place of the end of a list ("RESET", "OK"); binary ends the list.
  std::string_view text = {};
};

// All functions append to `out`, and append nothing where the style of the
// request wants no reply. Any thread.

// A whole reply. Not for a hit of kGet that wants the value: see below. A miss
// or error of a text get is in the reply to its kEndOfGets only: give that
// one the outcome of the first error.
void AppendReply(const ClientRequest& request, const Reply& reply,
                 std::string& out);

// A hit of a kGet with want_value: the caller sends this, then the item.bytes
// bytes of the value, then ValueTrailer.
void AppendValueHeader(const ClientRequest& request, const ItemInfo& item,
                       std::string& out);
std::string_view ValueTrailer(const ClientRequest& request);

// kStats, kInspect, kTransition: one line of the list. AppendReply ends it.
void AppendStat(const ClientRequest& request, std::string_view name,
                std::string_view value, std::string& out);
// kList: one object, its key in base64 and a `b` behind all where a line cannot
// hold it. AppendReply ends the list.
void AppendListed(std::string_view key, std::string_view scheme,
                  std::string_view width, std::uint64_t bytes,
                  std::string& out);

// Of a traced request, behind its reply (of gets: behind that of kEndOfGets),
// also where that is nothing: lines about how it was done, and their end.
void AppendTrace(std::string_view name, std::string_view value,
                 std::string& out);
void AppendEndOfTrace(std::string& out);

}  // namespace ers::proxy

#endif  // ERS_PROXY_PROTOCOL_REPLY_H_
