// Rivals on few keys: threads that share a Cluster and several Clusters at
// once. The values name their writers, so a mix of two changes would show.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "cluster/store/stored_items.h"

namespace ers::test {
namespace {

constexpr int kClusters = 2;
constexpr int kThreadsEach = 3;
constexpr int kWorkers = kClusters * kThreadsEach;
constexpr int kMaxFailures = 2;
// n > k'+m for every scheme below.
constexpr int kServers = 8;

using Word = std::uint64_t;

std::span<const std::byte> AsBytes(const std::vector<Word>& words) {
  return std::as_bytes(std::span(words));
}

std::vector<Word> AsWords(const Value& value) {
  std::vector<Word> words(value.size() / sizeof(Word));
  if (!words.empty()) {
    std::memcpy(words.data(), value.data(), words.size() * sizeof(Word));
  }
  return words;
}

// One thread's part. Catch2 is for one thread: what goes wrong is noted here.
struct Worker {
  int number = 0;
  std::unique_ptr<Client> client;
  std::mt19937_64 random;
  std::vector<std::string> wrong;
  std::map<std::string, int> ends;  // how calls ended

  std::uint64_t Below(std::uint64_t bound) { return random() % bound; }
  void Expect(bool holds, const std::string& what) {
    if (!holds) wrong.push_back(what);
  }
  // Notes an outcome; it is wrong unless it is kOk or one of `allowed`, or the
  // call gave up because rivals came first dozens of times, or so many while it
  // was held up that it cannot know whether its change was among theirs.
  bool Ended(const std::string& call, const Status& status,
             const std::set<StatusCode>& allowed) {
    ++ends[fmt::format("{} {}", call, StatusCodeName(status.code()))];
    const bool gave_up =
        status.code() == StatusCode::kUnavailable &&
        (status.message().find("changed by others") != std::string::npos ||
         status.message().find("changes faster") != std::string::npos);
    Expect(status.ok() || gave_up || Overtaken(status) ||
               allowed.contains(status.code()),
           fmt::format("{}: {}: {}", call, StatusCodeName(status.code()),
                       status.message()));
    return status.ok();
  }
  static bool Overtaken(const Status& status) {
    const std::string& why = status.message();
    return status.code() == StatusCode::kOutcomeUnknown &&
           (why.find("others changed it meanwhile") != std::string::npos ||
            why.find("changed by others") != std::string::npos);
  }
};

template <typename T>
Status StatusOf(const Result<T>& result) {
  return result ? Status() : result.error();
}

// Slow machines and sanitizers must not make a server count as dead.
std::shared_ptr<Cluster> OpenPatient(const TestCluster& servers) {
  ClusterOptions options = servers.Options();
  options.max_failures = kMaxFailures;
  options.connect_timeout = std::chrono::seconds(60);
  options.request_timeout = std::chrono::seconds(60);
  options.operation_timeout = std::chrono::seconds(300);
  auto cluster = Cluster::Open(std::move(options));
  REQUIRE_OK(cluster);
  return *cluster;
}

std::unique_ptr<Client> OpenOn(const std::shared_ptr<Cluster>& cluster) {
  auto client = Client::Open(cluster, {});
  REQUIRE_OK(client);
  return std::move(*client);
}

// All workers at once, each to its end; nothing may have gone wrong.
void RunWorkers(const TestCluster& servers,
                const std::function<void(Worker&)>& work) {
  std::vector<Worker> workers(kWorkers);
  for (int i = 0; i < kClusters; ++i) {
    const std::shared_ptr<Cluster> cluster = OpenPatient(servers);
    for (int j = 0; j < kThreadsEach; ++j) {
      const int number = i * kThreadsEach + j;
      Worker& worker = workers[static_cast<std::size_t>(number)];
      worker.number = number;
      worker.client = OpenOn(cluster);
      worker.random.seed(static_cast<unsigned>(number));
    }
  }
  std::vector<std::thread> threads;
  for (Worker& worker : workers) {
    threads.emplace_back([&work, &worker] {
      work(worker);
      worker.client.reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<std::string, int> ends;
  for (const Worker& worker : workers) {
    for (const std::string& what : worker.wrong) {
      FAIL_CHECK("worker " << worker.number << ": " << what);
    }
    for (const auto& [end, count] : worker.ends) ends[end] += count;
  }
  for (const auto& [end, count] : ends) {
    UNSCOPED_INFO(fmt::format("{}: {}", end, count));
  }
}

// All replicas hold the same change; every block is there, and any m of each
// stripe can be lost.
void CheckWhole(TestCluster& servers, const std::string& key) {
  CAPTURE(key);
  const auto cluster = OpenPatient(servers);
  const auto client = OpenOn(cluster);
  const std::vector<std::byte> value = MustGet(*client, key);
  const store::Manifest primary = PrimaryManifest(servers, *client, key);
  const std::vector<StoredItem> replicas = ReplicasOf(servers, *client, key);
  CHECK(replicas.size() == kMaxFailures + 1);
  for (const StoredItem& replica : replicas) {
    auto copy = store::DecodeManifest(replica.key, replica.Read());
    REQUIRE_OK(copy);
    // But for whose copy it is, they are the same bytes.
    copy->member = primary.member;
    copy->incarnation = primary.incarnation;
    CHECK(store::EncodeManifest(*copy) == store::EncodeManifest(primary));
  }
  if (primary.is_inline) return;
  std::map<std::pair<int, int>, int> lost;
  int deleted = 0;
  for (const StoredBlock& block : BlocksOf(servers, *client, key)) {
    CAPTURE(block.state.group, block.state.block);
    CHECK(block.state.present);
    if (block.state.kind != StoredBlockKind::kData) continue;
    int& count = lost[{block.state.group, block.state.stripe}];
    if (count == primary.scheme.m) continue;
    block.Delete();
    ++count;
    ++deleted;
  }
  Value again;
  const auto got = client->Get(key, again);
  REQUIRE_OK(got);
  CHECK(std::equal(again.bytes().begin(), again.bytes().end(), value.begin(),
                   value.end()));
  CHECK(got->repaired_blocks == deleted);
}

TransitionTarget AnyTarget(Worker& worker) {
  static constexpr std::array<const char*, 9> kTargets = {
      "wide",       "narrow",     "wide",   "wide,2", "narrow,1",
      "ers2:4,1,5", "ers2:4,2,6", "rs:4,2", "rep:3"};
  return *ParseTransitionTarget(kTargets[worker.Below(kTargets.size())]);
}

void Transition(Worker& worker, const std::string& key,
                std::set<StatusCode> allowed) {
  // A width of a scheme that is not elastic, or that the object has.
  allowed.insert({StatusCode::kInvalidArgument, StatusCode::kAlreadyThere});
  const auto moved = worker.client->Transition(key, AnyTarget(worker),
                                               TransitionVariant::kOptimal);
  worker.Ended("transition", StatusOf(moved), allowed);
}

// A key whose whole value is one word, repeated.
struct UniformKey {
  std::string name;
  std::size_t words = 0;
  bool deleted = false;  // workers delete it, too
};

const std::vector<UniformKey>& UniformKeys() {
  static const std::vector<UniformKey> kKeys = {{"inline", 100, true},
                                                {"group", 2500, false},
                                                {"deleted", 2501, true},
                                                {"groups", 20000, false}};
  return kKeys;
}

class UniformWork {
 public:
  explicit UniformWork(Worker& worker) : worker_(worker) {}

  void Run(int calls) {
    for (int call = 0; call < calls; ++call) {
      const UniformKey& key = UniformKeys()[worker_.Below(4)];
      const Word word = (static_cast<Word>(worker_.number) << 32) +
                        static_cast<Word>(call) + 1;
      const std::vector<Word> value(key.words, word);
      const std::uint64_t dice = worker_.Below(20);
      if (dice < 4) {
        Put(key, value);
      } else if (dice < 8) {
        worker_.Ended(
            "update",
            StatusOf(worker_.client->Update(key.name, 0, AsBytes(value))),
            Missing(key));
      } else if (dice < 13) {
        Transition(worker_, key.name, Missing(key));
      } else if (dice < 15 && key.deleted) {
        worker_.Ended("delete", worker_.client->Delete(key.name), Missing(key));
      } else {
        Get(key);
      }
    }
  }

 private:
  static std::set<StatusCode> Missing(const UniformKey& key) {
    return key.deleted ? std::set{StatusCode::kNotFound}
                       : std::set<StatusCode>();
  }

  void Put(const UniformKey& key, const std::vector<Word>& value) {
    PutOptions options;
    options.scheme = worker_.Below(2) == 0 ? Scheme{SchemeKind::kErs2, 4, 1, 5}
                                           : Scheme{SchemeKind::kErs2, 4, 2, 6};
    options.width = worker_.Below(2) == 0 ? Width::kNarrow : Width::kWide;
    worker_.Ended(
        "put", StatusOf(worker_.client->Put(key.name, AsBytes(value), options)),
        {});
  }

  void Get(const UniformKey& key) {
    Value value;
    const auto got = worker_.client->Get(key.name, value);
    if (!worker_.Ended("get", StatusOf(got), Missing(key))) return;
    const std::vector<Word> words = AsWords(value);
    worker_.Expect(words.size() == key.words,
                   fmt::format("{}: {} words", key.name, words.size()));
    if (words.empty()) return;
    const auto other =
        std::adjacent_find(words.begin(), words.end(), std::not_equal_to<>());
    worker_.Expect(other == words.end(),
                   fmt::format("{}: a mix of changes at word {}", key.name,
                               other - words.begin()));
    worker_.Expect(words[0] >> 32 < kWorkers && (words[0] & 0xffffffff) != 0,
                   fmt::format("{}: no client wrote {:x}", key.name, words[0]));
    // The client CAS rises with every change that a linearizable read sees.
    std::uint64_t& seen = seen_[key.name];
    worker_.Expect(key.deleted || got->cas >= seen,
                   fmt::format("{}: went back in time", key.name));
    seen = got->cas;
  }

  Worker& worker_;
  std::map<std::string, std::uint64_t> seen_;
};

}  // namespace

TEST_CASE("rivals never mix, and all replicas agree in the end") {
  TestCluster servers(kServers,
                      {"-m", "64", "-I", "64k", "-o", "slab_chunk_max=32768"});
  const auto cluster = OpenPatient(servers);
  const auto client = OpenOn(cluster);
  const auto fill = [&client](const UniformKey& key) {
    const std::vector<Word> value(key.words, 1);
    REQUIRE_OK(client->Put(key.name, AsBytes(value), {}));
  };
  for (const UniformKey& key : UniformKeys()) fill(key);
  RunWorkers(servers, [](Worker& worker) { UniformWork(worker).Run(150); });
  for (const UniformKey& key : UniformKeys()) {
    Value value;
    const auto got = client->Get(key.name, value);
    if (!got) {
      REQUIRE(key.deleted);
      REQUIRE(got.error().code() == StatusCode::kNotFound);
      fill(key);
    }
    CheckWhole(servers, key.name);
  }
}

namespace {

// Each worker has a section of the value; its edges lie within blocks that
// others change at the same time.
constexpr std::size_t kSectionWords = 601;

class SectionWork {
 public:
  SectionWork(Worker& worker, std::string key)
      : worker_(worker), key_(std::move(key)) {}

  void Run(int updates) {
    for (mine_ = 1; mine_ <= static_cast<Word>(updates); ++mine_) {
      while (!Update() && worker_.wrong.empty()) {
      }
      if (worker_.Below(3) == 0) Transition(worker_, key_, {});
      if (worker_.Below(2) == 0) Read();
    }
  }

 private:
  std::size_t Number() const {
    return static_cast<std::size_t>(worker_.number);
  }

  bool Update() {
    const std::vector<Word> section(kSectionWords, mine_);
    const auto updated = worker_.client->Update(
        key_, Number() * kSectionWords * sizeof(Word), AsBytes(section));
    return worker_.Ended("update", StatusOf(updated), {});
  }

  void Read() {
    Value value;
    const auto got = worker_.client->Get(key_, value);
    if (!worker_.Ended("get", StatusOf(got), {})) return;
    const std::vector<Word> words = AsWords(value);
    worker_.Expect(words.size() == kWorkers * kSectionWords, "another size");
    if (words.size() != kWorkers * kSectionWords) return;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      const auto section =
          std::span(words).subspan(i * kSectionWords, kSectionWords);
      worker_.Expect(std::adjacent_find(section.begin(), section.end(),
                                        std::not_equal_to<>()) == section.end(),
                     fmt::format("section {} is a mix", i));
      worker_.Expect(section[0] >= seen_[i],
                     fmt::format("section {} went back from {} to {}", i,
                                 seen_[i], section[0]));
      seen_[i] = section[0];
    }
    worker_.Expect(seen_[Number()] == mine_, "its own update is not there");
  }

  Worker& worker_;
  const std::string key_;
  Word mine_ = 0;
  std::array<Word, kWorkers> seen_ = {};
};

}  // namespace

TEST_CASE("no update of a neighbour is lost, transitions or not") {
  TestCluster servers(kServers, {"-m", "64"});
  const auto cluster = OpenPatient(servers);
  const auto client = OpenOn(cluster);
  const std::vector<Word> value(kWorkers * kSectionWords);
  REQUIRE_OK(client->Put("key", AsBytes(value), {}));
  constexpr int kUpdates = 25;
  RunWorkers(servers,
             [](Worker& worker) { SectionWork(worker, "key").Run(kUpdates); });
  Value got;
  REQUIRE_OK(client->Get("key", got));
  CHECK(AsWords(got) == std::vector<Word>(kWorkers * kSectionWords, kUpdates));
  CheckWhole(servers, "key");
}

namespace {

// Whether some word of the value is this one.
bool Has(Worker& worker, Word word) {
  Value value;
  while (worker.wrong.empty() &&
         !worker.Ended("get", StatusOf(worker.client->Get("key", value)), {})) {
  }
  const std::vector<Word> words = AsWords(value);
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

TEST_CASE("every append is there once, in its writer's order") {
  TestCluster servers(kServers,
                      {"-m", "64", "-I", "64k", "-o", "slab_chunk_max=32768"});
  const auto cluster = OpenPatient(servers);
  const auto client = OpenOn(cluster);
  // It grows from inline to several groups.
  REQUIRE_OK(client->Put("key", {}, {}));
  constexpr Word kAppends = 12;
  constexpr std::size_t kRecordWords = 700;
  RunWorkers(servers, [](Worker& worker) {
    for (Word i = 0; i < kAppends; ++i) {
      const std::vector<Word> record(
          kRecordWords, static_cast<Word>(worker.number) * kAppends + i);
      // A rival gives a conflict, and the rival has come through.
      for (bool done = false; !done && worker.wrong.empty();) {
        std::span<const std::byte> left = AsBytes(record);
        const auto appended = worker.client->Append(
            "key", [&left](std::span<std::byte> into) -> Result<std::size_t> {
              const std::size_t size = std::min(into.size(), left.size());
              std::copy_n(left.begin(), size, into.begin());
              left = left.subspan(size);
              return size;
            });
        done = worker.Ended("append", StatusOf(appended),
                            {StatusCode::kConflict}) ||
               (!appended && Worker::Overtaken(appended.error()) &&
                Has(worker, record[0]));
      }
      if (worker.Below(4) == 0) Transition(worker, "key", {});
    }
  });
  Value got;
  REQUIRE_OK(client->Get("key", got));
  const std::vector<Word> words = AsWords(got);
  REQUIRE(words.size() == kRecordWords * kAppends * kWorkers);
  std::array<Word, kWorkers> next = {};
  for (std::size_t at = 0; at < words.size(); at += kRecordWords) {
    const Word word = words[at];
    CAPTURE(at, word);
    REQUIRE(std::count(&words[at], &words[at] + kRecordWords, word) ==
            kRecordWords);
    REQUIRE(word < kWorkers * kAppends);
    REQUIRE(word % kAppends == next[word / kAppends]++);
  }
  CheckWhole(servers, "key");
}

TEST_CASE("conditional puts count every one") {
  TestCluster servers(kServers, {"-m", "64"});
  const auto cluster = OpenPatient(servers);
  const auto client = OpenOn(cluster);
  const std::size_t words = GENERATE(1, 1000);
  const std::vector<Word> zero(words);
  REQUIRE_OK(client->Put("key", AsBytes(zero), {}));
  constexpr Word kRounds = 15;
  std::atomic<Word> unknown = 0;
  RunWorkers(servers, [words, &unknown](Worker& worker) {
    for (Word done = 0; done < kRounds && worker.wrong.empty();) {
      Value value;
      const auto got = worker.client->Get("key", value);
      if (!worker.Ended("get", StatusOf(got), {})) return;
      const std::vector<Word> next(words, AsWords(value).at(0) + 1);
      PutOptions options;
      options.expected_cas = got->cas;
      const auto put = worker.client->Put("key", AsBytes(next), options);
      if (worker.Ended("put", StatusOf(put), {StatusCode::kConflict})) {
        ++done;
      } else if (put.error().code() == StatusCode::kOutcomeUnknown) {
        ++unknown;
      }
    }
  });
  Value got;
  REQUIRE_OK(client->Get("key", got));
  const Word count = AsWords(got).at(0);
  CHECK(count >= kRounds * kWorkers);
  CHECK(count <= kRounds * kWorkers + unknown);
  CHECK(AsWords(got) == std::vector<Word>(words, count));
  CheckWhole(servers, "key");
}

}  // namespace ers::test
