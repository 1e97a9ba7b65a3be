#include "store/membership/in_doubt_write.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "store/format/planted_bug.h"
#include "store/membership/batch.h"
#include "store/membership/lease_renewal.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

// Between two tries: what made the server silent may take a while. Twice as
// long each time.
constexpr net::Duration kFirstNap = std::chrono::milliseconds(100);
constexpr net::Duration kLongestNap = std::chrono::milliseconds(1600);

// Sends it once, as a write that is admitted like any other: it may not land
// under a later view either. True: its fate is known.
net::Task<bool> SendAgain(Session& session, InDoubtWrite& write) {
  ViewKeeper& keeper = session.cluster().keeper;
  const int member = write.doubt.member;
  const bool holds = co_await HoldOrResume(session);
  if (!holds || !keeper.BeginWrite(write.epoch, member)) co_return false;
  bool known = false;
  if (session.cluster().lease.Holds(session.runtime().Now())) {
    const iovec body{write.body.data(), write.body.size()};
    net::Request request;
    request.verb = write.verb;
    request.key = write.key;
    request.token = write.token;
    request.client_flags = write.client_flags;
    request.exptime = write.exptime;
    request.body = {&body, 1};
    request.only_boot = write.boot_mark;
    request.leaves_before = session.cluster().lease.leaves_before();
    Batch batch(session.runtime());
    batch.Send(SendStep::kRepeatCas, session.link(member), request);
    co_await batch;
    known = EndsBoth(request.outcome);
  }
  keeper.EndWrite(member);
  co_return known;
}

net::Task<void> ResolveInDoubt(Session& session, InDoubtWrite write) {
  ViewKeeper& keeper = session.cluster().keeper;
  net::Duration nap = kFirstNap;
  for (;;) {
    const std::shared_ptr<Wakeup> wakeup = Wakeup::New(session.runtime());
    (void)co_await wakeup->Wait(nap);
    nap = std::min(2 * nap, kLongestNap);
    if (!keeper.IsInDoubt(write.doubt)) co_return;
    if (session.closing()) {
      session.cluster().in_doubt_writes.Add(std::move(write));
      co_return;
    }
    const bool known = co_await SendAgain(session, write);
    if (!known) continue;
    keeper.Resolve(write.doubt);
    co_return;
  }
}

}  // namespace

void AdoptOrphans(Session& session) {
  if (session.closing() || !session.cluster().in_doubt_writes.any()) return;
  for (InDoubtWrite& write : session.cluster().in_doubt_writes.Take()) {
    session.Detach(ResolveInDoubt(session, std::move(write)));
  }
}

void ResolveLater(Session& session, std::uint64_t epoch,
                  const ViewKeeper::DoubtId& doubt, const net::Request& lost,
                  std::string_view boot_mark) {
  if (lost.verb == net::Verb::kSet) return;  // a planted bug's
  InDoubtWrite write{epoch,
                     doubt,
                     lost.verb,
                     std::string(lost.key),
                     lost.token,
                     lost.client_flags,
                     lost.exptime,
                     {},
                     std::string(boot_mark)};
  for (const iovec& piece : lost.body) {
    write.body.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  session.Detach(ResolveInDoubt(session, std::move(write)));
}

}  // namespace ers::store
