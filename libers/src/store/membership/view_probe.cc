#include "store/membership/view_probe.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "store/membership/view_checks.h"
#include "store/membership/view_records.h"

namespace ers::store {
namespace {

using net::Task;
using ViewPtr = std::shared_ptr<const View>;

bool IsOut(const net::ServerLink& link, const Member& member) {
  const net::ServerLink::State state = link.state();
  return state == net::ServerLink::State::kFailed ||
         state == net::ServerLink::State::kRefused ||
         (state == net::ServerLink::State::kUp &&
          link.facts().boot_mark != member.boot_mark);
}

}  // namespace

Task<Result<ViewPtr>> ReadNewestView(Session& session) {
  Result<ViewRecords> records = co_await FindViewRecords(session);
  if (!records) co_return Fail(records.error());
  ViewPtr here = session.view();
  if (here && (!records->best || records->best->epoch <= here->epoch)) {
    co_return here;
  }
  std::optional<View> best = std::move(records->best);
  const Result<View> filed = session.cluster().state_file.Read();
  if (!filed && filed.error().code() != StatusCode::kNotFound) {
    co_return Fail(filed.error());
  }
  if (filed && (!best || filed->epoch > best->epoch)) best = *filed;
  if (!best && records->answered == session.members()) {
    co_return Fail(StatusCode::kNotFound,
                   "nothing was ever stored in this cluster");
  }
  if (!best) {
    co_return Fail(NoneKnows(*records, session.members()));
  }
  const Status fits = CheckMembers(session, session.cluster(), *best);
  if (!fits.ok()) co_return Fail(fits);
  if (records->answered < best->Quorum()) {
    co_return Fail(TooFewAnswer(*records, session.members(), best->Quorum()));
  }
  co_return std::make_shared<const View>(std::move(*best));
}

Result<ViewPtr> WithoutSilent(Session& session, const ViewPtr& view) {
  View next = *view;
  for (int i = 0; i < session.members(); ++i) {
    Member& member = next.members[static_cast<std::size_t>(i)];
    const bool silent = IsOut(session.link(i), member);
    if (silent) member.state = MemberState::kDown;
  }
  Status tolerated = CheckTolerated(session, next);
  if (!tolerated.ok()) return Fail(std::move(tolerated));
  return std::make_shared<const View>(std::move(next));
}

}  // namespace ers::store
