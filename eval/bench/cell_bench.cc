#include "bench/cell_bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>

#include "analysis/output.h"
#include "bench/contenders.h"
#include "bench/interface_bytes.h"
#include "bench/tapped_contender.h"
#include "store/format/block_header.h"

namespace ers::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kCopies = "libmemcached-copies";
// Links may be slow, and no server is to count as dead for that.
constexpr std::chrono::minutes kPatience{5};

bool IsChain(std::string_view way) { return way.starts_with("ers:"); }

// From any width of a chain to any wider one.
Result<Way> ChainWayOf(const Cell& cell) {
  const auto chain = ParseScheme(fmt::format("{},{}", cell.way, cell.m));
  if (!chain.has_value()) return Fail(chain.error());
  const auto from = WidthNamed(*chain, std::to_string(cell.k));
  const auto to = WidthNamed(*chain, std::to_string(cell.kp));
  if (!from.has_value() || !to.has_value() || cell.k >= cell.kp) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("{} has no widths {} and {}, the second wider",
                            FormatScheme(*chain), cell.k, cell.kp));
  }
  Way way{*chain, *chain};
  way.from = *from;
  way.to = *to;
  return way;
}

// No value for the copies, which are not the library's.
Result<Way> WayOf(const Cell& cell) {
  const auto elastic = [&cell](SchemeKind kind, TransitionVariant forward,
                               TransitionVariant backward) {
    const Scheme scheme{kind, cell.k, cell.m, cell.kp};
    return Way{scheme, scheme, forward, backward};
  };
  const Scheme narrow{SchemeKind::kRs, cell.k, cell.m, cell.k};
  using Variant = TransitionVariant;
  if (cell.way == "rep") {
    const Scheme rep{SchemeKind::kRep, 1, cell.m, 1};
    return Way{rep, rep};
  }
  if (cell.way == "rs") return Way{narrow, narrow};
  if (cell.way == "reencode") {
    return Way{narrow, Scheme{SchemeKind::kRs, cell.kp, cell.m, cell.kp}};
  }
  if (cell.way == "srs") {
    return elastic(SchemeKind::kSrs, Variant::kOptimal, Variant::kOptimal);
  }
  if (cell.way == "ers1") {
    return elastic(SchemeKind::kErs1, Variant::kPaper, Variant::kPaper);
  }
  if (cell.way == "ers2-paper") {
    return elastic(SchemeKind::kErs2, Variant::kPaper, Variant::kPaper);
  }
  if (cell.way == "ers2-no-order") {
    return elastic(SchemeKind::kErs2, Variant::kPaper, Variant::kNoOrder);
  }
  if (cell.way == "ers2-optimal") {
    return elastic(SchemeKind::kErs2, Variant::kOptimal, Variant::kOptimal);
  }
  if (IsChain(cell.way)) return ChainWayOf(cell);
  return Fail(StatusCode::kInvalidArgument,
              fmt::format("no way '{}': there are {}", cell.way,
                          fmt::join(CellWays(), ", ")));
}

// Bytes of one size, each time others.
class Contents {
 public:
  explicit Contents(std::uint64_t seed) : random_(seed) {}

  std::span<const std::byte> Next(std::size_t bytes) {
    const std::size_t filled = memory_.size();
    if (filled < bytes) {
      memory_.resize(bytes);
      std::generate(memory_.begin() + static_cast<std::ptrdiff_t>(filled),
                    memory_.end(),
                    [this] { return static_cast<std::byte>(random_()); });
    }
    // Enough to see a mix of two of them, whatever the blocks.
    for (std::size_t at = 0; at < bytes; at += kStampEvery) {
      memory_[at] = static_cast<std::byte>(random_());
    }
    return {memory_.data(), bytes};
  }

 private:
  static constexpr std::size_t kStampEvery = 32;
  std::mt19937_64 random_;
  std::vector<std::byte> memory_;
};

class CellBench {
 public:
  explicit CellBench(const CellOptions& options)
      : options_(options), contents_(options.seed), random_(options.seed) {}

  Status Open() {
    ClusterOptions cluster_options;
    cluster_options.servers = options_.servers;
    for (const Cell& cell : options_.cells) {
      cluster_options.max_failures =
          std::max(cluster_options.max_failures, cell.m);
    }
    cluster_options.connect_timeout = kPatience;
    cluster_options.request_timeout = kPatience;
    cluster_options.operation_timeout = kPatience;
    // Blocks are counted: none is read twice where the machine stands still.
    cluster_options.hedge_percent = 0;
    for (std::size_t i = 0; i < options_.cells.size(); ++i) {
      Turn& turn = turns_.emplace_back();
      turn.cell = i;
      turn.traffic = std::make_unique<Traffic>();
      const Cell& cell = options_.cells[i];
      if (cell.way == kCopies) {
        auto made = MakeCopiesContender(cell.way, {options_.servers, {}, 0},
                                        cell.m + 1);
        if (!made.has_value()) return made.error();
        turn.contender = std::move(*made);
        continue;
      }
      const auto way = WayOf(cell);
      if (!way.has_value()) return way.error();
      for (const Scheme& scheme : {way->narrow, way->wide}) {
        Status valid = ValidateStoredScheme(scheme);
        if (!valid.ok()) return valid;
      }
      auto made = MakeTappedContender(cell.way, cluster_options, *way,
                                      cell.threshold_bytes, *turn.traffic);
      if (!made.has_value()) return made.error();
      turn.contender = std::move(*made);
    }
    return {};
  }

  Status Run() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::string tag =
        fmt::format("cell-{:x}-{:x}", options_.seed, now.count());
    std::size_t number = 0;
    for (int i = -options_.warm_ups; i < options_.repetitions; ++i, ++number) {
      std::vector<Turn*> order;
      for (Turn& turn : turns_) order.push_back(&turn);
      std::shuffle(order.begin(), order.end(), random_);
      const Key key{number, fmt::format("{}-{}", tag, number)};
      for (Turn* turn : order) {
        if (turn->seconds > options_.cell_seconds) continue;
        const auto begin = Clock::now();
        Status done = TakeTurn(*turn, key, i);
        turn->seconds +=
            std::chrono::duration<double>(Clock::now() - begin).count() /
            static_cast<double>(CellOf(*turn).cases.size());
        if (!done.ok()) {
          return {done.code(),
                  fmt::format("{}: {}", CellOf(*turn).way, done.message())};
        }
      }
    }
    return {};
  }

  std::vector<CellSample> TakeSamples() { return std::move(samples_); }

 private:
  struct Turn {
    std::size_t cell = 0;
    std::unique_ptr<Traffic> traffic;  // outlives the contender
    std::unique_ptr<Contender> contender;
    double seconds = 0;  // spent on each of its cases
  };

  [[nodiscard]] const Cell& CellOf(const Turn& turn) const {
    return options_.cells[turn.cell];
  }

  Status TakeTurn(Turn& turn, const Key& key, int repetition) {
    const Cell& cell = CellOf(turn);
    const auto value = contents_.Next(cell.object_bytes);
    // In this order, whatever is timed: an object is put before it is moved,
    // and wide before it is narrow again.
    const bool widens = Times(cell, Case::kForward);
    const bool moves = widens || Times(cell, Case::kBackward);
    Status status;
    for (const Case c :
         {Case::kPut, Case::kGet, Case::kForward, Case::kBackward}) {
      if (options_.stopped && options_.stopped()) {
        return {StatusCode::kUnavailable, "interrupted"};
      }
      const bool timed = Times(cell, c);
      const bool needed =
          c == Case::kPut || (c == Case::kForward && moves) || timed;
      if (!needed) continue;
      status = Do(turn, c, key, value, timed ? repetition : -1);
      const bool check =
          repetition < 0 || repetition + 1 >= options_.repetitions;
      if (status.ok() && check) status = Verify(turn, key, value);
      if (!status.ok()) return status;
    }
    return turn.contender->Remove(key);
  }

  static bool Times(const Cell& cell, Case c) {
    return std::find(cell.cases.begin(), cell.cases.end(), c) !=
           cell.cases.end();
  }

  // A negative repetition is not counted.
  Status Do(Turn& turn, Case c, const Key& key,
            std::span<const std::byte> value, int repetition) {
    const auto interface = ReadOwnInterface();
    if (!interface.has_value()) return interface.error();
    *turn.traffic = {};
    Status status;
    const auto begin = Clock::now();
    if (c == Case::kPut) {
      status = turn.contender->Put(key, value);
    } else if (c == Case::kGet) {
      const auto got = turn.contender->Get(key);
      if (!got.has_value()) status = got.error();
    } else {
      status = turn.contender->Transition(
          key, c == Case::kForward ? Width::kWide : Width::kNarrow);
    }
    const std::chrono::duration<double> taken = Clock::now() - begin;
    turn.contender->Release();
    if (!status.ok()) return status;
    if (turn.traffic->unclear) {
      return {StatusCode::kCorruption,
              "a server refused a request: its bytes cannot be assigned"};
    }
    if (repetition < 0) return {};
    const auto after = ReadOwnInterface();
    if (!after.has_value()) return after.error();
    samples_.push_back({turn.cell, c, repetition, taken.count(), *turn.traffic,
                        after->in - interface->in,
                        after->out - interface->out});
    return {};
  }

  Result<InterfaceBytes> ReadOwnInterface() const {
    if (options_.interface.empty()) return InterfaceBytes{};
    return ReadInterface(options_.interface);
  }

  static Status Verify(Turn& turn, const Key& key,
                       std::span<const std::byte> value) {
    const auto got = turn.contender->Get(key);
    if (!got.has_value()) return got.error();
    Status status;
    if (!std::equal(got->begin(), got->end(), value.begin(), value.end())) {
      status = {StatusCode::kCorruption,
                fmt::format("'{}' reads back different", key.text)};
    }
    turn.contender->Release();
    return status;
  }

  const CellOptions& options_;
  Contents contents_;
  std::mt19937_64 random_;
  std::vector<Turn> turns_;
  std::vector<CellSample> samples_;
};

Status BadCell(std::string_view text) {
  return {
      StatusCode::kInvalidArgument,
      fmt::format("'{}' is no cell: WAY,K,M,KP,BYTES,THRESHOLD,CASE+CASE...",
                  text)};
}

template <typename Number>
bool ParseNumber(const std::string& text, Number* number) {
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, *number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

std::vector<std::string> Split(std::string_view text, char by) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(by, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

std::vector<std::string> CellWays() {
  return {"rep",        std::string(kCopies), "rs",           "srs",     "ers1",
          "ers2-paper", "ers2-no-order",      "ers2-optimal", "reencode"};
}

Result<Cell> ParseCell(std::string_view text) {
  const std::vector<std::string> words = Split(text, ',');
  Cell cell;
  if (words.size() != 7 || !ParseNumber(words[1], &cell.k) ||
      !ParseNumber(words[2], &cell.m) || !ParseNumber(words[3], &cell.kp) ||
      !ParseNumber(words[4], &cell.object_bytes) || cell.object_bytes == 0 ||
      !ParseNumber(words[5], &cell.threshold_bytes) || cell.m < 1) {
    return Fail(BadCell(text));
  }
  cell.way = words[0];
  const auto ways = CellWays();
  const bool chain = IsChain(cell.way);
  if (!chain && std::find(ways.begin(), ways.end(), cell.way) == ways.end()) {
    return Fail(BadCell(text));
  }
  const bool moves =
      cell.way != "rep" && cell.way != kCopies && cell.way != "rs";
  for (const std::string& word : Split(words[6], '+')) {
    const auto found =
        std::find_if(kAllCases.begin(), kAllCases.end(),
                     [&word](Case c) { return CaseName(c) == word; });
    if (found == kAllCases.end() || *found == Case::kUpdate ||
        (!moves && (*found == Case::kForward || *found == Case::kBackward)) ||
        // Its objects are put at the first width, and then moved.
        (chain && *found == Case::kPut)) {
      return Fail(BadCell(text));
    }
    cell.cases.push_back(*found);
  }
  return cell;
}

Result<std::vector<CellSample>> RunCells(const CellOptions& options) {
  CellBench bench(options);
  Status status = bench.Open();
  if (status.ok()) status = bench.Run();
  if (!status.ok()) return Fail(std::move(status));
  return bench.TakeSamples();
}

std::string RenderCells(const CellOptions& options,
                        const std::vector<CellSample>& samples) {
  std::vector<analysis::TextRow> lines = {
      {"scheme", "k", "m", "k_to", "object_bytes", "threshold_bytes",
       "operation", "repetition", "seconds", "blocks_read", "blocks_written",
       "block_bytes", "payload_in", "payload_out", "socket_in", "socket_out",
       "interface_in", "interface_out"}};
  for (const CellSample& sample : samples) {
    const Cell& cell = options.cells[sample.cell];
    const bool tapped = cell.way != kCopies;
    const auto if_tapped = [tapped](std::uint64_t number) {
      return tapped ? std::to_string(number) : std::string();
    };
    const auto if_counted = [&options](std::uint64_t number) {
      return options.interface.empty() ? std::string() : std::to_string(number);
    };
    const Traffic& traffic = sample.traffic;
    // Blocks written are the new ones, where the two differ.
    const BlockTraffic& blocks =
        traffic.blocks_out.items > 0 ? traffic.blocks_out : traffic.blocks_in;
    lines.push_back(
        {cell.way, std::to_string(cell.k), std::to_string(cell.m),
         std::to_string(cell.kp), std::to_string(cell.object_bytes),
         std::to_string(cell.threshold_bytes),
         std::string(CaseName(sample.test_case)),
         std::to_string(sample.repetition),
         fmt::format("{:.9f}", sample.seconds),
         if_tapped(traffic.blocks_in.items),
         if_tapped(traffic.blocks_out.items),
         blocks.items == 0
             ? std::string()
             : std::to_string(blocks.largest - store::kBlockHeaderBytes),
         if_tapped(traffic.blocks_in.bytes),
         if_tapped(traffic.blocks_out.bytes), if_tapped(traffic.bytes_in),
         if_tapped(traffic.bytes_out), if_counted(sample.interface_in),
         if_counted(sample.interface_out)});
  }
  return analysis::RenderCsv(lines);
}

}  // namespace ers::bench
