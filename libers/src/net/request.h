// Request: one command to one server, and its reply.
#ifndef ERS_NET_REQUEST_H_
#define ERS_NET_REQUEST_H_

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "net/runtime.h"

namespace ers::net {

enum class Verb : std::uint8_t {
  kGet,     // mg KEY v c f t s: value, token, client flags, ttl
  kHead,    // mg KEY c f t s: the same without the value
  kVivify,  // mg KEY v c f t s N<ttl>: as kGet; a miss leaves an empty stub
  kTouch,   // mg KEY T<exptime>: no value
  kSet,     // ms KEY: unconditional
  kCas,     // text "cas": never deletes the old item when memory is short
  kDelete,  // md KEY [C<token>]
  kRenew,   // md KEY I [C<token>] [T<exptime>]: the item stays and gets another
            // token; takes no memory
  kStats,   // stats [argument in key, may be empty]: lines into `value`
  kMetadump,  // lru_crawler metadump [what in key; empty: hash]: lines to
              // `on_line`, or into `value`. Alone on its link until it ends
              // (the caller's duty): the server refuses it behind other
              // commands, and reads none behind it
  kWatch,     // watch KEY ("evictions"): what the server reports by itself from
              // then on, line by line to `on_line`, or into `value`, until the
              // connection ends (kLost). Alone on its link (the caller's duty)
  kVersion,   // version: what it answers into `value`
  kSentinel,  // mn: the link's own, behind quiet requests
};

// Is it about one item?
constexpr bool HasKey(Verb verb) {
  return verb != Verb::kStats && verb != Verb::kMetadump &&
         verb != Verb::kWatch && verb != Verb::kVersion &&
         verb != Verb::kSentinel;
}

enum class Outcome : std::uint8_t {
  kPending,
  kOk,           // stored, deleted, touched; a hit for kGet, kHead, kVivify
  kCreated,      // kVivify: it was a miss, the stub is there, token is its
  kMiss,         // no such item
  kExists,       // kCas, kDelete, kRenew: the item has another token
  kNotStored,    // refused without a word why
  kNoMemory,     // "out of memory storing object" and its like; kVivify: no
                 // such item, and no memory for the stub
  kTooLarge,     // "object too large for cache"
  kServerError,  // another error line; it is in `value`
  kWrongSize,    // kGet with `into`: the value has another size; it was read
                 // and thrown away
  kNotSent,      // not a byte left: server down, wrong connection or boot
  kLost,         // sent whole or in part, and no reply: it may or may not
                 // have been applied, also later
};

// Did the server say what it came to?
inline bool Answered(Outcome outcome) {
  return outcome != Outcome::kNotSent && outcome != Outcome::kLost;
}

// Filled in by the caller, which keeps it and everything it points to alive and
// unmoved until `done` was called: exactly once, on the loop thread, never
// from inside ServerLink::Submit. Reusable from then on: Submit clears the
// answer fields.
struct Request {
  Verb verb = Verb::kGet;
  // 1..250 bytes without spaces or control characters (the caller's duty,
  // asserted). Not used by kVersion.
  std::string_view key;
  std::uint32_t client_flags = 0;  // kSet, kCas
  // memcached's exptime: 0 never, up to 30 days relative, above absolute
  // seconds. kVivify: the stub's ttl. kRenew: 0: as it is.
  std::int64_t exptime = 0;
  std::uint64_t token = 0;  // kCas; kDelete, kRenew: 0: whatever it has
  // kCas: right behind it an mg KEY c f u asks for the token and client flags
  // of the item that is there then, whatever came of it; item_token 0: not
  // known.
  bool then_token = false;
  std::span<const iovec> body;  // kSet, kCas: the value, in pieces
  std::span<const iovec> into;  // kGet: where the value goes, in pieces that
                                // sum to its size; empty: into `value`
  // Non-zero: only over the connection of this id (a CAS token is good only
  // where it was read), else kNotSent.
  std::uint64_t only_connection = 0;
  // Non-empty: only to the server process of this boot mark, else kNotSent.
  std::string_view only_boot;
  // Not null: leaves only while the time is before that, in ticks since the
  // clock's start; else kNotSent. What has left in part by then is cut off
  // (kLost): it is not applied.
  const std::atomic<Duration::rep>* leaves_before = nullptr;
  // May wait for the next request to the same server, a short while: no reply
  // is urgent. Its timeout counts from when it leaves.
  bool lazy = false;
  // kSet, kDelete, not null: the server answers only a refusal or a miss; that
  // there was none shows when it answers what the link sends behind. Fewer
  // answers, less work for both. A refusal may be reported of another request
  // of the same verb and with the same pointer: let those share it of which one
  // refused is as bad as any.
  const void* quiet_run = nullptr;
  Duration timeout{};  // from Submit to reply; 0: the link's
  // kGet, kHead, kVivify: the server does not take it for an access.
  bool no_bump = false;
  // kGet, kHead: what is known of accesses before this one, too (h l).
  bool report_access = false;
  // kMetadump, kWatch, not null: takes the lines, each without its end, in
  // place of `value`, on the loop thread. May not touch the link.
  void (*on_line)(Request&, std::string_view line) = nullptr;
  void* line_context = nullptr;
  // kGet with `into`, not null: called, as `done` is, when more of it has come
  // while some is still on its way.
  void (*on_placed)(Request&) = nullptr;

  Outcome outcome = Outcome::kPending;
  std::uint64_t item_token = 0;  // kGet, kHead, kVivify; with then_token
  std::uint32_t item_flags = 0;
  std::int64_t item_ttl = -1;  // seconds left; -1 never expires
  std::uint64_t item_bytes = 0;
  std::size_t placed = 0;        // kGet with `into`: how much of it has come
  bool item_fetched = false;     // with report_access: was read before
  std::uint64_t item_idle = 0;   // seconds since the last access
  std::uint64_t connection = 0;  // id of the connection that was used
  // kGet without `into`, kVivify: the value. Lists: their lines, each ended by
  // '\n', without the last word. kServerError: the error line.
  std::string value;

  void (*done)(Request&) = nullptr;
  void* context = nullptr;

  // kGet with `into`, set by the caller before it is sent or while it is under
  // way: its value is of no use, so nothing more is written to `into`, and a
  // hit ends as kWrongSize.
  bool abandoned = false;

  // Link-private: queue link, deadline, and when it left.
  Request* next = nullptr;
  TimePoint deadline;
  TimePoint left_at;
};

// Of the value that it stores.
inline std::size_t BodyBytes(const Request& request) {
  std::size_t bytes = 0;
  for (const iovec& piece : request.body) bytes += piece.iov_len;
  return bytes;
}

}  // namespace ers::net

#endif  // ERS_NET_REQUEST_H_
