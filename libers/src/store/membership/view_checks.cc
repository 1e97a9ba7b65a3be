#include "store/membership/view_checks.h"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "store/support/wakeup.h"

namespace ers::store {

using net::Task;

Status CheckMembers(const Session& session, ClusterState& cluster,
                    const View& view) {
  const std::shared_ptr<const View> now = session.view();
  const std::string differences = Differences(cluster.endpoints, view);
  const bool same = now ? SameSlots(*now, view) : differences.empty();
  if (!same) {
    // A weight of 1, which is never written, may be what is wanted.
    const bool weighed = differences.find(" has weight ") != std::string::npos;
    std::string names;
    for (const Member& member : view.members) {
      names += (names.empty() ? "" : ",") + member.server();
      if (weighed || member.weight != 1) {
        names += fmt::format(":{}", member.weight);
      }
    }
    return {StatusCode::kIncompatible,
            fmt::format("other servers than this cluster has: {}; give exactly "
                        "these, in any order: {} (one at another address comes "
                        "in by `ersctl replace OLD NEW`)",
                        differences, names)};
  }
  if (cluster.placement && *cluster.placement != view.placement) {
    return {StatusCode::kIncompatible,
            fmt::format("the placement is {}, but this cluster was set up with "
                        "{}: give that, or none",
                        net::Describe(*cluster.placement),
                        net::Describe(view.placement))};
  }
  const int wanted = cluster.options.max_failures;
  if (wanted != 0 && wanted != view.max_failures) {
    return {
        StatusCode::kIncompatible,
        fmt::format("max_failures is {}, but this cluster was set up for {}: "
                    "give {}, or none",
                    wanted, view.max_failures, view.max_failures)};
  }
  return {};
}

Status CheckDistinct(const View& view) {
  std::map<std::string_view, std::string_view> names;
  for (const Member& member : view.members) {
    if (member.boot_mark.empty()) continue;
    const auto [other, fresh] =
        names.emplace(member.boot_mark, member.server());
    if (fresh) continue;
    return {StatusCode::kInvalidArgument,
            fmt::format("{} and {} are one and the same server: list it once",
                        other->second, member.server())};
  }
  return {};
}

Status CheckMemberCount(const Session& session, const Scheme& scheme) {
  const int needed = NodeCount(scheme);
  if (session.members() >= needed) return {};
  const bool known = session.view() != nullptr;
  return {
      StatusCode::kInvalidArgument,
      fmt::format("scheme {} needs {} servers and the {} has {}: choose a "
                  "narrower scheme{}",
                  FormatScheme(scheme), needed, known ? "cluster" : "list",
                  session.members(), known ? "" : ", or list every server")};
}

Status CheckTolerated(const Session& session, const View& view) {
  if (view.NotInSync() <= view.max_failures) return {};
  std::string out;
  for (int i = 0; i < session.members(); ++i) {
    if (view.members[i].state == MemberState::kInSync) continue;
    out += (out.empty() ? "" : "; ") + session.Describe(i);
  }
  return {StatusCode::kUnavailable,
          fmt::format("{} servers are out and this cluster survives {} ({}): "
                      "start what does not answer, with or without its memory",
                      view.NotInSync(), view.max_failures, out)};
}

Status AllReplicasOut(const Session& session, const View& view,
                      std::string_view key) {
  std::string out;
  for (const int i : session.ring().Walk(key, view.max_failures + 1)) {
    out += (out.empty() ? "" : "; ") + session.Describe(i);
  }
  return {StatusCode::kUnavailable,
          fmt::format("all servers that hold the manifest of key '{}' are out "
                      "({}): start them, with or without their memory",
                      key, out)};
}

Status NoReturn(const Session& session, const net::ServerLink& link) {
  return {StatusCode::kUnavailable,
          fmt::format("{}: start it, with or without its memory, or give its "
                      "place to another: ersctl replace",
                      session.Describe(link))};
}

Status OtherFormat(const net::ServerLink& link, const Status& why) {
  return {why.code(),
          fmt::format("{}: {}", link.endpoint().name(), why.message())};
}

Task<void> AwaitChange(Session& session) {
  std::shared_ptr<Wakeup> wakeup = Wakeup::New(session.runtime());
  if (session.cluster().keeper.AtRest(wakeup->Callback())) co_return;
  co_await wakeup->Wait(session.cluster().options.operation_timeout);
}

Task<void> ClaimChange(Session& session) {
  for (;;) {
    std::shared_ptr<Wakeup> wakeup = Wakeup::New(session.runtime());
    if (session.cluster().keeper.BeginChange(wakeup->Callback())) co_return;
    co_await wakeup->Wait(session.cluster().options.operation_timeout);
  }
}

}  // namespace ers::store
