#include "store/membership/in_doubt_write.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "store/membership/batch.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

// Between two tries: what made the server silent may take a while. Twice as
// long each time.
constexpr net::Duration kFirstNap = std::chrono::milliseconds(100);
constexpr net::Duration kLongestNap = std::chrono::milliseconds(1600);

// Gives the item another token, if it has the one that the write was sent by.
// That needs neither view nor lease: what it does is the same whenever it
// lands. True: the write can land no more.
net::Task<bool> Fence(Session& session, const InDoubtWrite& write) {
  net::Request request;
  request.verb = net::Verb::kRenew;
  request.key = write.key;
  request.token = write.token;
  request.only_boot = write.boot_mark;
  Batch batch(session.runtime());
  batch.Send(SendStep::kFence, session.link(write.doubt.member), request);
  co_await batch;
  co_return EndsBoth(request.outcome);
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
    const bool ended = co_await Fence(session, write);
    if (!ended) continue;
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

void ResolveLater(Session& session, const ViewKeeper::DoubtId& doubt,
                  std::string_view key, std::uint64_t token,
                  std::string_view boot_mark) {
  InDoubtWrite write{doubt, std::string(key), token, std::string(boot_mark)};
  session.Detach(ResolveInDoubt(session, std::move(write)));
}

}  // namespace ers::store
