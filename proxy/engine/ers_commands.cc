#include "engine/ers_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/rewrite.h"

namespace ers::proxy {

using net::Task;

namespace {

std::string Number(std::uint64_t number) { return fmt::format("{}", number); }

void Publish(const EngineContext& context, Census census) {
  if (context.board == nullptr) return;
  census.counted_at_s = context.terms.Now();
  context.board->Publish(std::move(census));
}

// What is changed by this process at the moment: until its manifest flips, an
// object shows its old scheme and width.
Task<Done> ListChanging(const EngineContext& context,
                        const ClientRequest& request, const Listing& visit) {
  const std::vector<std::string> keys =
      context.changing.WithPrefix(request.key);
  for (const std::string& key : keys) {
    const Result<ObjectInfo> info = co_await context.store.Info(key);
    if (!info && info.error().code() == StatusCode::kNotFound) continue;
    if (!info) co_return context.Failed(info.error());
    if (!visit(key, *info)) break;
  }
  co_return Done();
}

bool IsListed(const ClientRequest& request, const ObjectInfo& info) {
  switch (request.listed) {
    case Listed::kNarrow:
      return info.width == Width::kNarrow;
    case Listed::kWide:
      return info.width == Width::kWide;
    case Listed::kWidth:
      return StripeDataBlocks(info.scheme, info.width) ==
             static_cast<int>(request.listed_blocks);
    case Listed::kTransitioning:
    case Listed::kAll:
      break;
  }
  return true;
}

}  // namespace

Task<Done> TransitionObject(const EngineContext& context,
                            const ClientRequest& request,
                            store::Memory& memory) {
  const Result<TransitionTarget> target =
      ParseTransitionTarget(request.argument);
  if (!target) co_return context.Failed(target.error());
  // Two groups at a time are under way.
  const Result<std::uint64_t> length = co_await LengthOf(context, request);
  if (!length) co_return context.Failed(length.error());
  const Status room =
      co_await memory.Take(2 * std::min(*length, kMaxGroupBytes));
  if (!room.ok()) co_return context.Failed(room);
  const ChangingKeys::Hold hold(context.changing, request.key);
  const Result<TransitionInfo> info = co_await context.store.Transition(
      request.key, *target, TransitionVariant::kOptimal);
  if (!info) co_return context.Failed(info.error());
  Done done;
  done.reply.item = context.ItemOf(info->object);
  done.lines = {
      {"path", std::string(TransitionPathName(info->path))},
      {"scheme", FormatScheme(info->object.scheme)},
      {"width", WidthName(info->object.scheme, info->object.width)},
  };
  for (const auto& [name, count] : kBlockTrafficFields) {
    done.lines.emplace_back(name, Number((*info).*count));
  }
  done.lines.emplace_back("microseconds", Number(info->microseconds));
  co_return done;
}

Task<Done> InspectObject(const EngineContext& context,
                         const ClientRequest& request) {
  const Result<ObjectDetail> detail = co_await context.store.Stat(request.key);
  if (!detail) co_return context.Failed(detail.error());
  std::size_t present = 0;
  for (const BlockState& block : detail->blocks) present += block.present;
  Done done;
  done.reply.item = context.ItemOf(*detail);
  done.lines = {
      {"scheme", FormatScheme(detail->scheme)},
      {"width", WidthName(detail->scheme, detail->width)},
      {"length", Number(detail->length)},
      {"inline", detail->is_inline ? "1" : "0"},
      {"unit", std::string(UnitName(detail->unit))},
      {"groups", Number(static_cast<std::uint64_t>(detail->groups))},
      {"flags", Number(detail->client_flags)},
      {"cas", Number(detail->cas)},
      {"expiry", fmt::format("{}", detail->expiry)},
      {"version", detail->version},
      {"blocks", Number(detail->blocks.size())},
      {"blocks_present", Number(present)},
      {"replicas", fmt::format("{}", fmt::join(detail->replicas, ","))},
  };
  if (!detail->pack.empty()) done.lines.emplace_back("pack", detail->pack);
  co_return done;
}

Task<Done> ListObjects(const EngineContext& context,
                       const ClientRequest& request, const Listing& visit) {
  if (request.listed == Listed::kTransitioning) {
    co_return co_await ListChanging(context, request, visit);
  }
  CensusTaker taker;
  bool all = true;
  const auto wanted = [&](std::string_view key, const ObjectInfo& info) {
    taker.Add(info);
    if (!IsListed(request, info) || !key.starts_with(request.key)) return true;
    all = visit(key, info);
    return all;
  };
  const Status status = co_await context.store.List(wanted);
  if (status.ok() && all) Publish(context, taker.census());
  co_return status.ok() ? Done() : context.Failed(status);
}

Task<Status> CountObjects(const EngineContext& context,
                          const std::function<bool()>& goes_on) {
  CensusTaker taker;
  const auto count = [&](std::string_view, const ObjectInfo& info) {
    taker.Add(info);
    return goes_on();
  };
  Status status = co_await context.store.List(count);
  if (status.ok() && goes_on()) Publish(context, taker.census());
  co_return status;
}

}  // namespace ers::proxy
