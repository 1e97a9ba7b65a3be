// What ersproxy runs with, whether a file or the command line says so.
#ifndef ERS_PROXY_CONFIG_OPTIONS_H_
#define ERS_PROXY_CONFIG_OPTIONS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/policies.h"
#include "config/rules.h"
#include "ers/options.h"
#include "shared/log.h"

namespace ers::proxy {

inline constexpr int kMaxThreads = 256;
inline constexpr int kMaxConnections = 1 << 20;
inline constexpr int kMaxFailures = 254;
inline constexpr std::uint64_t kMaxMemoryInFlight = std::uint64_t{1} << 50;

// Connections to the admin port at a time. The oldest make room for new ones.
inline constexpr std::size_t kMaxAdminConnections = 128;

// The old pool that misses are asked at.
struct WarmFrom {
  std::string servers;       // as ClusterOptions has them; empty: there is none
  std::string distribution;  // by which its values lie there
  std::string hash;
  std::string hash_tag;
  std::chrono::milliseconds timeout{250};
};

struct ServerOptions {
  std::vector<std::string> listen = {"127.0.0.1:11211"};
  ClusterOptions cluster;
  ClientOptions client;  // scheme and inline limit where no rule says otherwise
  std::shared_ptr<const Rules> rules = std::make_shared<const Rules>();
  Policies policies;
  GarbageSettings garbage;
  BackfillLimits backfill;
  WarmFrom warm_from;
  int threads = 2;
  std::uint64_t max_value_bytes = kMaxValueBytes;
  int max_connections = 16384;  // of all threads
  // A client that is waited for so long is closed; 0: none.
  std::chrono::seconds idle_timeout{0};
  // What requests under way may hold of values, all together. 0: 1 GiB, or
  // the least that is possible where that is more.
  std::uint64_t memory_in_flight_bytes = 0;
  // How often all objects are counted, for monitoring; 0: never.
  std::chrono::seconds count_objects_every{0};
  std::string admin;  // where HTTP is served; empty: nowhere
  // Where admin's token is kept; empty: it needs none, and must be loopback.
  std::string admin_token_file;
  std::string admin_token;  // what was there, once the options are complete
  // Where jobs are kept over a restart; empty: nowhere.
  std::string state_dir;
  // Where traces of requests are sent, as ParseCollectorUrl takes it; empty:
  // nowhere.
  std::string trace_export;
  double trace_sample = 0.001;  // the part of the requests, 0 to 1
  std::string user;  // that root's process becomes; empty: it stays as it is
  std::string port_file;  // gets the names of the listeners; empty: none
  std::string log_level = "info";  // one of kLogLevels
  LogFormat log_format = LogFormat::kText;

  std::string config_file;  // empty: the command line alone
  // Where a setting was set, in the words that begin a message about it:
  // "FILE:7: limits.max_connections" or "--max-connections". By the file's
  // names.
  std::map<std::string, std::string, std::less<>> places;

  // The words of `places`, also for what was never set.
  [[nodiscard]] std::string PlaceOf(std::string_view setting) const;
};

// What one request may need at most, in bytes, to end what it has begun: a
// group of a long value with its parity, or two groups.
std::uint64_t MemoryReserve(const ServerOptions& options);

// Checks what one setting alone does not show, and fills in what follows
// from others: max_failures, where it is 0, becomes the largest m of all
// schemes, memory_in_flight_bytes its default, and admin_token what its file
// holds. kInvalidArgument: the message begins with the place at fault.
Status CompleteOptions(ServerOptions& options);

// What is right, and yet seldom meant: each begins with its place. Of options
// that are complete.
std::vector<std::string> WarningsOf(const ServerOptions& options);

// OK where a running daemon can take `fresh` in place of `running`: only rules,
// policies, backfill, limits, the token, the share of traced requests and the
// log's level differ (and servers, which the caller compares). Else
// kInvalidArgument names what differs. Both are complete.
Status CheckReload(const ServerOptions& running, const ServerOptions& fresh);

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_OPTIONS_H_
