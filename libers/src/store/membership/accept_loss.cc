#include "store/membership/accept_loss.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/membership/loss_round.h"
#include "store/membership/view_checks.h"
#include "store/membership/view_records.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Task;

// Where no server is left that knows the cluster: its slots, of which none is
// in sync, at an epoch above that of whatever was lost. Processes that run may
// know it, and go on by what is made of this.
Result<View> ViewOfLostCluster(Session& session) {
  constexpr int kMicrosPerMilli = 1000;
  View view;
  view.max_failures = session.cluster().options.max_failures;
  if (view.max_failures == 0) {
    return Fail(StatusCode::kInvalidArgument,
                "no server that answers knows of this cluster, nor does a "
                "state file: give --max-failures, as the cluster has it, or "
                "--state with the state file of an ersproxy");
  }
  view.epoch =
      static_cast<std::uint64_t>(session.WallMicros() / kMicrosPerMilli);
  for (int i = 0; i < session.members(); ++i) {
    Member member;
    member.name = session.member_name(i);
    member.weight = session.link(i).endpoint().weight;
    member.state = MemberState::kDown;
    view.members.push_back(std::move(member));
  }
  return view;
}

// Puts the newest view that is known in force, whichever servers answer: as
// what others are made of. No lease is taken: nothing is read or written by it.
Task<Status> TakeAnyView(Session& session) {
  if (session.view()) co_return Status();
  co_await ClaimChange(session);
  ViewKeeper& keeper = session.cluster().keeper;
  if (session.view()) {
    keeper.EndChange(nullptr);
    co_return Status();
  }
  const Result<ViewRecords> records = co_await FindViewRecords(session);
  std::optional<View> best = records ? records->best : std::nullopt;
  const Result<View> filed = session.cluster().state_file.Read();
  if (filed && (!best || best->epoch < filed->epoch)) best = *filed;
  Status status = records ? Status() : records.error();
  if (status.ok() && !best) {
    const Result<View> new_one = ViewOfLostCluster(session);
    if (new_one) best = *new_one;
    if (!new_one) status = new_one.error();
  }
  if (status.ok()) status = CheckMembers(session, session.cluster(), *best);
  keeper.EndChange(status.ok() ? std::make_shared<const View>(*best) : nullptr);
  co_return status;
}

std::string Listed(const std::vector<std::string>& servers) {
  return fmt::format("{}", fmt::join(servers, ", "));
}

// Those that are silent, and no others, are to be replaced; and not by this, if
// there are no more than f.
Status CheckAsked(const View& view, const Loss& loss,
                  const Successions& successions) {
  if (loss.out <= view.max_failures) {
    return {
        StatusCode::kInvalidArgument,
        fmt::format("{} servers are out, and this cluster survives {}: ersctl "
                    "replace gives the place of one to another, and loses "
                    "nothing",
                    loss.out, view.max_failures)};
  }
  std::vector<std::string> left = loss.silent;
  for (const Succession& succession : successions) {
    const std::string name = succession.old_server.name();
    if (std::erase(left, name) > 0) continue;
    const Result<Place> place = FindPlace(view, succession);
    if (!place) return place.error();
    if (place->done) continue;
    return {StatusCode::kInvalidArgument,
            fmt::format("{} answers: only the places of those that do not are "
                        "given to others here, which are {}",
                        name, Listed(loss.silent))};
  }
  if (left.empty()) return {};
  return {StatusCode::kInvalidArgument,
          fmt::format("{} {} not answer: start {}, or name an empty server for "
                      "each",
                      Listed(left), left.size() == 1 ? "does" : "do",
                      left.size() == 1 ? "it" : "them")};
}

Task<Status> CheckEmpty(Session& session, std::shared_ptr<const View> view,
                        const Successions& successions) {
  for (const Succession& succession : successions) {
    const Result<Place> place = FindPlace(*view, succession);
    if (!place) co_return place.error();
    if (place->done) continue;
    std::uint64_t taken = 0;
    const Result<std::string> mark =
        co_await MarkOfEmpty(session, view, place->member, succession, taken);
    // It has the place in a view that was cut off half way: by this.
    if (!mark && taken == 0) co_return mark.error();
  }
  co_return Status();
}

}  // namespace

Task<Status> AcceptLoss(Session& session, std::vector<Successor> successors,
                        std::function<bool(const Loss&)> agree) {
  Successions successions;
  for (const Successor& successor : successors) {
    Result<Succession> asked =
        ParseSuccession(successor.old_server, successor.new_server);
    if (!asked) co_return asked.error();
    successions.push_back(std::move(*asked));
  }
  Status status = co_await TakeAnyView(session);
  if (!status.ok()) co_return status;
  const Successions none;
  Result<ServerProbes> probes = co_await ProbeServers(session, none);
  if (!probes) co_return probes.error();
  if (!probes->other_format.ok()) co_return probes->other_format;
  auto view = session.cluster().keeper.Newest();
  if (probes->newest && probes->newest->epoch > view->epoch) {
    status = CheckMembers(session, session.cluster(), *probes->newest);
    if (!status.ok()) co_return status;
    view = std::make_shared<const View>(*probes->newest);
  }
  const Loss loss = LossOf(*view, probes->memories);
  status = CheckAsked(*view, loss, successions);
  if (status.ok()) status = co_await CheckEmpty(session, view, successions);
  if (!status.ok()) co_return status;
  if (!agree(loss)) {
    co_return Status(StatusCode::kConflict, "nothing is changed");
  }
  const net::TimePoint deadline =
      session.runtime().Now() + kLongGoneAfter +
      net::Duration(session.cluster().options.operation_timeout);
  for (;;) {
    probes = co_await ProbeServers(session, successions);
    if (!probes) co_return probes.error();
    co_await ClaimChange(session);
    net::Duration wait{};
    status = co_await ActOn(session, *probes, successions, wait);
    const bool again =
        wait > net::Duration{} && session.runtime().Now() < deadline;
    if (!again) break;
    const std::shared_ptr<Wakeup> leases = Wakeup::New(session.runtime());
    (void)co_await leases->Wait(wait);
  }
  for (const Succession& succession : successions) {
    if (!status.ok()) break;
    session.cluster().Log(
        LogLevel::kWarning,
        fmt::format("view {}: {} has taken the place of {}: put it into the "
                    "list of servers",
                    session.view()->epoch, succession.new_server.name(),
                    succession.old_server.name()));
  }
  co_return status;
}

}  // namespace ers::store
