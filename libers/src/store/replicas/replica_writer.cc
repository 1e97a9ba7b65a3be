#include "store/replicas/replica_writer.h"

#include <optional>
#include <utility>

#include "base/micros.h"
#include "store/format/expiry.h"
#include "store/format/planted_bug.h"
#include "store/membership/batch.h"
#include "store/membership/ensure_lease.h"
#include "store/membership/in_doubt_write.h"
#include "store/membership/view_checks.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

constexpr int kRepeats = 3;

Task<void> Run(Task<CasResult> write, CasResult& result, net::Latch& latch) {
  result = co_await std::move(write);
  latch.CountDown();
}

}  // namespace

ReplicaWriter::ReplicaWriter(const ReplicaKey& key) : key_(key) {}

Task<CasResult> ReplicaWriter::Write(SendStep step, const View& view,
                                     const ReplicaCopy& replica,
                                     const Manifest* manifest) {
  const bool ends = manifest == nullptr || manifest->tombstone;
  CasResult result;
  // No item, nor memory for one: what was sent before does nothing, either.
  if (replica.token == 0 && ends) {
    result.outcome = Outcome::kOk;
    co_return result;
  }
  net::Request request;
  if (manifest != nullptr) {
    const std::string bytes = ManifestCopies(*manifest).For(
        replica.member, view.members[replica.member].incarnation);
    const iovec body{const_cast<char*>(bytes.data()), bytes.size()};
    request.verb = net::Verb::kCas;
    request.exptime = ManifestExptime(*manifest, key_.session.WallMicros());
    request.body = {&body, 1};
    result = co_await WriteItem(step, view, replica, manifest->id, request);
    const bool shown = replica.shown() == manifest->id;
    if (result.outcome != Outcome::kNoMemory || !(ends || shown)) {
      co_return result;
    }
    request = net::Request();
    request.verb = shown ? net::Verb::kRenew : net::Verb::kDelete;
  } else {
    request.verb = net::Verb::kDelete;
  }
  co_return co_await WriteItem(step, view, replica, ChangeId(), request);
}

Task<std::vector<CasResult>> ReplicaWriter::AtOnce(
    const std::vector<const ReplicaCopy*>& replicas,
    const std::function<Task<CasResult>(const ReplicaCopy&)>& write) {
  std::vector<CasResult> results(replicas.size());
  net::Latch latch(key_.session.runtime(), static_cast<int>(replicas.size()));
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    net::Spawn(Run(write(*replicas[i]), results[i], latch));
  }
  co_await latch;
  co_return results;
}

Task<CasResult> ReplicaWriter::WritePlainBack(SendStep step, const View& view,
                                              const ReplicaCopy& replica) {
  const std::int64_t now = key_.session.WallMicros();
  const iovec body{const_cast<char*>(replica.plain.data()),
                   replica.plain.size()};
  net::Request request;
  request.verb = net::Verb::kCas;
  request.client_flags = replica.plain_flags;
  request.exptime = PlainExptime(
      replica.plain_ttl < 0 ? 0 : now / kMicrosPerSecond + replica.plain_ttl,
      now);
  request.body = {&body, 1};
  const ChangeId none;
  co_return co_await WriteItem(step, view, replica, none, request);
}

bool ReplicaWriter::Admit(const View& view, int member) {
  ClusterState& cluster = key_.session.cluster();
  if (!cluster.keeper.BeginWrite(view.epoch, member)) return false;
  if (cluster.lease.Holds(key_.session.runtime().Now())) return true;
  cluster.keeper.EndWrite(member);
  return false;
}

void ReplicaWriter::Address(const View& view, const ReplicaCopy& replica,
                            const ChangeId& id, net::Request& request) {
  if (Planted(PlantedBug::kCommitBySet) && request.verb == net::Verb::kCas) {
    request.verb = net::Verb::kSet;
    request.then_token = false;
  }
  request.key = key_.item;
  request.token = replica.token;
  if (Planted(PlantedBug::kEndsUnread) && request.verb == net::Verb::kDelete) {
    request.token = 0;
  }
  request.only_connection = replica.connection;
  request.leaves_before = key_.session.cluster().lease.leaves_before();
  ReportManifestWrite(view.epoch, replica.member, key_.item, replica.token, id);
}

Task<CasResult> ReplicaWriter::WriteItem(SendStep step, const View& view,
                                         const ReplicaCopy& replica,
                                         const ChangeId& id,
                                         net::Request& request) {
  Session& session = key_.session;
  CasResult result;
  if (replica.token == 0) {
    result.outcome = Outcome::kNoMemory;
    result.error = "out of memory";
    co_return result;
  }
  // Where servers take their time, the lease would run out between two
  // replicas; without it nothing is admitted.
  (void)co_await EnsureLease(session);
  if (!Admit(view, replica.member)) {
    // It may wait for other processes: nothing to do until it is over.
    co_await AwaitChange(session);
    result.view_changed = true;
    co_return result;
  }
  Address(view, replica, id, request);
  Batch batch(session.runtime());
  batch.Send(step, session.link(replica.member), request);
  co_await batch;
  if (request.outcome == Outcome::kLost) {
    co_return co_await EndLost(view, replica, request);
  }
  co_return End(replica, request);
}

CasResult ReplicaWriter::ResultOf(const net::Request& request) {
  CasResult result;
  result.outcome = request.outcome;
  result.error = request.value;
  const bool is_this_one = request.item_flags == request.client_flags ||
                           Planted(PlantedBug::kKeepsAnyToken);
  if (result.outcome == Outcome::kOk && request.then_token && is_this_one) {
    result.new_token = request.item_token;
  }
  if (result.outcome == Outcome::kNoMemory) {
    key_.session.cluster().needs.NoteShortage();
  }
  return result;
}

CasResult ReplicaWriter::End(const ReplicaCopy& replica,
                             const net::Request& request) {
  key_.session.cluster().keeper.EndWrite(replica.member);
  return ResultOf(request);
}

Task<CasResult> ReplicaWriter::EndLost(const View& view,
                                       const ReplicaCopy& replica,
                                       net::Request& request) {
  Session& session = key_.session;
  bool resent = false;
  const bool lost = co_await Repeat(replica, request, resent);
  ViewKeeper& keeper = session.cluster().keeper;
  if (lost) {
    const std::optional<ViewKeeper::DoubtId> doubt =
        keeper.PutInDoubt(view.epoch, replica.member);
    if (doubt) {
      ResolveLater(session, *doubt, key_.item, replica.token,
                   replica.boot_mark);
    }
  } else {
    keeper.EndWrite(replica.member);
  }
  CasResult result = ResultOf(request);
  result.resent = resent;
  co_return result;
}

// True: its outcome is lost for good. `resent` is set once it was sent again.
Task<bool> ReplicaWriter::Repeat(const ReplicaCopy& replica,
                                 net::Request& request, bool& resent) {
  Session& session = key_.session;
  Batch batch(session.runtime());
  for (int i = 0; i < kRepeats; ++i) {
    if (session.link(replica.member).state() ==
            net::ServerLink::State::kFailed ||
        !session.cluster().lease.Holds(session.runtime().Now())) {
      break;
    }
    resent = true;
    request.only_connection = 0;
    request.only_boot = replica.boot_mark;
    batch.Send(SendStep::kRepeatCas, session.link(replica.member), request);
    co_await batch;
    if (EndsBoth(request.outcome)) co_return false;
  }
  request.outcome = Outcome::kLost;
  co_return true;
}

}  // namespace ers::store
