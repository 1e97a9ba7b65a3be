// What is put is what is read: sizes at every edge, ranges, and long walks of
// changes beside a plain vector.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>
#include <set>
#include <utility>

#include "cluster/store/test_cluster.h"
#include "layout/geometry.h"

namespace ers::test {
namespace {

constexpr std::size_t kInlineBelow = 4096;
constexpr std::size_t kColumnBelow = 100'000;
constexpr std::uint64_t kMaxU64 = std::numeric_limits<std::uint64_t>::max();

// Gives `bytes` in pieces of odd sizes.
Source Pieces(const std::vector<std::byte>& bytes) {
  return [&bytes, at = std::size_t{0}](
             std::span<std::byte> into) mutable -> Result<std::size_t> {
    const std::size_t piece =
        std::min({into.size(), bytes.size() - at, std::size_t{70001}});
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), piece,
                into.begin());
    at += piece;
    return piece;
  };
}

// Offsets at which a group or a block begins, and the value's end.
std::set<std::uint64_t> Edges(const ObjectInfo& info) {
  std::set<std::uint64_t> edges = {0, info.length};
  const auto blocks = static_cast<std::uint64_t>(GroupDataBlocks(info.scheme));
  for (int group = 0; group < info.groups; ++group) {
    const std::uint64_t begin =
        static_cast<std::uint64_t>(group) * info.group_bytes;
    const std::uint64_t length =
        std::min(info.group_bytes, info.length - begin);
    const std::uint64_t block = (length + blocks - 1) / blocks;
    for (std::uint64_t at = 0; at < length; at += block) {
      edges.insert(begin + at);
    }
  }
  return edges;
}

void CheckRange(Client& client, const std::vector<std::byte>& value,
                std::uint64_t offset, std::uint64_t length) {
  CAPTURE(value.size(), offset, length);
  Value got;
  const auto read = client.GetRange("key", offset, length, got);
  if (offset > value.size()) {
    REQUIRE_FALSE(read.has_value());
    REQUIRE(read.error().code() == StatusCode::kInvalidArgument);
    REQUIRE(got.size() == 0);
    return;
  }
  REQUIRE_OK(read);
  const std::uint64_t end =
      offset + std::min<std::uint64_t>(length, value.size() - offset);
  REQUIRE(std::equal(got.bytes().begin(), got.bytes().end(),
                     value.begin() + static_cast<std::ptrdiff_t>(offset),
                     value.begin() + static_cast<std::ptrdiff_t>(end)));
  REQUIRE(read->length == value.size());
}

void CheckRanges(Client& client, const std::vector<std::byte>& value,
                 const ObjectInfo& info) {
  const std::set<std::uint64_t> edges = Edges(info);
  std::uint64_t before = 0;
  for (const std::uint64_t edge : edges) {
    CheckRange(client, value, edge, 1);
    CheckRange(client, value, edge, 0);
    if (edge > 0) CheckRange(client, value, edge - 1, 2);
    CheckRange(client, value, before, edge - before);
    if (edge > before) CheckRange(client, value, before + 1, edge - before);
    before = edge;
  }
  const std::uint64_t size = value.size();
  CheckRange(client, value, 0, kMaxU64);
  CheckRange(client, value, size, kMaxU64);
  CheckRange(client, value, size / 2, kMaxU64);
  CheckRange(client, value, size + 1, 0);
  CheckRange(client, value, size + 1, 1);
  CheckRange(client, value, kMaxU64, kMaxU64);
}

// The value by a stream.
std::vector<std::byte> Streamed(Client& client) {
  std::vector<std::byte> bytes;
  int begun = 0;
  const auto got = client.GetTo(
      "key", [&](const GetInfo&) { ++begun; },
      [&](std::span<const std::byte> piece) {
        REQUIRE(begun == 1);
        bytes.insert(bytes.end(), piece.begin(), piece.end());
        return Status();
      });
  REQUIRE_OK(got);
  REQUIRE(begun == 1);
  return bytes;
}

// A client of a fresh process with the default inline threshold.
std::unique_ptr<Client> OpenAs(const TestCluster& cluster,
                               const Scheme& scheme) {
  return cluster.Open(scheme, 2, kInlineBelow);
}

}  // namespace

TEST_CASE("values of every size come back, whole and in part") {
  const char* name = GENERATE("rep:3", "rs:4,2", "ers2:4,1,5");
  CAPTURE(name);
  const Scheme scheme = *ParseScheme(name);
  TestCluster cluster(7, {"-m", "128"});
  auto client = OpenAs(cluster, scheme);
  const auto probe = client->Put("key", Bytes(kInlineBelow, 1), {});
  REQUIRE_OK(probe);
  const std::size_t group = probe->group_bytes;
  constexpr std::size_t kMiB = 1 << 20;
  std::uint64_t seed = 0;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kInlineBelow - 1, kInlineBelow,
        kInlineBelow + 1, group - 1, group, group + 1, 8 * kMiB - 1, 8 * kMiB,
        8 * kMiB + 1, 20 * kMiB}) {
    CAPTURE(size);
    const std::vector<std::byte> value = Bytes(size, ++seed);
    const auto put = seed % 2 == 0 ? client->Put("key", value, {})
                                   : client->PutFrom("key", Pieces(value), {});
    REQUIRE_OK(put);
    CHECK(put->length == size);
    CHECK(put->is_inline == (size < kInlineBelow));
    if (!put->is_inline) {
      CHECK(put->groups == static_cast<int>((size + group - 1) / group));
    }
    REQUIRE(MustGet(*client, "key") == value);
    REQUIRE(MustGet(*OpenAs(cluster, scheme), "key") == value);
    REQUIRE(Streamed(*client) == value);
    CheckRanges(*client, value, *put);
  }
}

namespace {

// With columns in the midst of the sizes that come up.
std::unique_ptr<Client> OpenToWalk(const TestCluster& cluster) {
  return cluster.Open(Scheme(), 2, kInlineBelow, kColumnBelow);
}

// An object and what it must be, changed together.
class Walk {
 public:
  Walk(const TestCluster& cluster, std::size_t most, unsigned seed)
      : cluster_(cluster),
        most_(most),
        random_(seed),
        client_(OpenToWalk(cluster)) {}

  void Run(int steps) {
    Put();
    for (int step = 0; step < steps; ++step) {
      const char* what = "";
      const std::uint64_t dice = Below(20);
      if (dice < 8) {
        what = "update", Update();
      } else if (dice < 12) {
        what = "append", Append();
      } else if (dice < 19) {
        what = "transition", Transition();
      } else {
        what = "put", Put();
      }
      CAPTURE(step, what, value_.size(), FormatScheme(info_.scheme),
              WidthName(info_.scheme, info_.width));
      Compare();
    }
  }

 private:
  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }
  // Small sizes as often as large ones.
  std::size_t Size(std::size_t most) {
    return Below(std::min<std::uint64_t>(most, std::uint64_t{1} << Below(24)) +
                 1);
  }
  Scheme AnyScheme() {
    static constexpr const char* kNames[] = {
        "rep:2",      "rep:3",      "rs:4,2",     "rs:2,1",     "srs:4,1,5",
        "ers1:2,2,4", "ers2:4,1,5", "ers2:4,2,5", "ers2:3,2,5", "ers2:2,1,6"};
    return *ParseScheme(kNames[Below(std::size(kNames))]);
  }

  void Put() {
    PutOptions options;
    options.scheme = AnyScheme();
    if (options.scheme->elastic() && Below(2) == 0)
      options.width = Width::kWide;
    options.client_flags = static_cast<std::uint32_t>(random_());
    options.expiry = Below(2) == 0 ? 0 : 4000000000;
    value_ = Bytes(Size(most_), random_());
    const auto put = client_->Put("key", value_, options);
    REQUIRE_OK(put);
    CHECK(put->scheme == *options.scheme);
    CHECK(put->width == options.width);
    CHECK(put->client_flags == options.client_flags);
    CHECK(put->expiry == options.expiry);
    CHECK(put->cas > info_.cas);
    info_ = *put;
  }

  void Update() {
    const std::size_t offset = Below(value_.size() + 1);
    const auto piece = Bytes(Size(value_.size() - offset), random_());
    const auto updated = client_->Update("key", offset, piece);
    REQUIRE_OK(updated);
    std::copy(piece.begin(), piece.end(),
              value_.begin() + static_cast<std::ptrdiff_t>(offset));
    TakeContentChange(*updated, !piece.empty());
    const auto beyond =
        client_->Update("key", offset, Bytes(value_.size() - offset + 1, 1));
    REQUIRE_FALSE(beyond.has_value());
    CHECK(beyond.error().code() == StatusCode::kInvalidArgument);
  }

  void Append() {
    if (value_.size() > most_) return;
    const auto piece = Bytes(1 + Size(most_ / 4), random_());
    const auto appended = client_->Append("key", Pieces(piece));
    REQUIRE_OK(appended);
    value_.insert(value_.end(), piece.begin(), piece.end());
    TakeContentChange(*appended, true);
  }

  void TakeContentChange(const ObjectInfo& now, bool changed) {
    if (changed) {
      CHECK(now.cas > info_.cas);
    } else {
      CHECK(now.cas == info_.cas);
    }
    info_.cas = now.cas;
    info_.is_inline = now.is_inline;
  }

  void Transition() {
    TransitionTarget target;
    Scheme scheme = info_.scheme;
    Width width = Width::kNarrow;
    if (Below(3) == 0) {
      target.scheme = scheme = AnyScheme();
      // More or less parity says nothing of the width.
      if (layout::SameButParity(scheme, info_.scheme)) width = info_.width;
    } else {
      target.width = width = Below(4) == 0                 ? info_.width
                             : info_.width == Width::kWide ? Width::kNarrow
                                                           : Width::kWide;
    }
    static constexpr TransitionVariant kVariants[] = {
        TransitionVariant::kOptimal, TransitionVariant::kPaper,
        TransitionVariant::kNoOrder};
    const auto variant = kVariants[Below(width == Width::kNarrow ? 3 : 2)];
    const auto moved = client_->Transition("key", target, variant);
    if (target.width && !scheme.elastic()) {
      REQUIRE_FALSE(moved.has_value());
      CHECK(moved.error().code() == StatusCode::kInvalidArgument);
      return;
    }
    if (scheme == info_.scheme && width == info_.width) {
      REQUIRE_FALSE(moved.has_value());
      CHECK(moved.error().code() == StatusCode::kAlreadyThere);
      CHECK(moved.error().message().find("'key'") != std::string::npos);
      return;
    }
    REQUIRE_OK(moved);
    CHECK(moved->object.cas == info_.cas);
    info_.scheme = scheme;
    info_.width = width;
  }

  void Compare() {
    if (Below(8) == 0) client_ = OpenAs(cluster_, Scheme());
    Value got;
    const auto read = client_->Get("key", got);
    REQUIRE_OK(read);
    REQUIRE(std::equal(got.bytes().begin(), got.bytes().end(), value_.begin(),
                       value_.end()));
    CHECK_FALSE(read->degraded);
    CHECK(read->length == value_.size());
    CHECK(read->scheme == info_.scheme);
    CHECK(read->width == info_.width);
    CHECK(read->is_inline == info_.is_inline);
    CHECK(read->client_flags == info_.client_flags);
    CHECK(read->expiry == info_.expiry);
    CHECK(read->cas == info_.cas);
    const std::uint64_t offset = Below(value_.size() + 1);
    CheckRange(*client_, value_, offset, Size(value_.size()));
  }

  const TestCluster& cluster_;
  const std::size_t most_;
  std::mt19937_64 random_;
  std::unique_ptr<Client> client_;
  std::vector<std::byte> value_;
  ObjectInfo info_;
};

unsigned AnySeed() {
  const char* given = std::getenv("ERS_SEED");
  return given != nullptr ? static_cast<unsigned>(std::atoi(given))
                          : std::random_device()();
}

}  // namespace

TEST_CASE("walks of changes agree with a plain vector") {
  const unsigned seed = GENERATE(1, 2, AnySeed());
  CAPTURE(seed);
  TestCluster cluster(9, {"-m", "64"});
  Walk(cluster, 3 << 20, seed).Run(250);
}

TEST_CASE("walks over many groups agree with a plain vector") {
  const unsigned seed = GENERATE(3, 4, AnySeed());
  CAPTURE(seed);
  // A small item limit makes small groups.
  TestCluster cluster(9,
                      {"-m", "64", "-I", "64k", "-o", "slab_chunk_max=32768"});
  Walk(cluster, 1200000, seed).Run(250);
}

}  // namespace ers::test
