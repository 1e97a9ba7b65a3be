#include "server/stats.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <ctime>

namespace ers::proxy {
namespace {

const auto kStarted = std::chrono::steady_clock::now();

std::string Seconds(const timeval& time) {
  return fmt::format("{}.{:06}", time.tv_sec, time.tv_usec);
}

// What memcached counts and a proxy has none of: monitoring that asks for them
// gets numbers.
constexpr std::string_view kZeros[] = {"auth_cmds",
                                       "auth_errors",
                                       "bytes",
                                       "conn_yields",
                                       "curr_items",
                                       "evicted_active",
                                       "evicted_unfetched",
                                       "evictions",
                                       "expired_unfetched",
                                       "get_expired",
                                       "get_flushed",
                                       "hash_bytes",
                                       "hash_is_expanding",
                                       "hash_power_level",
                                       "idle_kicks",
                                       "limit_maxbytes",
                                       "listen_disabled_num",
                                       "lru_crawler_running",
                                       "lru_crawler_starts",
                                       "lru_maintainer_juggles",
                                       "malloc_fails",
                                       "reclaimed",
                                       "slab_global_page_pool",
                                       "slab_reassign_running",
                                       "slabs_moved",
                                       "total_items",
                                       "crawler_items_checked",
                                       "crawler_reclaimed",
                                       "direct_reclaims",
                                       "lrutail_reflocked",
                                       "moves_to_cold",
                                       "moves_to_warm",
                                       "moves_within_lru",
                                       "log_watcher_skipped",
                                       "log_watcher_sent",
                                       "time_in_listen_disabled_us"};

}  // namespace

Totals Stats::Sum() const {
  Totals totals;
  for (const auto& worker : *workers_) {
    totals.Add(worker->counters());
    totals.Add(worker->session_counters());
    worker->requests().AddTo(totals.requests);
    worker->steps().AddTo(totals.steps);
  }
  return totals;
}

std::optional<std::string> Stats::Answer(const std::string& argument,
                                         const Visit& stat) {
  const std::string_view word =
      std::string_view(argument).substr(0, argument.find(' '));
  if (word.empty()) {
    General(stat);
  } else if (word == "settings") {
    Settings(stat);
  } else if (word == "reset") {
    Reset();
    return "RESET";
  } else if (word == "servers") {
    stat("servers", options_.cluster.servers);
  } else if (word == "slabs") {
    stat("active_slabs", "0");
    stat("total_malloced", "0");
  } else if (word == "sizes") {
    stat("sizes_status", "disabled");
  } else if (word == "detail" || word == "cachedump") {
    return "CLIENT_ERROR not supported by this proxy";
  } else if (word != "items" && word != "conns") {
    return std::nullopt;
  }
  return "";  // a proxy has no items of its own
}

void Stats::Reset() {
  const std::lock_guard lock(mutex_);
  at_reset_.clear();
  for (const auto& [name, value] : StatValues(Sum())) {
    at_reset_.push_back(value);
  }
}

void Stats::General(const Visit& stat) {
  const auto number = [&stat](std::string_view name, std::uint64_t value) {
    stat(name, fmt::format("{}", value));
  };
  const auto uptime = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::steady_clock::now() - kStarted);
  number("pid", static_cast<std::uint64_t>(getpid()));
  number("uptime", static_cast<std::uint64_t>(uptime.count()));
  number("time", static_cast<std::uint64_t>(std::time(nullptr)));
  stat("version", "1.6.18-ersproxy-" ERS_VERSION);
  number("pointer_size", 8 * sizeof(void*));
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  stat("rusage_user", Seconds(used.ru_utime));
  stat("rusage_system", Seconds(used.ru_stime));
  number("max_connections",
         static_cast<std::uint64_t>(shared_.max_connections.load()));
  const auto open = static_cast<std::uint64_t>(shared_.connections.load());
  number("curr_connections", open);
  number("connection_structures", open);
  number("accepting_conns", 1);
  number("threads", static_cast<std::uint64_t>(options_.threads));
  {
    const std::lock_guard lock(mutex_);
    const auto values = StatValues(Sum());
    for (std::size_t i = 0; i < values.size(); ++i) {
      number(values[i].first,
             values[i].second - (at_reset_.empty() ? 0 : at_reset_[i]));
    }
  }
  for (const std::string_view name : kZeros) number(name, 0);
}

void Stats::Settings(const Visit& stat) const {
  const auto number = [&stat](std::string_view name, std::uint64_t value) {
    stat(name, fmt::format("{}", value));
  };
  number("maxbytes", 0);
  number("maxconns",
         static_cast<std::uint64_t>(shared_.max_connections.load()));
  number("item_size_max", shared_.max_value_bytes.load());
  number("num_threads", static_cast<std::uint64_t>(options_.threads));
  number("ers_memory_in_flight_bytes", shared_.memory_in_flight_bytes.load());
  stat("evictions", "on");
  stat("cas_enabled", "yes");
  stat("flush_enabled", "yes");
  stat("binding_protocol", "auto-negotiate");
  stat("ers_servers", options_.cluster.servers);
  stat("ers_scheme", FormatScheme(options_.client.scheme));
}

}  // namespace ers::proxy
