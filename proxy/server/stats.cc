#include "server/stats.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <optional>

#include "base/micros.h"
#include "base/mutex.h"
#include "protocol/reply.h"

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
                                       "conn_yields",
                                       "evicted_active",
                                       "evicted_unfetched",
                                       "evictions",
                                       "expired_unfetched",
                                       "get_expired",
                                       "get_flushed",
                                       "hash_bytes",
                                       "hash_is_expanding",
                                       "hash_power_level",
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
constexpr std::string_view kItemZeros[] = {
    "evicted",           "evicted_nonzero",       "evicted_time",
    "outofmemory",       "tailrepairs",           "reclaimed",
    "expired_unfetched", "evicted_unfetched",     "evicted_active",
    "crawler_reclaimed", "crawler_items_checked", "lrutail_reflocked",
    "moves_to_cold",     "moves_to_warm",         "moves_within_lru",
    "direct_reclaims",   "hits_to_hot",           "hits_to_warm",
    "hits_to_cold",      "hits_to_temp"};
// No crawler, no LRU.
constexpr std::string_view kSettingZeros[] = {
    "lru_crawler_sleep", "lru_crawler_tocrawl", "hot_lru_pct",
    "warm_lru_pct",      "hot_max_factor",      "warm_max_factor"};
constexpr std::string_view kSlabCounts[] = {
    "get_hits",  "cmd_set",  "delete_hits", "incr_hits",
    "decr_hits", "cas_hits", "cas_badval",  "touch_hits"};

constexpr std::string_view kNotSupported =
    "CLIENT_ERROR not supported by this proxy";

std::optional<std::uint32_t> NumberIn(std::string_view word) {
  std::uint32_t number = 0;
  const char* end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return number;
}

// "cachedump CLASS LIMIT". Only the class that Items reports has any, and ers
// list is the way to get those.
std::string_view CacheDump(std::string_view argument) {
  constexpr std::uint32_t kClasses = 64;
  std::string_view words[3];
  for (std::string_view& word : words) {
    word = argument.substr(0, argument.find(' '));
    argument.remove_prefix(std::min(word.size() + 1, argument.size()));
  }
  if (words[2].empty()) return "CLIENT_ERROR bad command line";
  const std::optional<std::uint32_t> number = NumberIn(words[1]);
  if (!number || !NumberIn(words[2])) {
    return "CLIENT_ERROR bad command line format";
  }
  if (*number >= kClasses) return "CLIENT_ERROR Illegal slab id";
  return *number == 1 ? kNotSupported : "";
}

}  // namespace

Totals Stats::Sum() const {
  Totals totals;
  for (const auto& worker : *workers_) {
    totals.Add(worker->counters());
    totals.Add(worker->session_counters());
    worker->requests().AddTo(totals.requests);
    worker->steps().AddTo(totals.steps);
  }
  if (background_ != nullptr) totals.Add(*background_);
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
    Slabs(stat);
  } else if (word == "items") {
    Items(stat);
  } else if (word == "sizes") {
    stat("sizes_status", "disabled");
  } else if (word == "sizes_disable") {
    return "STAT sizes_status disabled";
  } else if (word == "cachedump") {
    return std::string(CacheDump(argument));
  } else if (word == "detail" || word == "sizes_enable") {
    return std::string(kNotSupported);
  } else if (word != "conns") {
    return std::nullopt;
  }
  return "";
}

void Stats::Reset() {
  const MutexLock lock(mutex_);
  at_reset_.clear();
  for (const auto& [name, value] : StatValues(Sum())) {
    at_reset_.push_back(value);
  }
}

std::vector<std::pair<std::string_view, std::uint64_t>> Stats::SinceReset()
    const {
  // Not before: a reset in between would be of larger numbers.
  const MutexLock lock(mutex_);
  auto values = StatValues(Sum());
  for (std::size_t i = 0; i < at_reset_.size(); ++i) {
    values[i].second -= at_reset_[i];
  }
  return values;
}

void Stats::General(const Visit& stat) {
  const auto number = [&stat](std::string_view name, std::uint64_t value) {
    stat(name, fmt::format("{}", value));
  };
  const auto now = std::chrono::steady_clock::now();
  const auto uptime =
      std::chrono::duration_cast<std::chrono::seconds>(now - kStarted);
  // Times to live go by it.
  const std::optional<std::int64_t> agreed = clock_->Agreed(now);
  number("pid", static_cast<std::uint64_t>(getpid()));
  number("uptime", static_cast<std::uint64_t>(uptime.count()));
  number("time", static_cast<std::uint64_t>(agreed ? *agreed / kMicrosPerSecond
                                                   : std::time(nullptr)));
  stat("version", kSpokenVersion);
  stat("ers_version", ERS_VERSION);
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
  for (const auto& [name, value] : SinceReset()) number(name, value);
  const Census::Sum counted = shared_.census.Last().Total();
  number("curr_items", counted.objects);
  number("bytes", counted.bytes);
  for (const std::string_view name : kZeros) number(name, 0);
}

void Stats::Settings(const Visit& stat) const {
  const auto number = [&stat](std::string_view name, std::uint64_t value) {
    stat(name, fmt::format("{}", value));
  };
  number("maxbytes", 0);
  number("maxconns",
         static_cast<std::uint64_t>(shared_.max_connections.load()));
  number("verbosity", shared_.verbosity.load());
  number("idle_timeout",
         static_cast<std::uint64_t>(shared_.idle_timeout_s.load()));
  number("item_size_max", shared_.max_value_bytes.load());
  number("num_threads", static_cast<std::uint64_t>(options_.threads));
  number("ers_memory_in_flight_bytes", shared_.memory_in_flight_bytes.load());
  for (const std::string_view name : kSettingZeros) number(name, 0);
  stat("lru_crawler", "no");
  stat("lru_maintainer_thread", "no");
  stat("evictions", "on");
  stat("cas_enabled", "yes");
  stat("flush_enabled", "yes");
  stat("binding_protocol", "auto-negotiate");
  stat("ers_servers", options_.cluster.servers);
  stat("ers_scheme", FormatScheme(options_.client.scheme));
}

// One class has all objects, as last counted.
void Stats::Items(const Visit& stat) const {
  const auto number = [&stat](std::string_view name, std::uint64_t value) {
    stat(fmt::format("items:1:{}", name), fmt::format("{}", value));
  };
  const Census::Sum counted = shared_.census.Last().Total();
  number("number", counted.objects);
  number("number_hot", 0);
  number("number_warm", 0);
  number("number_cold", counted.objects);
  for (const std::string_view name : {"age_hot", "age_warm", "age"}) {
    number(name, 0);
  }
  number("mem_requested", counted.bytes);
  for (const std::string_view name : kItemZeros) number(name, 0);
}

// Its chunks are bytes.
void Stats::Slabs(const Visit& stat) const {
  const auto number = [&stat](std::string_view name, std::uint64_t value) {
    stat(fmt::format("1:{}", name), fmt::format("{}", value));
  };
  const std::uint64_t bytes = shared_.census.Last().Total().bytes;
  number("chunk_size", 1);
  number("chunks_per_page", 1);
  number("total_pages", bytes);
  number("total_chunks", bytes);
  number("used_chunks", bytes);
  number("free_chunks", 0);
  number("free_chunks_end", 0);
  for (const auto& [name, value] : SinceReset()) {
    if (std::ranges::find(kSlabCounts, name) != std::end(kSlabCounts)) {
      number(name, value);
    }
  }
  stat("active_slabs", "1");
  stat("total_malloced", fmt::format("{}", bytes));
}

}  // namespace ers::proxy
