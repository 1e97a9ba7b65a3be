// ReplicaSet: the manifests of one key on its replicas: reading them,
// reconciling what differs, and the commit that every change ends in
// (docs/internals/commit.md).
#ifndef ERS_STORE_REPLICAS_REPLICA_SET_H_
#define ERS_STORE_REPLICAS_REPLICA_SET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/task.h"
#include "store/format/manifest.h"
#include "store/membership/key_lines.h"
#include "store/membership/send.h"
#include "store/membership/session.h"
#include "store/support/step_timer.h"

namespace ers::store {

// What one replica holds.
struct ReplicaCopy {
  enum class Kind {
    kAbsent,  // no item, a stub, or a manifest of another incarnation
    kManifest,
    kCorrupt,  // ours, but its checksum fails or it makes no sense
    kPlain,    // of a plain client; only where ReplacePlain was said
  };
  int member = 0;
  Kind kind = Kind::kAbsent;
  std::uint64_t token = 0;       // of the item; 0 where there is none, nor
                                 // memory for a stub
  std::uint64_t connection = 0;  // on which the token was read
  std::string boot_mark;
  std::shared_ptr<const Manifest> manifest;  // kManifest only
  std::string plain;                         // kPlain only: its value
  std::uint32_t plain_flags = 0;
  std::int64_t plain_ttl = -1;  // seconds left; -1 never expires

  [[nodiscard]] ChangeId shown() const {
    return manifest ? manifest->id : ChangeId{};
  }
};

// All replicas of a key under one view, primary last.
struct ReplicasRead {
  std::shared_ptr<const View> view;
  std::vector<ReplicaCopy> copies;
  std::int64_t asked_us = 0;  // when (Unix): whether there is an object

  [[nodiscard]] const ReplicaCopy& primary() const { return copies.back(); }
  // All show the same change, or all none.
  [[nodiscard]] bool Agreed() const;
  // Nobody has written to any of them since `before` was read.
  [[nodiscard]] bool SameAs(const ReplicasRead& before) const;
};

// An object's value as the item that a plain client is to find.
struct PlainForm {
  int member = 0;  // where it looks
  std::string_view value;
  std::uint32_t client_flags = 0;
  std::int64_t expiry = 0;  // Unix seconds, 0 never
};

// What is known of a commit that did not go straight through.
enum class CommitFate {
  kCommitted,
  kNotHappened,  // and never will: blocks may be dropped, the change tried anew
  kUnknown,      // old or new, whole; staged blocks are left to garbage
                 // collection
};

struct CommitResult {
  CommitFate fate = CommitFate::kUnknown;
  Status status;  // why, unless committed; kOk: try anew
  // Why anew: the view changed or a server was silent; else a rival was first.
  bool by_view = false;
};

// Was this item left by a change that is being prepared? For what a get or
// vivify gave.
bool IsStub(const net::Request& read);

// One operation's dealings with one key. Loop thread only.
class ReplicaSet {
 public:
  // A view must be in force. The cluster's operation_timeout begins. `steps`
  // outlives it; null: nobody wants to know.
  ReplicaSet(Session& session, std::string_view key,
             StepTimer* steps = nullptr);
  [[nodiscard]] StepTimer* steps() const { return steps_; }
  // The operation_timeout begins anew.
  void RestartDeadline();
  // Waits until no change of the key that came before is under way in this
  // process, and lets none come between until this is destroyed. What others
  // have made of the object meanwhile is remembered then. At once where it has
  // been done already. kUnavailable: they do not come to an end.
  net::Task<Status> TakeTurn();
  [[nodiscard]] bool has_turn() const { return turn_.has_value(); }
  // Had to wait for it.
  [[nodiscard]] bool waited() const { return turn_ && turn_->waited(); }
  // Tells the next in line, too.
  void Remember(const std::shared_ptr<const Manifest>& manifest);
  // From now on it is out of turn: what gives way to all others, and need not
  // come to an end, must not have others wait for it.
  void GoOutOfTurn() { out_of_turn_ = true; }
  // A rival, of another process, was first: waits by chance, longer each time.
  net::Task<void> GiveWay();
  // Is the operation_timeout over?
  [[nodiscard]] bool Expired() const;
  [[nodiscard]] Status ChangedWithoutEnd() const;
  // That was in force when this was made: before anything is staged.
  [[nodiscard]] std::uint64_t first_epoch() const { return first_epoch_; }

  // The primary's copy alone: what a read goes by. Where the primary shows no
  // manifest, the other replicas are read and reconciled first. Dead replicas
  // leave the view on the way. A null manifest: the key is absent.
  net::Task<Result<std::shared_ptr<const Manifest>>> ReadPrimary();

  // Reads all replicas with tokens, leaving stubs where there is nothing (and
  // memory for them), and reconciles them if they differ. One round trip when
  // all is well. This is the end of a change's prepare.
  net::Task<Result<ReplicasRead>> Prepare();
  // The same ahead of time, beside the staging: empty where they differ, as a
  // rival is in the midst of a change, which is to come to its own end.
  net::Task<std::optional<ReplicasRead>> PrepareAhead();
  // Reads all replicas and reconciles them if they differ; leaves no stubs
  // where they all show nothing. What they show then; null: nothing.
  net::Task<Result<std::shared_ptr<const Manifest>>> ReadReconciled();
  // The same, with a new token for whatever is there, stubs where there is
  // nothing, and plain items as they are: what was sent under an older token,
  // by anybody, does nothing from then on. Where a plain item is among them,
  // the others are not reconciled.
  net::Task<Result<ReplicasRead>> Fence();
  // ReadReconciled found them different.
  [[nodiscard]] bool reconciled() const { return reconciled_; }
  // From now on Prepare also gives replicas that nobody can reconcile, because
  // the primary's copy is corrupted and none can stand in: for changes that
  // replace whatever is there.
  void ReplaceCorrupted() { replaces_corrupted_ = true; }
  // From now on Prepare takes items that are none of this library's for nothing
  // there: the change will replace them.
  void ReplacePlain() { replaces_plain_ = true; }
  // Prepare gave replicas that ReplaceCorrupted is for.
  [[nodiscard]] bool found_corrupted() const { return found_corrupted_; }

  // From now on ReadPrimary also gives what has ended: as long as the primary
  // has its manifest, a change that began before may give it a longer life.
  void TakeEnded() { takes_ended_ = true; }
  // From now on servers do not take what is read for an access.
  void ReadNoBump() { no_bump_ = true; }
  // From now on the primary's request tells what the server knows of accesses
  // before it.
  void TellAccess() { tell_access_ = true; }

  // Writes `next` to every replica in order, the primary last. `next` needs no
  // id's history, replaces or copy fields: they come from `base`, which Prepare
  // gave.
  net::Task<CommitResult> Commit(const ReplicasRead& base, Manifest next);

  // The same two steps for the end of an object, whose value goes on as a plain
  // item (export.cc). Prepare: empty where the replicas do not show `base`,
  // whole, and it has to be read anew. kConflict: a plain item of another value
  // is there, too. Commit: with kOk, kNotHappened and kUnknown both ask to read
  // the replicas anew. Check: what Prepare would say, and writes nothing; false
  // where it has to be read anew.
  net::Task<Result<bool>> CheckPlain(const ChangeId& base,
                                     const PlainForm& form);
  net::Task<Result<std::optional<ReplicasRead>>> PreparePlain(
      const ChangeId& base, const PlainForm& form);
  net::Task<CommitResult> CommitPlain(const ReplicasRead& base,
                                      const PlainForm& form);

  // Is this manifest a living object then (Unix microseconds): not a tombstone,
  // expired or flushed? Of what was read, the time at which it was asked for
  // decides: what ends while the answer is under way may have got a longer life
  // before it ended, which the answer is too old to show.
  [[nodiscard]] bool Alive(const Manifest& manifest, std::int64_t at_us) const;

  // The request for the primary's copy, to be sent together with others; pass
  // it to FinishReadPrimary once it is done.
  struct PrimaryRequest {
    std::shared_ptr<const View> view;
    int member = -1;
    std::int64_t asked_us = 0;  // Unix
    net::Request request;
  };
  Status BeginReadPrimary(PrimaryRequest& primary);
  net::Task<Result<std::shared_ptr<const Manifest>>> FinishReadPrimary(
      PrimaryRequest& primary);

 private:
  using Found = std::shared_ptr<const Manifest>;  // null: absent
  struct CasResult {
    net::Outcome outcome = net::Outcome::kNotSent;
    bool view_changed = false;
    // The first try's reply was lost: a refusal may be of its own making.
    bool resent = false;
    std::string error;
  };

  static constexpr int kReadTries = 3;
  net::Task<Status> WaitForTurn();
  net::Task<Status> ReplicaFailed(int member);
  std::optional<Result<Found>> PrimaryAnswer(
      const PrimaryRequest& primary) const;
  Found Shown(const Found& manifest, std::int64_t asked_us) const;
  net::Task<Result<Found>> AskAgain(PrimaryRequest& primary);
  net::Task<Result<Found>> AskAllReplicas();
  Result<Replicas> CurrentReplicas(const View& view) const;
  Result<ReplicaCopy> Interpret(const View& view, int member,
                                const net::Request& request) const;
  // The answers of `members`, the primary's last. A plain item on one that is
  // being backfilled counts for nothing where the primary shows that an object
  // was there since: the server has returned with it.
  Status InterpretAll(const View& view,
                      const std::vector<net::Request>& requests,
                      const std::vector<int>& members,
                      std::vector<ReplicaCopy>& copies) const;
  net::Task<Result<ReplicasRead>> Collect(SendStep step);
  net::Task<Result<ReplicasRead>> CollectPlain(const PlainForm& form,
                                               SendStep step);
  net::Task<Result<ReplicasRead>> Reconcile(
      std::optional<ReplicasRead> seen = {});
  net::Task<Result<std::optional<Found>>> ReconcileOnce(
      const ReplicasRead& read);
  net::Task<Result<ReplicasRead>> ReadToFence();
  net::Task<CasResult> WriteBack(const View& view, const ReplicaCopy& replica);
  net::Task<CasResult> Cas(SendStep step, const View& view,
                           const ReplicaCopy& replica,
                           const Manifest* manifest);
  net::Task<CasResult> CasPlain(SendStep step, const View& view,
                                const ReplicaCopy& replica);
  net::Task<CasResult> CasItem(SendStep step, const View& view,
                               const ReplicaCopy& replica, const ChangeId& id,
                               net::Request& request);
  static bool NoRoom(net::Outcome outcome) {
    return outcome == net::Outcome::kNoMemory ||
           outcome == net::Outcome::kTooLarge;
  }
  Status NoRoomAt(const ReplicaCopy& replica, net::Outcome outcome,
                  const std::string& error) const;
  bool DecidedAt(const ReplicaCopy& primary, const View& view) const;
  static bool MayLand(const ReplicaCopy& replica, const CasResult& failed,
                      const ReplicasRead& now);
  net::Task<CommitResult> Resolve(const ReplicasRead& base,
                                  const Manifest& next,
                                  const ReplicaCopy& replica,
                                  const CasResult& failed);

  Session& session_;
  StepTimer* const steps_;
  const std::string key_;
  const std::string item_key_;
  const std::uint64_t first_epoch_;
  net::TimePoint deadline_;
  bool replaces_corrupted_ = false;
  bool replaces_plain_ = false;
  bool found_corrupted_ = false;
  bool reconciled_ = false;
  // For want of memory: what the first replicas show of a change is taken back.
  bool goes_back_ = false;
  bool takes_ended_ = false;
  bool no_bump_ = false;
  bool tell_access_ = false;
  bool out_of_turn_ = false;
  int gave_way_ = 0;  // times
  // The primary's item that reconciling has replaced last, and by what
  // change's.
  Replaces reconciled_item_;
  ChangeId reconciled_by_;
  std::optional<KeyLines::Turn> turn_;
};

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_REPLICA_SET_H_
