#include "store/membership/serving.h"

#include <fmt/format.h>

#include <memory>

#include "store/membership/lease.h"
#include "store/membership/loss_round.h"
#include "store/membership/view_loader.h"
#include "store/membership/view_probe.h"
#include "store/membership/view_records.h"

namespace ers::store {

using net::Task;

Task<Result<bool>> IsUnused(Session& session) {
  if (session.view()) co_return false;
  const Result<ViewRecords> records = co_await ReadViewRecords(session);
  if (!records) co_return Fail(records.error());
  const int silent = session.members() - records->answered;
  co_return !records->best && silent <= session.cluster().options.max_failures;
}

Task<Status> CheckServing(Session& session) {
  const Result<bool> unused = co_await IsUnused(session);
  if (!unused) co_return unused.error();
  if (*unused) co_return Status();
  // A process that rests need not take up its lease to know that it could.
  const Lease& lease = session.cluster().lease;
  const net::TimePoint now = session.runtime().Now();
  const bool ready = session.view() && (lease.Holds(now) ||
                                        lease.MayResume(*session.view(), now));
  Status status;
  if (!ready) status = co_await EnsureView(session);
  if (!status.ok() || !MoreThanMaxOut(session)) co_return status;
  const Status loss = session.cluster().loss.last();
  if (!loss.ok()) co_return loss;
  const auto without = WithoutSilent(session, session.view());
  co_return without ? Status() : without.error();
}

std::vector<std::string> UnreachableBecause(Session& session) {
  std::vector<std::string> errors;
  for (int i = 0; i < session.members(); ++i) {
    const net::ServerLink& link = session.link(i);
    const bool of_no_use = link.state() == net::ServerLink::State::kFailed ||
                           link.state() == net::ServerLink::State::kRefused;
    errors.push_back(of_no_use ? link.last_error() : std::string());
  }
  return errors;
}

}  // namespace ers::store
