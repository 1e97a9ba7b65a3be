// ServerWatch: sees every command that the model servers apply, and says at
// once when one breaks a promise that clients cannot see being broken:
// invariants 3, 4, 9 and 12.
#ifndef ERS_TESTS_SIM_STORE_SERVER_WATCH_H_
#define ERS_TESTS_SIM_STORE_SERVER_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/history/checker.h"
#include "sim/store/client_process.h"
#include "sim/world/sim_server.h"
#include "store/format/manifest.h"
#include "store/format/planted_bug.h"
#include "store/membership/slots.h"

namespace ers::sim {

// Listens to all servers of a world, which outlive it, and to the store
// (store::store_watch, while it lives). One thread.
class ServerWatch : private store::StoreWatch {
 public:
  // `trace`: prints every command.
  ServerWatch(World& world, const Scenario& scenario, bool trace);
  ~ServerWatch() override;
  ServerWatch(const ServerWatch&) = delete;
  ServerWatch& operator=(const ServerWatch&) = delete;

  // Called where a server has applied a command about the view's record.
  std::function<void(SimRuntime&)> on_view_command;

  // Their views decide which members are primaries: the newest of those that
  // their processes may go by does. A process outlives its being followed.
  void Follow(const ClientProcess* process) { processes_.insert(process); }
  void Leave(const ClientProcess* process);
  // Has, or is to have, that slot from now on. All of the world when this is
  // made are followed, in their order.
  void Listen(SimServer& server, int slot);
  [[nodiscard]] int SlotOf(const SimServer& server) const {
    return slot_of_.at(&server);
  }
  // That has the slot in the newest view.
  [[nodiscard]] SimServer& ServerOf(int member) const;

  // Null where no process knows one.
  [[nodiscard]] std::shared_ptr<const store::View> view() const;
  // Null where no process may go by any.
  [[nodiscard]] std::shared_ptr<const store::View> view_in_force() const;

  [[nodiscard]] const std::vector<Violation>& violations() const {
    return violations_;
  }

  // Is this member up, and in the view?
  [[nodiscard]] bool IsMember(int member) const;
  // And full?
  [[nodiscard]] bool IsInSync(int member) const;
  // A change that kept what there was, under an id of its own: of a client or
  // not. A backfill makes such where blocks were never stored.
  struct Keeping {
    std::string key;
    TimePoint first{};  // when the first server has taken it
    TimePoint last{};
  };
  [[nodiscard]] std::vector<Keeping> keepings() const;

  // What the primary of a key shows now, if its server is up, and that has not
  // expired, nor was flushed.
  [[nodiscard]] std::optional<store::Manifest> AtPrimary(
      const std::string& key) const;

 private:
  void OnManifestWrite(std::uint64_t epoch, int member,
                       std::string_view item_key, std::uint64_t token,
                       const store::ChangeId& id) override;
  void OnApplied(SimServer& server, int member, const AppliedCommand& command);
  void Trace(int member, const SimConnection& connection,
             const AppliedCommand& command) const;
  void OnBlock(SimServer& server, int member, const AppliedCommand& command);
  void OnManifest(const SimServer& server, int member, const std::string& key,
                  const AppliedCommand& command);
  [[nodiscard]] SimServer& ServerIn(const store::View& view, int member) const;
  void NotePack(const AppliedCommand& command);
  void NoteKeeping(const SimServer& server, const std::string& key,
                   const store::Manifest& manifest);
  void CheckPack(const std::string& key, const store::Manifest& manifest);
  void OnView(const SimServer& server, const AppliedCommand& command);
  void CheckLease(std::uint64_t epoch, int member, std::string_view item_key);
  void CheckBarrier(int member, const std::string& key,
                    const AppliedCommand& command, const store::ChangeId& id);
  void CheckNamedBlocks(const std::string& key,
                        const store::Manifest& manifest);
  // The same of any replica, in a view.
  [[nodiscard]] std::optional<store::Manifest> AtReplica(
      const store::View& view, int member, const std::string& key) const;
  // Is the block named by what a replica in sync shows? Its object's key, if
  // so: a read may go by any of them.
  [[nodiscard]] std::optional<std::string> NamedBy(
      int member, std::string_view block_key) const;
  [[nodiscard]] store::Replicas ReplicasUnder(const store::View& view,
                                              const std::string& key) const;
  void Report(Invariant invariant, std::string_view key,
              const std::string& text);

  struct Staged {
    std::size_t content = 0;  // hash of the item
    bool dropped = false;
  };

  World& world_;
  const Scenario& scenario_;
  const bool trace_;
  std::set<const ClientProcess*> processes_;
  Duration longest_lease_{};  // that an entry has said
  // The newest that was in force in a process that has left, until another one
  // may go by a view: what was primary then is so still.
  mutable std::shared_ptr<const store::View> left_;
  mutable store::SlotRing slots_;
  std::map<const SimServer*, int> slot_of_;
  std::map<std::string, std::string, std::less<>> key_of_item_;
  std::set<store::ChangeId> ended_packs_;
  // What a server has of a key: its change, and the client CAS.
  std::map<std::pair<const SimServer*, std::string>,
           std::pair<store::ChangeId, std::uint64_t>>
      shown_;
  std::map<std::pair<std::string, store::ChangeId>, Keeping> keepings_;
  // Member and block key.
  std::map<std::pair<int, std::string>, Staged> staged_;
  // Member, item key, token, change: the view that the write was made in.
  std::map<std::tuple<int, std::string, std::uint64_t, store::ChangeId>,
           std::uint64_t>
      sent_in_;
  // The newest view that each server has taken, and since when n - f of them
  // have one of that epoch, or a later one.
  std::map<const SimServer*, std::uint64_t> taken_;
  std::map<std::uint64_t, TimePoint> stored_since_;
  std::vector<Violation> violations_;
};

// Is it a block's, by its name?
bool IsBlockKey(std::string_view key);
// Every block that a manifest names, as (member, key).
std::vector<std::pair<int, std::string>> NamedBlocks(
    const store::Manifest& manifest);

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_STORE_SERVER_WATCH_H_
