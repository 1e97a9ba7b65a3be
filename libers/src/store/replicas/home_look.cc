#include "store/replicas/home_look.h"

#include <deque>
#include <utility>

#include "store/format/keys.h"
#include "store/membership/batch.h"
#include "store/membership/view_checks.h"
#include "store/replicas/home_copy.h"

namespace ers::store {

net::Task<Result<std::optional<HomesRead>>> PeekAtHomes(
    Session& session, std::shared_ptr<const View> view,
    const std::string& key) {
  HomesRead read;
  read.view = std::move(view);
  read.asked_us = session.WallMicros();
  const Homes homes = HomesOf(*read.view, session.ring(), key);
  if (!homes.judge_in_sync) {
    co_return Fail(AllHomesOut(session, *read.view, key));
  }
  const std::string item = ManifestKey(key);
  std::deque<net::Request> requests(homes.members.size());
  Batch batch(session.runtime());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].verb = net::Verb::kGet;
    requests[i].key = item;
    requests[i].uncounted = true;
    batch.Send(SendStep::kReadHomes, session.link(homes.members[i]),
               requests[i]);
  }
  co_await batch;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!net::Answered(requests[i].outcome)) co_return std::nullopt;
    Result<HomeCopy> copy = InterpretCopy(*read.view, homes.members[i], key,
                                          PlainItems::kTold, requests[i]);
    if (!copy) co_return Fail(copy.error());
    read.copies.push_back(std::move(*copy));
  }
  co_return std::move(read);
}

}  // namespace ers::store
