#include <fmt/format.h>

#include <cassert>
#include <chrono>
#include <memory>
#include <utility>

#include "store/blocks/dropping.h"
#include "store/blocks/object_writer.h"
#include "store/commit/change.h"
#include "store/format/expiry.h"
#include "store/format/keys.h"
#include "store/membership/view_loader.h"
#include "store/objects/store.h"
#include "store/objects/whole_write.h"
#include "store/support/content.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Task;

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
// Between two checks whether what was flushed has been given back.
constexpr net::Duration kRoomNap = std::chrono::milliseconds(20);

Task<void> AwaitRoom(Session& session) {
  while (IsRoomBeingMade(session)) {
    const std::shared_ptr<Wakeup> nap = Wakeup::New(session.runtime());
    (void)co_await nap->Wait(kRoomNap);
  }
}

// For nothing: its sender goes on only when it was taken. Its length.
Task<Result<std::uint64_t>> TakeAll(Content& content) {
  for (std::uint64_t taken = 0;;) {
    const Result<std::span<const std::byte>> bytes =
        co_await content.Next(kPieceBytes);
    if (!bytes) co_return Fail(bytes.error());
    const std::size_t more = bytes->size();
    content.Release();
    taken += more;
    if (more < kPieceBytes) co_return taken;
  }
}

// What the options ask for beyond themselves. `content_comes`: from a source,
// which need not be read in vain.
PutTerms TermsOf(const PutOptions& options, bool content_comes) {
  PutTerms terms;
  if (options.only_if_absent) terms.condition = PutCondition::kAbsent;
  terms.check_first = options.only_if_absent && content_comes;
  return terms;
}

bool NeedsObject(std::uint64_t cas, const PutTerms& terms) {
  return cas != 0 || terms.condition == PutCondition::kPresent;
}

// What a put asks of the living object that it replaces.
Result<Verdict> CheckPrecondition(std::string_view key, std::uint64_t cas,
                                  const PutTerms& terms,
                                  const Manifest* living) {
  if (NeedsObject(cas, terms) && living == nullptr) {
    return Fail(StatusCode::kNotFound,
                fmt::format("key '{}' holds no object", key));
  }
  if (living != nullptr && terms.condition == PutCondition::kAbsent) {
    return Fail(StatusCode::kConflict,
                fmt::format("key '{}' holds an object already", key));
  }
  const bool outdated = terms.stale_if_newer && living && living->cas > cas;
  if (cas != 0 && living->cas != cas && !outdated) {
    return Fail(StatusCode::kConflict,
                fmt::format("key '{}' has another CAS: it was changed", key));
  }
  return outdated ? Verdict::kGoOnAsStale : Verdict::kGoOn;
}

}  // namespace

Task<Result<ObjectInfo>> Store::PutContent(std::string_view key,
                                           Content& content,
                                           const PutOptions& options,
                                           const PutTerms& terms) {
  assert(!options.only_if_absent || terms.condition == PutCondition::kAbsent);
  Status status = ValidateKey(key, session_.cluster().options.binary_keys);
  const Scheme scheme = options.scheme.value_or(options_.scheme);
  if (status.ok()) status = CheckPut(scheme, options);
  // What is refused for want of an object sets up no cluster.
  const bool needs_object = NeedsObject(options.expected_cas, terms);
  if (status.ok()) {
    Task<Status> ready = needs_object ? EnsureViewFor(session_, key)
                                      : EnsureView(session_, &scheme);
    status = co_await ready;
  }
  if (!status.ok()) co_return Fail(std::move(status));
  if (IsRoomBeingMade(session_)) co_await AwaitRoom(session_);
  ClientOptions client = options_;
  client.inline_below = terms.inline_below.value_or(options_.inline_below);
  PutJob job{session_, client, content,
             ManifestOfPut(session_, key, scheme, options), steps_};
  const std::uint64_t cas = options.expected_cas;
  job.manifest.won = terms.won;
  job.manifest.cas = terms.new_cas.value_or(0);
  ChangeTerms change;
  change.replaces_corrupted =
      cas == 0 && terms.condition == PutCondition::kNone;
  change.replaces_plain =
      change.replaces_corrupted && session_.cluster().options.adopt_plain_items;
  ReplicaSet replicas(session_, key, steps_, change);
  const Check check = [key, cas, terms](const Manifest* living) {
    return CheckPrecondition(key, cas, terms, living);
  };
  if (terms.check_first) {
    const Result<std::shared_ptr<const Manifest>> living =
        co_await replicas.ReadPrimary(kNoBump);
    if (!living) co_return Fail(living.error());
    const Result<Verdict> verdict = check(living->get());
    if (!verdict) co_return Fail(verdict.error());
  }
  // Stored, it would be absent at once; what it replaces goes all the same. Not
  // where it may get the expiry of that.
  if (!terms.stale_if_newer &&
      IsExpired(options.expiry, session_.WallMicros())) {
    const Result<std::uint64_t> length = co_await TakeAll(content);
    if (!length) co_return Fail(length.error());
    const ChangeOutcome ended = co_await CommitChange(
        session_, replicas, TombstoneFor(key, job.manifest.id),
        ClientCas::kRises, std::nullopt, check);
    if (!ended.status.ok()) co_return Fail(ended.status);
    job.manifest.cas = ended.committed->cas;
    job.manifest.length = *length;
    job.manifest.is_inline = true;  // it has no blocks
    co_return InfoOf(job.manifest);
  }
  const ChangeOutcome outcome = co_await WriteWhole(
      job, replicas, check,
      terms.new_cas ? ClientCas::kGiven : ClientCas::kRises);
  if (!outcome.status.ok()) co_return Fail(outcome.status);
  co_return InfoOf(*outcome.committed);
}

std::unique_ptr<QuickPut> Store::BeginPut(
    std::string_view key, std::string_view value, const PutOptions& options,
    const PutTerms& terms, QuickPut::Call call, void* context) const {
  if (steps_ != nullptr || terms.condition != PutCondition::kNone ||
      options.only_if_absent || terms.new_cas || terms.stale_if_newer ||
      terms.won) {
    return nullptr;
  }
  ClientOptions client = options_;
  client.inline_below = terms.inline_below.value_or(options_.inline_below);
  return QuickPut::Begin(session_, client, key, value, options, call, context);
}

Task<Result<ObjectInfo>> Store::Put(std::string_view key,
                                    std::span<const std::byte> value,
                                    const PutOptions& options) {
  if (value.size() > kMaxValueBytes) {
    co_return Fail(StatusCode::kTooLarge,
                   "the value is over 256 MiB, the largest there is");
  }
  MemoryContent content(value);
  co_return co_await PutContent(key, content, options, TermsOf(options, false));
}

Task<Result<ObjectInfo>> Store::PutFrom(std::string_view key,
                                        const Source& source,
                                        const PutOptions& options) {
  SourceContent content(source);
  co_return co_await PutContent(key, content, options, TermsOf(options, true));
}

}  // namespace ers::store
