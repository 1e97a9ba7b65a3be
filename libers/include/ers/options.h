// Options of a cluster, a client and single calls. Plain values.
#ifndef ERS_OPTIONS_H_
#define ERS_OPTIONS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ers/scheme.h"

namespace ers {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
// Receives the library's log lines (no newline). May be called on any thread
// that is inside a call of the library; must not call back into it.
using LogSink = std::function<void(LogLevel, std::string_view)>;

// Limits that are part of the stored format's promise
// (docs/reference/format.md).
inline constexpr std::uint64_t kMaxValueBytes = std::uint64_t{256} << 20;
inline constexpr std::uint64_t kMaxGroupBytes = std::uint64_t{8} << 20;
inline constexpr std::size_t kMaxKeyBytes = 250;
inline constexpr int kMaxMembers = 1024;
inline constexpr std::size_t kMaxInlineBelow = std::size_t{1} << 20;
// Values are coded where that takes an eighth less of the servers' memory, by
// scheme and f; at the latest from kMaxInlineAuto on, as every listing reads
// what rides in manifests.
inline constexpr std::size_t kInlineAuto = ~std::size_t{0};
inline constexpr std::size_t kMaxInlineAuto = std::size_t{16} << 10;
inline constexpr std::size_t kMaxColumnBelow = std::size_t{1} << 20;

inline constexpr int kMaxHedgePercent = 100;

struct ClusterOptions {
  // "host:port[:weight][=label],[IPv6]:port,/unix/socket,...": every member, in
  // any order, the same list for every process of the cluster. The process that
  // is first to use a cluster fixes labels, and of modula and ch3 the order.
  std::string servers;
  // "host:port" of an HTTP proxy that takes CONNECT, as the admin port of an
  // ersproxy does: every connection to a server is made through it, and
  // servers' names are resolved there. connect_timeout then has to do for the
  // proxy's own connection, too. Empty: none.
  std::string through;
  std::string through_token;  // which it wants (Bearer); empty: none
  // Which server a key belongs to, as the proxy or client had it that the
  // servers' values come from: "ketama", "modula" or "ch3"; a hash such as
  // "md5" or "fnv1a_64"; two characters between which the part of a key is that
  // decides. Fixed when the cluster is first used. All empty: the cluster's; of
  // a new one ketama with md5, as libmemcached's clients have it.
  std::string distribution;
  std::string hash;
  std::string hash_tag;
  // Where this process keeps the newest view it has seen, so that it never goes
  // back behind it after a restart. Empty: kept on the servers alone.
  std::string state_file;
  // f, the largest m that any object of the cluster may have: the number of
  // servers that may die. Fixed when the cluster is first used; 0 takes it
  // from the cluster, or from the first scheme used on a new one.
  int max_failures = 0;
  std::chrono::milliseconds connect_timeout{500};
  // A server that does not answer for this long counts as dead. So does one
  // that was silent for a tenth of it (at least 100 ms, and ten times what
  // nearly all of its replies take), and then for as long again when it was
  // asked over another connection.
  std::chrono::milliseconds request_timeout{1000};
  // A call gives up after this long; it is checked between round trips. It
  // begins anew when a change has stored its blocks: neither the length of a
  // value nor the time its source takes counts.
  std::chrono::milliseconds operation_timeout{30000};
  // The least number of further servers that may be lost when a value is newly
  // written while others are out: a put for which too few are left is refused
  // (kUnavailable). At most the m of the value's scheme is asked for. 0: values
  // are taken as long as they can be read back.
  int min_redundancy = 0;
  // Where a server answers late, what replaces its blocks is read, too, and
  // what is there first is taken. So much may be read in vain: a part of all
  // that is read, and 16 MiB at first for each client. 0: none; up to
  // kMaxHedgePercent.
  int hedge_percent = 3;
  // Keys may hold any bytes, for programs whose own clients may send such; the
  // items of those keys are named by a hash. All processes of a cluster may
  // differ in this.
  bool binary_keys = false;
  // An unconditional put replaces an item that a plain memcached client stored
  // under the key, in place of kNotManaged.
  bool adopt_plain_items = false;
  LogSink log;  // empty: silent
};

struct ClientOptions {
  // For objects that name no scheme of their own.
  Scheme scheme{SchemeKind::kErs2, 4, 1, 5};
  // Values shorter than this ride in the manifest, whole, on f+1 servers.
  // kInlineAuto, or at most kMaxInlineBelow.
  std::size_t inline_below = kInlineAuto;
  // Elastic values shorter than this are stored as columns: fewer items, and so
  // less memory and time; but a transition reads more of them. At most
  // kMaxColumnBelow. 0: no new value; one that is in columns stays so.
  std::size_t column_below = std::size_t{96} << 10;
  // Manifests of values in blocks that are remembered, so that a GET needs one
  // round trip.
  std::size_t cached_manifests = 16384;
};

struct PutOptions {
  std::optional<Scheme> scheme;  // the client's where empty
  // The width that an elastic object is born with.
  Width width = Width::kNarrow;
  std::uint32_t client_flags = 0;
  // Absolute Unix time in seconds, by the servers' clocks (ClusterInfo::time);
  // 0 never.
  std::int64_t expiry = 0;
  // The object must have this client CAS (0: no condition).
  std::uint64_t expected_cas = 0;
  // There must be no object (kConflict), also none of which blocks are lost.
  bool only_if_absent = false;
};

enum class ExportMode {
  kExport,
  // Reads and checks all, and no item is written. What only a write shows is
  // not found: a full server.
  kCheckOnly,
};

// Where a transition goes: another width of the object's own elastic scheme,
// another m of its own scheme, both at once, or any scheme. Without a width
// that is narrow; but the object's own where the scheme differs from its own in
// m at most.
struct TransitionTarget {
  std::optional<Width> width;
  std::optional<Scheme> scheme;
  // The width by the data blocks of a stripe, where `width` is empty.
  std::optional<int> data_blocks = std::nullopt;
  // The m, in place of that of the scheme.
  std::optional<int> parity_blocks = std::nullopt;
};

// A width: "narrow", "wide" or the data blocks of a stripe, as "6"; a width and
// the parity blocks of a stripe: "wide,2", "6,2", or "same,2" for the width
// that the object has; or a scheme. kInvalidArgument quotes the text.
ERS_API Result<TransitionTarget> ParseTransitionTarget(std::string_view text);

}  // namespace ers

#endif  // ERS_OPTIONS_H_
