// What becomes of a change that was cut off half way.
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>

#include "base/micros.h"
#include "store/replicas/replica_copy.h"

namespace ers::store {
namespace {

constexpr std::int64_t kNowUs = 1'700'000'000'000'000;

// Two replicas: the first has a change that was to replace what the primary
// has.
struct Cut {
  Cut() {
    view.members.resize(2);
    primary.id.time_us = kNowUs - 3000;
    first.id.time_us = kNowUs - 1000;
    for (int i = 0; i < 2; ++i) {
      view.members[static_cast<std::size_t>(i)].incarnation = 7;
    }
  }

  Reconciliation Reconciled() const {
    ReplicasRead read;
    read.view = std::make_shared<const View>(view);
    read.asked_us = kNowUs;
    for (int i = 0; i < 2; ++i) {
      ReplicaCopy& copy = read.copies.emplace_back();
      copy.member = i;
      copy.kind = ReplicaCopy::Kind::kManifest;
      copy.token = 20 + static_cast<std::uint64_t>(i);
    }
    Manifest change = first;
    change.replaces = ReplacesOf(*read.view, read.primary());
    read.copies[0].manifest = std::make_shared<const Manifest>(change);
    read.copies[1].manifest = std::make_shared<const Manifest>(primary);
    return ChooseReconciliation(read, "k").value();
  }
  bool GoesOn() const { return Reconciled().manifest->id == first.id; }

  View view;
  Manifest primary;
  Manifest first;
};

TEST_CASE("a change that was cut off is finished, over an object or none") {
  Cut cut;
  CHECK(cut.GoesOn());
  CHECK(cut.Reconciled().forward);
  cut.primary.tombstone = true;
  CHECK(cut.GoesOn());
}

TEST_CASE("one over an object that was flushed does not bring it back") {
  Cut cut;
  cut.view.flushed_before = static_cast<std::uint64_t>(kNowUs) - 2000;
  CHECK_FALSE(cut.GoesOn());
  CHECK_FALSE(cut.Reconciled().forward);
  // Not yet.
  cut.view.flushed_before = static_cast<std::uint64_t>(kNowUs) + 1;
  CHECK(cut.GoesOn());
}

TEST_CASE("one that was flushed takes nothing from behind the flush") {
  Cut cut;
  cut.primary.id.time_us = kNowUs - 500;
  cut.view.flushed_before = static_cast<std::uint64_t>(kNowUs) - 700;
  CHECK_FALSE(cut.GoesOn());
  cut.first.tombstone = true;
  CHECK(cut.GoesOn());
}

TEST_CASE("one over an object that has expired does not bring it back") {
  Cut cut;
  cut.primary.expiry = kNowUs / kMicrosPerSecond;
  CHECK_FALSE(cut.GoesOn());
  cut.primary.expiry += 1;
  CHECK(cut.GoesOn());
  // But where a plain item was in its way, that is gone.
  cut.primary.expiry -= 1;
  cut.first.ends_plain = true;
  CHECK(cut.GoesOn());
}

}  // namespace
}  // namespace ers::store
