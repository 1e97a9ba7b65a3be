#include "bench/store_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <random>

#include "bench/contenders.h"
#include "bench/local_cluster.h"
#include "ers/options.h"

namespace ers::bench {
namespace {

constexpr int kWarmUps = 2;
constexpr std::size_t kStampEvery = 512;

bool ChangesContent(Case c) { return c == Case::kPut || c == Case::kUpdate; }

class StoreBench {
 public:
  StoreBench(const StoreOptions& options, std::string tag)
      : options_(options), tag_(std::move(tag)), random_(options.seed) {
    contents_.resize(options.keys);
    for (std::size_t i = 0; i < options.keys; ++i) {
      contents_[i].resize(options.bytes);
      for (std::size_t at = 0; at < options.bytes;
           at += sizeof(std::uint64_t)) {
        const std::uint64_t word = random_();
        std::memcpy(contents_[i].data() + at, &word,
                    std::min(sizeof word, options.bytes - at));
      }
    }
  }

  void Add(std::unique_ptr<Contender> contender) {
    // Keys of its own: a plain item and an object cannot share one.
    std::vector<Key> keys;
    for (std::size_t i = 0; i < options_.keys; ++i) {
      keys.push_back({i, fmt::format("{}-{}-{}", tag_, contender->name(), i)});
    }
    contenders_.push_back(Turn{std::move(contender), std::move(keys), {}, {}});
  }

  Status Run() {
    Status status = Load();
    for (int i = 0; status.ok() && i < kWarmUps + options_.repetitions; ++i) {
      status = Repeat(static_cast<std::size_t>(i), i >= kWarmUps);
    }
    if (status.ok()) status = Clean();
    return status;
  }

  [[nodiscard]] std::vector<StoreRow> Rows() const {
    std::vector<StoreRow> rows;
    for (const Case c : options_.cases) {
      for (const Turn& turn : contenders_) {
        const auto samples = turn.samples.find(c);
        if (samples == turn.samples.end()) continue;
        rows.push_back({c, turn.contender->name(), turn.contender->scheme(),
                        options_.bytes, Summarise(samples->second)});
      }
    }
    return rows;
  }

 private:
  struct Turn {
    std::unique_ptr<Contender> contender;
    std::vector<Key> keys;
    std::map<std::size_t, Width> widths;  // by Key::number
    std::map<Case, std::vector<double>> samples;
  };

  // Every key gets a value once, so that no case meets an empty server.
  Status Load() {
    for (Turn& turn : contenders_) {
      for (const Key& key : turn.keys) {
        Status put = turn.contender->Put(key, contents_[key.number]);
        if (put.ok()) put = Verify(turn, key);
        if (!put.ok()) return Name(turn, Case::kPut, put);
        turn.widths[key.number] = Width::kNarrow;
      }
    }
    return {};
  }

  Status Repeat(std::size_t number, bool counted) {
    const std::size_t place = number % options_.keys;
    for (const Case c : options_.cases) {
      Range range;
      if (ChangesContent(c)) range = NewContent(c, place);
      std::vector<std::size_t> order(contenders_.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), random_);
      for (const std::size_t i : order) {
        if (options_.stopped && options_.stopped()) {
          return {StatusCode::kUnavailable, "interrupted"};
        }
        Turn& turn = contenders_[i];
        const Key& key = turn.keys[place];
        const bool measures = turn.contender->Measures(c);
        if (!measures && !ChangesContent(c)) continue;
        Status done = Time(turn, c, key, range, counted && measures);
        if (!done.ok()) return Name(turn, c, done);
      }
    }
    return {};
  }

  // The next content of a key, the same for every contender.
  Range NewContent(Case c, std::size_t place) {
    std::vector<std::byte>& content = contents_[place];
    Range range{0, content.size()};
    if (c == Case::kUpdate) {
      range.length = std::min(options_.update_bytes, content.size());
      range.offset = std::uniform_int_distribution<std::size_t>(
          0, content.size() - range.length)(random_);
    }
    // Some bytes of every block suffice to see a mix of old and new.
    for (std::size_t at = 0; at < range.length; at += kStampEvery) {
      const std::uint64_t word = random_();
      std::memcpy(content.data() + range.offset + at, &word,
                  std::min(sizeof word, range.length - at));
    }
    return range;
  }

  Status Time(Turn& turn, Case c, const Key& key, Range range, bool counted) {
    Contender& contender = *turn.contender;
    const std::vector<std::byte>& content = contents_[key.number];
    const bool moves = c == Case::kForward || c == Case::kBackward;
    const Width to = c == Case::kForward ? Width::kWide : Width::kNarrow;
    if (moves && turn.widths[key.number] == to) {
      const Width from = to == Width::kWide ? Width::kNarrow : Width::kWide;
      Status back = contender.Transition(key, from);
      if (!back.ok()) return back;
    }
    Status done;
    const auto begin = std::chrono::steady_clock::now();
    switch (c) {
      case Case::kPut:
        done = contender.Put(key, content);
        break;
      case Case::kGet: {
        const auto got = contender.Get(key);
        if (!got.has_value()) done = got.error();
        break;
      }
      case Case::kUpdate:
        done = contender.Update(key, content, range);
        break;
      case Case::kForward:
      case Case::kBackward:
        done = contender.Transition(key, to);
        break;
    }
    const std::chrono::duration<double, std::micro> taken =
        std::chrono::steady_clock::now() - begin;
    contender.Release();
    if (!done.ok()) return done;
    if (moves) turn.widths[key.number] = to;
    if (c == Case::kPut) turn.widths[key.number] = Width::kNarrow;
    if (counted) turn.samples[c].push_back(taken.count());
    return Verify(turn, key);
  }

  Status Verify(Turn& turn, const Key& key) {
    const auto got = turn.contender->Get(key);
    Status status;
    if (!got.has_value()) {
      status = got.error();
    } else {
      const std::vector<std::byte>& content = contents_[key.number];
      if (!std::equal(got->begin(), got->end(), content.begin(),
                      content.end())) {
        status = {StatusCode::kCorruption,
                  fmt::format("'{}' reads back different", key.text)};
      }
    }
    turn.contender->Release();
    return status;
  }

  static Status Name(const Turn& turn, Case c, const Status& status) {
    return {
        status.code(),
        fmt::format("{} of {} ({}): {}", CaseName(c), turn.contender->name(),
                    turn.contender->scheme(), status.message())};
  }

  // Given servers are left as they were found.
  Status Clean() {
    for (Turn& turn : contenders_) {
      for (const Key& key : turn.keys) {
        Status removed = turn.contender->Remove(key);
        if (!removed.ok()) return removed;
      }
    }
    return {};
  }

  const StoreOptions& options_;
  const std::string tag_;
  std::mt19937_64 random_;
  std::vector<std::vector<std::byte>> contents_;  // by Key::number
  std::vector<Turn> contenders_;
};

// Those of the named ones that have something to measure.
Result<std::vector<std::unique_ptr<Contender>>> MakeContenders(
    const StoreOptions& options, const Field& field) {
  std::vector<std::unique_ptr<Contender>> contenders;
  for (const std::string& name : options.names) {
    // Values that long are in blocks.
    if (name.ends_with("columns") && options.bytes >= kMaxColumnBelow) continue;
    auto made = MakeContender(name, field);
    if (!made.has_value()) return Fail(made.error());
    const auto measures = [&](Case c) { return (*made)->Measures(c); };
    if (*made != nullptr &&
        std::any_of(options.cases.begin(), options.cases.end(), measures)) {
      contenders.push_back(std::move(*made));
    }
  }
  if (!contenders.empty()) return contenders;
  return Fail(StatusCode::kInvalidArgument,
              fmt::format("{}: none of the implementations has any of the "
                          "cases; only elastic schemes go forward and backward",
                          FormatScheme(options.scheme)));
}

// Keys that no other run on the same servers has.
std::string RunTag(std::uint64_t seed) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("bench-{:x}-{:x}", seed, now.count());
}

}  // namespace

Result<std::vector<StoreRow>> RunStore(const StoreOptions& options) {
  Status valid = ValidateStoredScheme(options.scheme);
  if (!valid.ok()) return Fail(std::move(valid));
  LocalCluster cluster;
  Field field{options.servers, options.scheme, 0};
  if (options.servers.empty()) {
    auto started =
        LocalCluster::Start(options.memcached, NodeCount(options.scheme));
    if (!started.has_value()) return Fail(started.error());
    cluster = std::move(*started);
    field.servers = cluster.servers();
    field.max_failures = options.scheme.m;
  }
  auto contenders = MakeContenders(options, field);
  if (!contenders.has_value()) return Fail(contenders.error());
  return RunTurns(options, std::move(*contenders));
}

Result<std::vector<StoreRow>> RunParity(StoreOptions options, int to) {
  Scheme more = options.scheme;
  more.m = to;
  for (const Scheme& scheme : {options.scheme, more}) {
    Status valid = ValidateStoredScheme(scheme);
    if (!valid.ok()) return Fail(std::move(valid));
  }
  if (!more.elastic() || to == options.scheme.m) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("{} to {}: name an elastic scheme and another m",
                            FormatScheme(options.scheme), FormatScheme(more)));
  }
  const int most = std::max(to, options.scheme.m);
  auto cluster = LocalCluster::Start(options.memcached, more.kp + most);
  if (!cluster.has_value()) return Fail(cluster.error());
  auto contenders =
      MakeParityContenders({cluster->servers(), options.scheme, most}, to);
  if (!contenders.has_value()) return Fail(contenders.error());
  options.cases = {Case::kForward, Case::kBackward};
  return RunTurns(options, std::move(*contenders));
}

Result<std::vector<StoreRow>> RunTurns(
    const StoreOptions& options,
    std::vector<std::unique_ptr<Contender>> contenders) {
  StoreBench bench(options, RunTag(options.seed));
  for (auto& contender : contenders) bench.Add(std::move(contender));
  Status done = bench.Run();
  if (!done.ok()) return Fail(std::move(done));
  return bench.Rows();
}

std::string RenderStore(const std::vector<StoreRow>& rows, Format format) {
  std::vector<std::vector<std::string>> lines = {
      {"case", "impl", "scheme", "bytes", "median_us", "min_us", "max_us"}};
  for (const StoreRow& row : rows) {
    lines.push_back({std::string(CaseName(row.test_case)), row.name, row.scheme,
                     std::to_string(row.bytes),
                     fmt::format("{:.1f}", row.microseconds.median),
                     fmt::format("{:.1f}", row.microseconds.min),
                     fmt::format("{:.1f}", row.microseconds.max)});
  }
  return Render(lines, format);
}

}  // namespace ers::bench
