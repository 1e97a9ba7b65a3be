#include "store/replicas/replica_set.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "store/format/planted_bug.h"
#include "store/membership/known_changes.h"
#include "store/replicas/confirm.h"

namespace ers::store {
namespace {

using net::Task;

constexpr int kReadTries = 3;
// Of the reads that had to ask all replicas, so many have the next one, of any
// process, ask one alone. It takes as many writes as there are replicas.
constexpr std::uint64_t kConfirmOneIn = 4;

bool IsAbsent(const ReplicasRead& read) {
  return std::all_of(read.copies.begin(), read.copies.end(),
                     [](const ReplicaCopy& copy) {
                       return copy.kind == ReplicaCopy::Kind::kAbsent;
                     });
}

}  // namespace

ReplicaSet::ReplicaSet(Session& session, std::string_view key, StepTimer* steps,
                       const ChangeTerms& terms)
    : key_(session, key, steps),
      replaces_corrupted_(terms.replaces_corrupted),
      of_pack_(terms.of_pack),
      plain_(terms.replaces_plain ? PlainItems::kTaken : PlainItems::kRefused),
      first_epoch_(session.view()->epoch),
      turn_(key_, terms.out_of_turn),
      reader_(key_, turn_),
      writer_(key_),
      reconciler_(key_, turn_, reader_, writer_),
      committer_(key_, turn_, writer_, reconciler_, plain_),
      exporter_(key_, reader_, writer_, reconciler_) {}

bool ReplicaSet::Alive(const Manifest& manifest, std::int64_t at_us) const {
  return IsAlive(manifest, *key_.session.view(), at_us);
}

Task<Result<ShownManifest>> ReplicaSet::FinishRead(CopyRead& read) {
  const InStep step(key_.steps, RequestStep::kManifest);
  std::optional<Result<ShownManifest>> answer = read.TakeAnswer();
  if (answer) return Task<Result<ShownManifest>>::Ready(std::move(*answer));
  return AskAgain(read);
}

Task<Result<ShownManifest>> ReplicaSet::AskAgain(CopyRead& read) {
  const InStep step(key_.steps, RequestStep::kManifest);
  for (int i = 0; i < kReadTries && !turn_.Expired(); ++i) {
    if (i > 0) {
      std::optional<Result<ShownManifest>> answer = read.TakeAnswer();
      if (answer) co_return std::move(*answer);
    }
    if (!read.silent() && read.UnderThisView()) break;
    if (read.silent()) {
      Status status = co_await key_.OnSilent(read.member());
      if (!status.ok()) co_return Fail(std::move(status));
    }
    Status status = read.Start();
    if (!status.ok()) co_return Fail(std::move(status));
    co_await read;
  }
  if (Planted(PlantedBug::kMissByPrimaryAlone)) co_return ShownManifest();
  co_return co_await AskAllReplicas(read.terms());
}

// Reconciles them where they differ.
Task<Result<ShownManifest>> ReplicaSet::AskAllReplicas(PrimaryTerms terms) {
  PlainItems plain = plain_;
  Result<ReplicasRead> read =
      co_await reader_.Collect(SendStep::kReadReplicas, plain);
  Status not_managed;
  if (!read && read.error().code() == StatusCode::kNotManaged) {
    // As long as the primary shows an object it is one.
    not_managed = read.error();
    plain = PlainItems::kTaken;
    read = co_await reader_.Collect(SendStep::kReadReplicas, plain);
    if (read && !read->primary().manifest) co_return Fail(not_managed);
  }
  if (!read) co_return Fail(read.error());
  if (IsAbsent(*read)) co_return ShownManifest();
  if (Planted(PlantedBug::kNoWriteBack)) {
    co_return reader_.Shown(read->copies.front().manifest, read->asked_us,
                            terms);
  }
  const std::int64_t asked_us = read->asked_us;
  const ReplicaCopy& primary = read->primary();
  if (read->Agreed()) {
    NoteAgreed(*read, terms);
  } else if (!reader_.IsCommitted(primary) && !read->ProvenByAnother(primary)) {
    read = co_await reconciler_.Reconcile(plain, std::move(*read));
    if (!read && read.error().code() == StatusCode::kNoMemory) {
      const Result<ShownManifest> shown =
          co_await reconciler_.ReadWithoutRoom(plain, read.error());
      if (!shown) co_return Fail(shown.error());
      co_return reader_.Shown(*shown, asked_us, terms);
    }
    if (!read) co_return Fail(read.error());
    const bool gone = !read->primary().manifest;
    if (gone && !not_managed.ok()) co_return Fail(std::move(not_managed));
  }
  co_return reader_.Shown(read->primary().manifest, read->asked_us, terms);
}

// All replicas have this change. To servers a mark is an access: none but a
// read that is one leaves it.
void ReplicaSet::NoteAgreed(const ReplicasRead& read,
                            const PrimaryTerms& terms) {
  const ShownManifest& manifest = read.primary().manifest;
  if (!manifest) return;
  Session& session = key_.session;
  session.cluster().known->Add(key_.name, manifest->id);
  if (terms.no_bump || manifest->confirmed || session.closing()) return;
  if (session.runtime().Random() % kConfirmOneIn != 0) return;
  session.Detach(ConfirmCopies(session, key_.name, read));
}

Task<Result<ShownManifest>> ReplicaSet::ReadPrimary(PrimaryTerms terms) {
  const InStep step(key_.steps, RequestStep::kManifest);
  CopyRead read = BeginRead(terms);
  Status status = read.Start();
  if (!status.ok()) co_return Fail(std::move(status));
  co_await read;
  co_return co_await FinishRead(read);
}

Task<Result<ReplicasRead>> ReplicaSet::Prepare() {
  const InStep step(key_.steps, RequestStep::kManifest);
  found_corrupted_ = false;
  Result<ReplicasRead> read =
      co_await reader_.Collect(SendStep::kPrepare, plain_);
  if (!read || read->Agreed()) co_return read;
  if (replaces_corrupted_ && !DecidingCopy(*read, key_.name)) {
    found_corrupted_ = true;
    co_return read;
  }
  co_return co_await reconciler_.Reconcile(plain_, std::move(*read));
}

Task<std::optional<ReplicasRead>> ReplicaSet::PrepareAhead() {
  if (Impatient()) {
    Result<ReplicasRead> prepared = co_await Prepare();
    if (!prepared) co_return std::nullopt;
    co_return std::move(*prepared);
  }
  const InStep step(key_.steps, RequestStep::kManifest);
  Result<ReplicasRead> read =
      co_await reader_.Collect(SendStep::kPrepare, plain_);
  if (!read || !read->Agreed()) co_return std::nullopt;
  co_return std::move(*read);
}

// What does not hold any more is refused by the tokens; what is known not to
// would only cost time.
std::optional<ReplicasRead> ReplicaSet::TakeKept() {
  Session& session = key_.session;
  if (!may_use_kept()) return std::nullopt;
  const std::unique_ptr<KeptTokens> kept =
      session.cluster().known->Take(key_.name);
  ReplicasRead read;
  read.view = session.view();
  read.asked_us = session.WallMicros();
  if (!kept || kept->epoch != read.view->epoch) return std::nullopt;
  read.copies.reserve(kept->tokens.size());
  for (const KeptTokens::Token& token : kept->tokens) {
    ReplicaCopy copy;
    copy.member = token.member;
    copy.kind = ReplicaCopy::Kind::kManifest;
    copy.token = token.token;
    // Good over any connection to that memory.
    const net::ServerLink& link = session.link(token.member);
    copy.connection = link.connection();
    copy.boot_mark = read.view->members[token.member].boot_mark;
    if (link.facts().boot_mark != copy.boot_mark) return std::nullopt;
    copy.manifest = kept->manifest;
    read.copies.push_back(std::move(copy));
  }
  return read;
}

void ReplicaSet::Keep(std::shared_ptr<const Manifest> committed,
                      std::uint64_t epoch,
                      std::vector<KeptTokens::Token> tokens) {
  auto kept = std::make_unique<KeptTokens>();
  kept->epoch = epoch;
  kept->manifest = std::move(committed);
  kept->tokens = std::move(tokens);
  key_.session.cluster().known->Keep(std::move(kept));
}

}  // namespace ers::store
