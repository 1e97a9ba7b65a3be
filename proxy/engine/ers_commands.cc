// The commands of the line "ers": transition, stat and list.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/engine.h"

namespace ers::proxy {

using net::Task;

namespace {

std::string Number(std::uint64_t number) { return fmt::format("{}", number); }

}  // namespace

Task<Done> Engine::Transition(const Request& request, store::Memory& memory) {
  const Result<TransitionTarget> target =
      ParseTransitionTarget(request.argument);
  if (!target) co_return Failed(target.error());
  // Two groups at a time are under way.
  const Result<std::uint64_t> length = co_await LengthOf(request);
  if (!length) co_return Failed(length.error());
  const Status room =
      co_await memory.Take(2 * std::min(*length, kMaxGroupBytes));
  if (!room.ok()) co_return Failed(room);
  const ChangingKeys::Hold hold(changing_, request.key);
  const Result<TransitionInfo> info = co_await store_.Transition(
      request.key, *target, TransitionVariant::kOptimal);
  if (!info) co_return Failed(info.error());
  Done done;
  done.reply.item = ItemOf(info->object);
  done.lines = {
      {"path", std::string(TransitionPathName(info->path))},
      {"scheme", FormatScheme(info->object.scheme)},
      {"width", std::string(WidthName(info->object.width))},
      {"data_reads", Number(info->data_reads)},
      {"parity_reads", Number(info->parity_reads)},
      {"writes", Number(info->writes)},
      {"bytes_read", Number(info->bytes_read)},
      {"bytes_written", Number(info->bytes_written)},
      {"microseconds", Number(info->microseconds)},
  };
  co_return done;
}

Task<Done> Engine::Inspect(const Request& request) {
  const Result<ObjectDetail> detail = co_await store_.Stat(request.key);
  if (!detail) co_return Failed(detail.error());
  std::size_t present = 0;
  for (const BlockState& block : detail->blocks) present += block.present;
  Done done;
  done.reply.item = ItemOf(*detail);
  done.lines = {
      {"scheme", FormatScheme(detail->scheme)},
      {"width", std::string(WidthName(detail->width))},
      {"length", Number(detail->length)},
      {"inline", detail->is_inline ? "1" : "0"},
      {"groups", Number(static_cast<std::uint64_t>(detail->groups))},
      {"flags", Number(detail->client_flags)},
      {"cas", Number(detail->cas)},
      {"expiry", fmt::format("{}", detail->expiry)},
      {"version", detail->version},
      {"blocks", Number(detail->blocks.size())},
      {"blocks_present", Number(present)},
      {"replicas", fmt::format("{}", fmt::join(detail->replicas, ","))},
  };
  co_return done;
}

// What is changed by this process at the moment: until its manifest flips, an
// object shows its old scheme and width.
Task<Done> Engine::ListChanging(
    const Request& request,
    const std::function<bool(std::string_view, const ObjectInfo&)>& visit) {
  const std::vector<std::string> keys = changing_.WithPrefix(request.key);
  for (const std::string& key : keys) {
    const Result<ObjectInfo> info = co_await store_.Info(key);
    if (!info && info.error().code() == StatusCode::kNotFound) continue;
    if (!info) co_return Failed(info.error());
    if (!visit(key, *info)) break;
  }
  co_return Done();
}

Task<Done> Engine::List(
    const Request& request,
    const std::function<bool(std::string_view, const ObjectInfo&)>& visit) {
  if (request.listed == Listed::kTransitioning) {
    co_return co_await ListChanging(request, visit);
  }
  const Width width =
      request.listed == Listed::kWide ? Width::kWide : Width::kNarrow;
  Census census;
  bool all = true;
  const auto wanted = [&](std::string_view key, const ObjectInfo& info) {
    census.Add(info);
    if (info.width != width || !key.starts_with(request.key)) return true;
    all = visit(key, info);
    return all;
  };
  const Status status = co_await store_.List(wanted);
  if (status.ok() && all) Publish(std::move(census));
  co_return status.ok() ? Done() : Failed(status);
}

Task<Status> Engine::CountObjects(const std::function<bool()>& goes_on) {
  Census census;
  const auto count = [&](std::string_view, const ObjectInfo& info) {
    census.Add(info);
    return goes_on();
  };
  Status status = co_await store_.List(count);
  if (status.ok() && goes_on()) Publish(std::move(census));
  co_return status;
}

void Engine::Publish(Census census) {
  if (board_ == nullptr) return;
  census.counted_at_s = Now();
  board_->Publish(std::move(census));
}

}  // namespace ers::proxy
