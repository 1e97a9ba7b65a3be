#include "net/handshake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "net/number.h"
#include "net/stat_lines.h"

namespace ers::net {
namespace {

enum Position : std::uint8_t { kVersion, kStats, kSettings, kNonce };

// How long the stub of a nonce may stay unwritten: a process that died between
// the two steps leaves it, and any other writes over it.
constexpr std::int64_t kStubSeconds = 60;
// Each further read means that the item went away or changed in between.
constexpr int kMaxNonceReads = 8;
constexpr std::size_t kMaxNonce = 64;
// Only an ersproxy has it.
constexpr std::string_view kProxyStat = "ers_version";

// "1.6.18" or "1.6.18_1-debian" as 1.6; the meta commands are complete there.
bool IsNewEnough(std::string_view version) {
  const auto number = [&version] {
    std::size_t digits = 0;
    while (digits < version.size() && version[digits] >= '0' &&
           version[digits] <= '9') {
      ++digits;
    }
    int value = 0;
    if (!ParseNumber(version.substr(0, digits), &value)) value = 0;
    version.remove_prefix(digits);
    return value;
  };
  const int major = number();
  if (!version.starts_with('.')) return major > 1;
  version.remove_prefix(1);
  return major > 1 || (major == 1 && number() >= 6);
}

bool IsNonce(std::string_view value) {
  return !value.empty() && value.size() <= kMaxNonce &&
         std::all_of(value.begin(), value.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

std::span<Request> Handshake::Begin(std::uint64_t random, TimePoint now) {
  facts_ = ServerFacts();
  facts_.greeted = now;
  error_.clear();
  reads_ = 0;
  nonce_ = fmt::format("{:016x}", random);
  nonce_piece_ = {nonce_.data(), nonce_.size()};
  first_ = {};
  first_[kVersion].verb = Verb::kVersion;
  first_[kStats].verb = Verb::kStats;
  first_[kSettings].verb = Verb::kStats;
  first_[kSettings].key = "settings";
  ReadNonce();
  first_[kNonce].verb = cas_or_reread_.verb;
  first_[kNonce].key = cas_or_reread_.key;
  first_[kNonce].exptime = cas_or_reread_.exptime;
  return first_;
}

Handshake::Progress Handshake::OnReply(const Request& reply) {
  if (&reply == &first_[kVersion]) return OnVersion(reply);
  if (&reply == &first_[kStats]) return OnStats(reply);
  if (&reply == &first_[kSettings]) return OnSettings(reply);
  if (reply.verb == Verb::kVivify) return OnNonce(reply);
  return OnNonceWritten(reply);
}

Handshake::Progress Handshake::OnVersion(const Request& reply) {
  if (reply.outcome != Outcome::kOk) {
    return Break("it did not answer with its version: " + reply.value);
  }
  facts_.version = reply.value;
  if (!IsNewEnough(facts_.version)) {
    return Refuse(fmt::format("memcached {} is too old: 1.6 or newer is needed",
                              facts_.version));
  }
  return Progress::kWait;
}

Handshake::Progress Handshake::OnStats(const Request& reply) {
  const auto pid = StatNumber(reply.value, "pid");
  const auto time = StatNumber(reply.value, "time");
  const auto uptime = StatNumber(reply.value, "uptime");
  if (reply.outcome != Outcome::kOk || !pid || !time || !uptime) {
    return Break("stats lacks pid, time or uptime: is it a memcached?");
  }
  // It answers as a memcached does, and what it stores is coded already.
  if (Stat(reply.value, kProxyStat)) {
    return Refuse(
        "it is an ersproxy: list the memcached servers behind it, or give its "
        "address as --proxy");
  }
  // Their difference stays the same for the life of the process.
  facts_.boot_mark = fmt::format("{}/{}/", *pid, *time - *uptime);
  facts_.clock_seconds = *time;
  facts_.up_seconds = *uptime;
  return Progress::kWait;
}

Handshake::Progress Handshake::OnSettings(const Request& reply) {
  const auto item_size_max = StatNumber(reply.value, "item_size_max");
  const auto evictions = Stat(reply.value, "evictions");
  if (reply.outcome != Outcome::kOk || !item_size_max || !evictions) {
    return Break(
        "stats settings lacks item_size_max or evictions: is it a memcached?");
  }
  facts_.item_size_max = *item_size_max;
  facts_.slab_chunk_max = StatNumber(reply.value, "slab_chunk_max").value_or(0);
  facts_.evictions = *evictions != "off";
  return Progress::kWait;
}

Handshake::Progress Handshake::OnNonce(const Request& reply) {
  switch (reply.outcome) {
    case Outcome::kOk:
      if (IsNonce(reply.value)) {
        facts_.boot_mark += reply.value;
        return Progress::kDone;
      }
      if (!reply.value.empty()) {
        return Refuse(fmt::format(
            "its item \"{}\" is not the mark of this library: delete it",
            nonce_key_));
      }
      break;  // a stub: the process that writes first wins
    case Outcome::kCreated:
      break;
    case Outcome::kNoMemory:
      return Refuse("it has no memory left for the item that marks its boot");
    default:
      return Break("reading its boot mark failed: " + reply.value);
  }
  const std::uint64_t token = reply.item_token;
  cas_or_reread_ = Request();
  cas_or_reread_.verb = Verb::kCas;
  cas_or_reread_.key = nonce_key_;
  cas_or_reread_.token = token;
  cas_or_reread_.body = std::span(&nonce_piece_, 1);
  return Progress::kSend;
}

Handshake::Progress Handshake::OnNonceWritten(const Request& reply) {
  switch (reply.outcome) {
    case Outcome::kOk:
      facts_.boot_mark += nonce_;
      return Progress::kDone;
    case Outcome::kExists:  // another process was first, or
    case Outcome::kMiss:    // the memory was emptied meanwhile
      if (reads_ < kMaxNonceReads) return ReadNonce();
      return Break(
          "its boot mark does not stay: is it flushed all the time, or too "
          "full to keep an item?");
    case Outcome::kNoMemory:
      return Refuse("it has no memory left for the item that marks its boot");
    default:
      return Break("writing its boot mark failed: " + reply.value);
  }
}

Handshake::Progress Handshake::ReadNonce() {
  ++reads_;
  cas_or_reread_ = Request();
  cas_or_reread_.verb = Verb::kVivify;
  cas_or_reread_.key = nonce_key_;
  cas_or_reread_.exptime = kStubSeconds;
  return Progress::kSend;
}

Handshake::Progress Handshake::Refuse(std::string why) {
  error_ = std::move(why);
  return Progress::kRefused;
}

Handshake::Progress Handshake::Break(std::string what) {
  error_ = std::move(what);
  return Progress::kBroken;
}

}  // namespace ers::net
