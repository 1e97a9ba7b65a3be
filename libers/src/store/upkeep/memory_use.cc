#include "store/upkeep/memory_use.h"

#include <cstddef>
#include <deque>
#include <memory>
#include <string_view>

#include "net/request.h"
#include "net/stat_lines.h"
#include "store/membership/batch.h"

namespace ers::store {
namespace {

std::optional<MemoryUse> Parse(std::string_view stats) {
  const auto used = net::StatNumber(stats, "bytes");
  const auto limit = net::StatNumber(stats, "limit_maxbytes");
  const auto items = net::StatNumber(stats, "curr_items");
  const auto evictions = net::StatNumber(stats, "evictions");
  if (!used || !limit || !items || !evictions) return std::nullopt;
  return MemoryUse{*used, *limit, *items, *evictions};
}

}  // namespace

net::Task<std::vector<std::optional<MemoryUse>>> AskMemoryUse(
    Session& session) {
  const std::shared_ptr<const View> view = session.view();
  const auto members = static_cast<std::size_t>(session.members());
  std::deque<net::Request> requests(members);
  Batch batch(session.runtime());
  for (std::size_t i = 0; i < members; ++i) {
    if (view->members[i].state == MemberState::kDown) continue;
    requests[i].verb = net::Verb::kStats;
    batch.Send(SendStep::kServerStats, session.link(static_cast<int>(i)),
               requests[i]);
  }
  co_await batch;
  std::vector<std::optional<MemoryUse>> all(members);
  for (std::size_t i = 0; i < members; ++i) {
    if (requests[i].outcome == net::Outcome::kOk) {
      all[i] = Parse(requests[i].value);
    }
  }
  co_return all;
}

}  // namespace ers::store
