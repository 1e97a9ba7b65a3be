#include "sim/store/server_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "sim/world/sim_connection.h"
#include "sim/world/sim_runtime.h"
#include "store/format/keys.h"
#include "store/format/object_map.h"
#include "store/format/participant.h"
#include "store/format/view.h"
#include "store/membership/lease.h"
#include "store/replicas/replica_copy.h"

namespace ers::sim {
namespace {

using store::Manifest;

bool Stores(std::string_view verb) {
  return verb == "ms" || verb == "cas" || verb == "set" || verb == "add" ||
         verb == "replace";
}

std::int64_t Micros(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             time.time_since_epoch())
      .count();
}

bool Drops(std::string_view verb) {
  return verb == "md" || verb == "delete" || verb == "touch";
}

bool IsInSyncIn(const store::View& view, int member) {
  return view.members[static_cast<std::size_t>(member)].state ==
         MemberState::kInSync;
}

// " view 7: in, out, filled since 6".
std::string DescribeView(const store::View& view) {
  std::string text = fmt::format(" view {}:", view.epoch);
  for (const store::Member& member : view.members) {
    const bool down = member.state == MemberState::kDown;
    const char* state = down ? "out" : member.InSync() ? "in" : "filled";
    text += fmt::format(" {}", state);
    if (member.joined != 0) text += fmt::format(" since {}", member.joined);
  }
  return text;
}

// After a touch that has taken its end away.
bool LivesOn(SimServer& server, std::string_view block_key) {
  const ModelItem* item = server.items().Find(block_key);
  return item != nullptr && item->expires == 0;
}

}  // namespace

bool IsBlockKey(std::string_view key) {
  return key.starts_with("ers!b") && key != store::kBootKey;
}

std::vector<std::pair<int, std::string>> NamedBlocks(const Manifest& manifest) {
  std::vector<std::pair<int, std::string>> named;
  if (manifest.tombstone || manifest.is_inline) return named;
  const store::ObjectMap map(std::make_shared<const Manifest>(manifest));
  for (int group = 0; group < map.groups(); ++group) {
    for (const layout::BlockId block :
         map.geometry().StoredBlocks(map.width())) {
      if (!map.GenerationOf(group, block)) continue;
      named.emplace_back(map.MemberOf(group, block), map.KeyOf(group, block));
    }
  }
  return named;
}

ServerWatch::ServerWatch(World& world, const Scenario& scenario, bool trace)
    : world_(world), scenario_(scenario), trace_(trace) {
  for (const std::string& key : scenario.keys) {
    key_of_item_[store::ManifestKey(key)] = key;
  }
  for (std::size_t i = 0; i < world.servers().size(); ++i) {
    Listen(*world.servers()[i], static_cast<int>(i));
  }
  store::store_watch = this;
}

void ServerWatch::Listen(SimServer& server, int slot) {
  slot_of_[&server] = slot;
  server.on_applied = [this, &server, slot](const SimConnection& connection,
                                            const AppliedCommand& command) {
    if (trace_) Trace(slot, connection, command);
    OnApplied(server, slot, command);
    if (command.key == store::kViewKey && on_view_command) {
      on_view_command(connection.process());
    }
  };
}

ServerWatch::~ServerWatch() {
  store::store_watch = nullptr;
  for (const auto& server : world_.servers()) server->on_applied = nullptr;
}

void ServerWatch::Leave(const ClientProcess* process) {
  if (process->cluster().lease.Holds(world_.now())) {
    const std::shared_ptr<const store::View> view = process->view();
    if (!left_ || left_->epoch < view->epoch) left_ = view;
  }
  processes_.erase(process);
}

void ServerWatch::OnManifestWrite(std::uint64_t epoch, int member,
                                  std::string_view item_key,
                                  std::uint64_t token,
                                  const store::ChangeId& id) {
  sent_in_[{member, std::string(item_key), token, id}] = epoch;
  CheckLease(epoch, member, item_key);
}

// Invariant V4. A lease is renewed by f + 1 members, and by none that has a
// later view: so it ends once n - f have one.
void ServerWatch::CheckLease(std::uint64_t epoch, int member,
                             std::string_view item_key) {
  const auto later = stored_since_.upper_bound(epoch);
  if (later == stored_since_.end() || scenario_.scope == FaultScope::kBeyond ||
      world_.now() - later->second <= longest_lease_) {
    return;
  }
  // What was evicted meanwhile shows no later view.
  int holders = 0;
  for (const auto& server : world_.servers()) {
    const ModelItem* item = server->items().Find(store::kViewKey);
    if (item == nullptr) continue;
    const Result<store::View> there = store::DecodeView(item->value);
    if (there && there->epoch > epoch) ++holders;
  }
  if (holders < scenario_.servers - scenario_.max_failures) return;
  Report(
      Invariant::kViewBarrier, item_key,
      fmt::format("server {}: a manifest write is sent under view {}, {} us "
                  "after view {} was stored",
                  member, epoch, Micros(world_.now()) - Micros(later->second),
                  later->first));
}

void ServerWatch::Trace(int member, const SimConnection& connection,
                        const AppliedCommand& command) const {
  const Result<Manifest> manifest =
      store::DecodeManifest(command.key, command.value);
  const std::string change =
      command.value.empty() || !manifest
          ? std::string()
          : fmt::format(" change {}{}", store::FormatChangeId(manifest->id),
                        manifest->tombstone ? " (tombstone)" : "");
  const Result<store::View> view = store::DecodeView(command.value);
  fmt::print("    {} us, server {}, {} by {}: {} {} token {}: {}{}{}\n",
             Micros(world_.now()), member, connection.process().name(),
             connection.id(), command.verb, command.key, command.token_given,
             command.applied ? "done" : command.reply, change,
             view ? DescribeView(*view) : std::string());
}

void ServerWatch::OnApplied(SimServer& server, int member,
                            const AppliedCommand& command) {
  if (command.key.starts_with(store::kEntryPrefix)) {
    const Result<store::Entry> entry = store::DecodeEntry(command.value);
    if (!entry) return;
    longest_lease_ = std::max<Duration>(longest_lease_, entry->terms.lease_for);
  } else if (IsBlockKey(command.key)) {
    OnBlock(server, member, command);
  } else if (command.key == store::kViewKey) {
    OnView(server, command);
  } else {
    NotePack(command);
    const auto found = key_of_item_.find(command.key);
    if (found == key_of_item_.end()) return;
    OnManifest(server, member, found->second, command);
  }
}

// Packs get their names on the way.
void ServerWatch::NotePack(const AppliedCommand& command) {
  if (!scenario_.packs || !Stores(command.verb) ||
      key_of_item_.contains(command.key) ||
      !store::HashOfHashedName(command.key)) {
    return;
  }
  const Result<Manifest> manifest =
      store::DecodeManifest(command.key, command.value);
  if (!manifest || !store::IsPackKey(manifest->key)) return;
  key_of_item_[std::string(command.key)] = manifest->key;
}

void ServerWatch::OnBlock(SimServer& server, int member,
                          const AppliedCommand& command) {
  if (!command.applied) return;
  const std::pair<int, std::string> place(member, std::string(command.key));
  if (Stores(command.verb)) {
    const std::size_t content = std::hash<std::string_view>()(command.value);
    const auto [it, fresh] = staged_.try_emplace(place, Staged{content});
    if (!fresh && it->second.content != content) {
      Report(
          Invariant::kBlocksOfManifest, command.key,
          fmt::format("server {}: two contents under one generation", member));
    }
    it->second = Staged{content};
  } else if (Drops(command.verb) && !LivesOn(server, command.key)) {
    const std::optional<std::string> object = NamedBy(member, command.key);
    if (object) {
      Report(Invariant::kBlocksOfManifest, *object,
             fmt::format("server {}: block {} is dropped while a replica's "
                         "manifest names it",
                         member, command.key));
    }
    staged_[place].dropped = true;
  }
}

void ServerWatch::OnManifest(const SimServer& server, int member,
                             const std::string& key,
                             const AppliedCommand& command) {
  if (command.verb == "md" && command.applied) {
    CheckBarrier(member, key, command, store::ChangeId{});
  }
  if (!Stores(command.verb)) return;
  if (!command.applied) {
    if (command.verb != "cas" && command.reply == "SERVER_ERROR") {
      Report(Invariant::kFailedLeavesWhole, key,
             fmt::format("server {}: \"{}\" without memory deleted the "
                         "manifest",
                         member, command.verb));
    }
    return;
  }
  const Result<Manifest> manifest =
      store::DecodeManifest(command.key, command.value);
  CheckBarrier(member, key, command,
               manifest ? manifest->id : store::ChangeId{});
  if (manifest) NoteKeeping(server, key, *manifest);
  const std::shared_ptr<const store::View> now = view();
  if (!manifest || !now) return;
  const store::Replicas replicas = ReplicasUnder(*now, key);
  const bool is_replica =
      std::find(replicas.members.begin(), replicas.members.end(), member) !=
      replicas.members.end();
  if (is_replica && IsInSyncIn(*now, member) &&
      &ServerIn(*now, member) == &server) {
    CheckNamedBlocks(key, *manifest);
    CheckPack(key, *manifest);
  }
}

// By the CAS of clients, which says whether the content is another one.
void ServerWatch::NoteKeeping(const SimServer& server, const std::string& key,
                              const Manifest& manifest) {
  if (!scenario_.flushes) return;
  const std::pair now(manifest.id, manifest.cas);
  const auto [before, fresh] = shown_.try_emplace({&server, key}, now);
  const bool keeps = !fresh && !manifest.tombstone &&
                     before->second.second == manifest.cas &&
                     before->second.first != manifest.id;
  before->second = now;
  const auto known = keepings_.find({key, manifest.id});
  if (known != keepings_.end()) {
    known->second.last = world_.now();
  } else if (keeps) {
    keepings_[{key, manifest.id}] = {key, world_.now(), world_.now()};
  }
}

std::vector<ServerWatch::Keeping> ServerWatch::keepings() const {
  std::vector<Keeping> all;
  for (const auto& [change, keeping] : keepings_) all.push_back(keeping);
  return all;
}

// No replica in sync names a pack that has ended. Beyond f what too many of its
// blocks are gone of ends, too.
void ServerWatch::CheckPack(const std::string& key, const Manifest& manifest) {
  if (scenario_.scope == FaultScope::kBeyond) return;
  if (manifest.is_packed() && ended_packs_.contains(manifest.pack)) {
    Report(Invariant::kBlocksOfManifest, key,
           fmt::format("change {} names a pack that has ended",
                       store::FormatChangeId(manifest.id)));
  }
  const std::optional<store::ChangeId> pack = store::PackOfKey(key);
  const std::shared_ptr<const store::View> now = view();
  if (!pack || !manifest.tombstone || !ended_packs_.insert(*pack).second) {
    return;
  }
  for (const std::string& object : scenario_.keys) {
    for (const int replica : ReplicasUnder(*now, object).members) {
      if (!IsInSyncIn(*now, replica)) continue;
      const std::optional<Manifest> shown = AtReplica(*now, replica, object);
      if (!shown || shown->pack != *pack) continue;
      Report(
          Invariant::kBlocksOfManifest, object,
          fmt::format("pack {} ends while a replica's manifest names it", key));
      return;
    }
  }
}

void ServerWatch::CheckBarrier(int member, const std::string& key,
                               const AppliedCommand& command,
                               const store::ChangeId& id) {
  const auto sent = sent_in_.find(
      {member, std::string(command.key), command.token_given, id});
  const std::shared_ptr<const store::View> now = view_in_force();
  if (sent == sent_in_.end() || !now) return;
  const store::Member& there = now->members[static_cast<std::size_t>(member)];
  // What a member held before it came back is void.
  if (now->epoch <= sent->second || there.state == MemberState::kDown ||
      there.joined > sent->second) {
    return;
  }
  Report(Invariant::kViewBarrier, key,
         fmt::format("server {}: a manifest write of view {} lands in view {}",
                     member, sent->second, now->epoch));
}

void ServerWatch::CheckNamedBlocks(const std::string& key,
                                   const Manifest& manifest) {
  for (const auto& place : NamedBlocks(manifest)) {
    const auto found = staged_.find(place);
    const bool missing = found == staged_.end();
    if (!missing && !found->second.dropped) continue;
    Report(Invariant::kBlocksOfManifest, key,
           fmt::format("change {} names block {} of server {}, which was {}",
                       store::FormatChangeId(manifest.id), place.second,
                       place.first, missing ? "never staged" : "dropped"));
    return;
  }
}

void ServerWatch::OnView(const SimServer& server,
                         const AppliedCommand& command) {
  if (!Stores(command.verb) || !command.applied) return;
  const Result<store::View> view = store::DecodeView(command.value);
  if (view) {
    std::uint64_t& taken = taken_[&server];
    taken = std::max(taken, view->epoch);
    const auto holders = std::count_if(
        taken_.begin(), taken_.end(),
        [&view](const auto& one) { return one.second >= view->epoch; });
    if (holders >= scenario_.servers - scenario_.max_failures) {
      stored_since_.try_emplace(view->epoch, world_.now());
    }
  }
  if (view && view->NotInSync() > view->max_failures) {
    Report(Invariant::kEnoughMembers, command.key,
           fmt::format("view {} has {} members that are not in sync",
                       view->epoch, view->NotInSync()));
  }
}

std::shared_ptr<const store::View> ServerWatch::view_in_force() const {
  std::shared_ptr<const store::View> newest;
  for (const ClientProcess* process : processes_) {
    if (!process->cluster().lease.Holds(world_.now())) continue;
    std::shared_ptr<const store::View> view = process->view();
    if (!newest || newest->epoch < view->epoch) newest = std::move(view);
  }
  return newest;
}

std::shared_ptr<const store::View> ServerWatch::view() const {
  std::shared_ptr<const store::View> newest = view_in_force();
  if (newest) {
    left_ = nullptr;
    return newest;
  }
  newest = left_;
  for (const ClientProcess* process : processes_) {
    std::shared_ptr<const store::View> view = process->view();
    const bool newer = view && (!newest || newest->epoch < view->epoch);
    if (newer) newest = std::move(view);
  }
  return newest;
}

store::Replicas ServerWatch::ReplicasUnder(const store::View& view,
                                           const std::string& key) const {
  return store::ReplicasOf(view, *slots_.Of(view), key);
}

SimServer& ServerWatch::ServerIn(const store::View& view, int member) const {
  const auto at = static_cast<std::size_t>(member);
  const store::Member& slot = view.members[at];
  return (!slot.address.empty() || !slot.previous.empty())
             ? *world_.FindServer(slot.server())
             : *world_.servers()[at];
}

SimServer& ServerWatch::ServerOf(int member) const {
  const std::shared_ptr<const store::View> newest = view();
  return newest ? ServerIn(*newest, member)
                : *world_.servers()[static_cast<std::size_t>(member)];
}

bool ServerWatch::IsMember(int member) const {
  const std::shared_ptr<const store::View> newest = view();
  const auto at = static_cast<std::size_t>(member);
  return newest && newest->members[at].state != MemberState::kDown &&
         ServerIn(*newest, member).up();
}

bool ServerWatch::IsInSync(int member) const {
  return IsMember(member) &&
         view()->members[static_cast<std::size_t>(member)].state ==
             MemberState::kInSync;
}

std::optional<Manifest> ServerWatch::AtPrimary(const std::string& key) const {
  const std::shared_ptr<const store::View> now = view();
  if (!now) return std::nullopt;
  const store::Replicas replicas = ReplicasUnder(*now, key);
  if (!replicas.primary_in_sync) return std::nullopt;
  return AtReplica(*now, replicas.primary(), key);
}

std::optional<Manifest> ServerWatch::AtReplica(const store::View& view,
                                               int member,
                                               const std::string& key) const {
  SimServer& server = ServerIn(view, member);
  if (!server.up()) return std::nullopt;
  const ModelItem* item = server.items().Find(store::ManifestKey(key));
  if (item == nullptr) return std::nullopt;
  Result<Manifest> manifest =
      store::DecodeManifest(store::ManifestKey(key), item->value);
  const auto at = static_cast<std::size_t>(member);
  if (!manifest || manifest->incarnation != view.members[at].incarnation) {
    return std::nullopt;
  }
  const bool ended = !manifest->tombstone &&
                     !store::IsAlive(*manifest, view, world_.WallMicros());
  if (ended) return std::nullopt;
  return std::move(*manifest);
}

std::optional<std::string> ServerWatch::NamedBy(
    int member, std::string_view block_key) const {
  const std::shared_ptr<const store::View> now = view();
  const std::optional<store::BlockName> name = store::ParseBlockKey(block_key);
  if (!now || !name) return std::nullopt;
  for (const auto& [item, key] : key_of_item_) {
    if (!(store::HashKey(key) == name->hash)) continue;
    for (const int replica : ReplicasUnder(*now, key).members) {
      if (!IsInSyncIn(*now, replica)) continue;
      const std::optional<Manifest> manifest = AtReplica(*now, replica, key);
      if (!manifest) continue;
      const std::vector<std::pair<int, std::string>> named =
          NamedBlocks(*manifest);
      const bool names =
          std::any_of(named.begin(), named.end(), [&](const auto& place) {
            return place.first == member && place.second == block_key;
          });
      if (names) return key;
    }
  }
  return std::nullopt;
}

void ServerWatch::Report(Invariant invariant, std::string_view key,
                         const std::string& text) {
  constexpr std::size_t kEnough = 20;
  if (violations_.size() < kEnough) {
    violations_.push_back(
        Breach(invariant, key,
               fmt::format("{} (at {} us)", text, Micros(world_.now()))));
  }
}

}  // namespace ers::sim
