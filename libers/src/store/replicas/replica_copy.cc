#include "store/replicas/replica_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/format/expiry.h"
#include "store/format/keys.h"
#include "store/format/planted_bug.h"

namespace ers::store {
namespace {

using net::Outcome;

// Does it put blocks on members that the view does not have?
bool NamesStrangers(const Manifest& manifest, const View& view) {
  return std::any_of(
      manifest.nodes.begin(), manifest.nodes.end(),
      [&view](std::uint16_t node) { return node >= view.members.size(); });
}

}  // namespace

// Plain clients' items may be empty, too.
bool IsStub(const net::Request& read) {
  return read.value.empty() && read.item_flags == 0 && read.item_ttl >= 0 &&
         read.item_ttl <= kStubSeconds;
}

bool ReplicasRead::Agreed() const {
  return std::all_of(copies.begin(), copies.end(),
                     [this](const ReplicaCopy& c) {
                       return c.kind != ReplicaCopy::Kind::kCorrupt &&
                              c.shown() == primary().shown();
                     });
}

bool ReplicasRead::ProvenByAnother(const ReplicaCopy& copy) const {
  return copy.manifest &&
         std::any_of(copies.begin(), copies.end(),
                     [&copy](const ReplicaCopy& other) {
                       return other.manifest && other.shown() != copy.shown() &&
                              other.manifest->Remembers(copy.shown());
                     });
}

bool ReplicasRead::IsUnderWay() const {
  return std::any_of(
      copies.begin(), copies.end(), [this](const ReplicaCopy& before) {
        const auto at = static_cast<std::size_t>(before.member);
        return view->members[at].InSync() &&
               std::any_of(copies.begin(), copies.end(),
                           [&before](const ReplicaCopy& after) {
                             return after.manifest &&
                                    after.shown() != before.shown() &&
                                    IsMadeOver(*after.manifest, before);
                           });
      });
}

bool ReplicasRead::SameAs(const ReplicasRead& before) const {
  return view->epoch == before.view->epoch &&
         std::equal(copies.begin(), copies.end(), before.copies.begin(),
                    before.copies.end(),
                    [](const ReplicaCopy& a, const ReplicaCopy& b) {
                      return a.member == b.member && a.token == b.token &&
                             a.boot_mark == b.boot_mark;
                    });
}

Result<ReplicaCopy> InterpretCopy(const View& view, int member,
                                  const std::string& key, PlainItems plain,
                                  const net::Request& request) {
  ReplicaCopy copy;
  copy.member = member;
  copy.token = request.item_token;
  copy.connection = request.connection;
  copy.boot_mark = view.members[member].boot_mark;
  if (request.outcome == Outcome::kMiss ||
      request.outcome == Outcome::kNoMemory ||
      request.outcome == Outcome::kCreated || IsStub(request)) {
    return copy;
  }
  Result<Manifest> manifest = DecodeManifest(request.key, request.value);
  if (!manifest && manifest.error().code() == StatusCode::kCorruption) {
    copy.kind = ReplicaCopy::Kind::kCorrupt;
    return copy;
  }
  if (!manifest && plain == PlainItems::kTaken &&
      manifest.error().code() == StatusCode::kNotManaged) {
    copy.kind = ReplicaCopy::Kind::kPlain;
    copy.plain = request.value;
    copy.plain_flags = request.item_flags;
    copy.plain_ttl = request.item_ttl;
    return copy;
  }
  if (!manifest) {
    return Fail(manifest.error().code(),
                fmt::format("{}: key '{}': {}", view.members[member].server(),
                            key, manifest.error().message()));
  }
  if (manifest->key != key) {
    return Fail(StatusCode::kConflict,
                fmt::format("key '{}' shares its hash with '{}': use another "
                            "key",
                            key, manifest->key));
  }
  const bool former =
      manifest->incarnation != view.members[member].incarnation &&
      !Planted(PlantedBug::kAnyIncarnation);
  if (former || manifest->member != member) {
    return copy;
  }
  if (NamesStrangers(*manifest, view)) {
    copy.kind = ReplicaCopy::Kind::kCorrupt;
    return copy;
  }
  copy.kind = ReplicaCopy::Kind::kManifest;
  copy.manifest = std::make_shared<const Manifest>(std::move(*manifest));
  return copy;
}

bool IsAlive(const Manifest& manifest, const View& view, std::int64_t now_us) {
  if (manifest.tombstone || IsExpired(manifest.expiry, now_us)) return false;
  // A pack is no client's: what is in it may be younger than a flush by the
  // clock of another process.
  return !view.IsFlushed(manifest.id, now_us) || IsPackKey(manifest.key);
}

bool IsMadeOver(const Manifest& next, const ReplicaCopy& copy) {
  if (copy.kind == ReplicaCopy::Kind::kCorrupt) return false;
  return next.history.empty() ? !copy.manifest
                              : copy.shown().tag() == next.history.front();
}

Result<const ReplicaCopy*> DecidingCopy(const ReplicasRead& read,
                                        const std::string& key) {
  if (read.primary().kind != ReplicaCopy::Kind::kCorrupt) {
    return &read.primary();
  }
  const auto stand_in = std::find_if(
      read.copies.rbegin(), read.copies.rend(), [](const ReplicaCopy& copy) {
        return copy.kind != ReplicaCopy::Kind::kCorrupt;
      });
  if (stand_in == read.copies.rend() || !stand_in->manifest) {
    return Fail(StatusCode::kCorruption,
                fmt::format("key '{}': the manifest is corrupted and no other "
                            "copy can stand in; delete or overwrite the object",
                            key));
  }
  return &*stand_in;
}

}  // namespace ers::store
