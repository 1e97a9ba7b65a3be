#include "store/blocks/extend.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "store/membership/batch.h"
#include "store/membership/view_changer.h"

namespace ers::store {
namespace {

// A connection that only broke is made again.
constexpr int kTries = 3;

struct Touch {
  int member = 0;
  std::string key;
  net::Request request;
};

}  // namespace

net::Task<std::set<int>> ExtendBlocks(Session& session, const ObjectMap& map,
                                      std::vector<PlacedBlock> blocks,
                                      StepTimer* steps) {
  const InStep step(steps, RequestStep::kDistribute);
  std::deque<Touch> touches;
  for (const auto& [group, block] : blocks) {
    const int member = map.MemberOf(group, block);
    if (!map.GenerationOf(group, block) || !session.Writable(member)) continue;
    Touch& touch = touches.emplace_back();
    touch.member = member;
    touch.key = map.KeyOf(group, block);
    touch.request.verb = net::Verb::kTouch;
    touch.request.key = touch.key;
    touch.request.exptime = 0;
  }
  std::set<int> silent;
  Batch batch(session.runtime());
  for (int i = 0; i < kTries; ++i) {
    silent.clear();
    for (Touch& touch : touches) {
      if (i > 0 && net::Answered(touch.request.outcome)) continue;
      batch.Send(SendStep::kExtend, session.link(touch.member), touch.request);
    }
    co_await batch;
    for (const Touch& touch : touches) {
      if (!net::Answered(touch.request.outcome)) silent.insert(touch.member);
    }
    if (silent.empty()) break;
  }
  co_return silent;
}

net::Task<Status> ExtendObject(Session& session, const ObjectMap& map,
                               StepTimer* steps) {
  std::vector<PlacedBlock> blocks;
  for (int group = 0; group < map.groups(); ++group) {
    for (const layout::BlockId block :
         map.geometry().StoredBlocks(map.width())) {
      blocks.emplace_back(group, block);
    }
  }
  const std::uint64_t epoch = session.view()->epoch;
  const std::set<int> silent =
      co_await ExtendBlocks(session, map, std::move(blocks), steps);
  co_await MarkFailed(session, epoch, silent);
  for (const int member : silent) {
    const Member& is =
        session.view()->members[static_cast<std::size_t>(member)];
    if (is.state == MemberState::kDown || is.joined > epoch) continue;
    co_return Status(StatusCode::kUnavailable,
                     "blocks of the object could not be given a longer life: " +
                         session.Describe(member));
  }
  co_return Status();
}

}  // namespace ers::store
