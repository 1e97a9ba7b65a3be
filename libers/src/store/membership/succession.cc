#include "store/membership/succession.h"

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <utility>

#include "store/format/keys.h"
#include "store/membership/batch.h"
#include "store/membership/slots.h"

namespace ers::store {
namespace {

using net::Task;

bool Had(const Member& slot, const std::string& server) {
  return slot.name == server || slot.previous == server;
}

// Counts the items that a server lists.
void CountLine(net::Request& request, std::string_view line) {
  if (line.starts_with("key=")) {
    ++*static_cast<std::uint64_t*>(request.line_context);
  }
}

}  // namespace

Result<Succession> ParseSuccession(const std::string& old_server,
                                   const std::string& new_server) {
  Result<net::Endpoint> before = net::ParseEndpoint(old_server);
  if (!before) return Fail(before.error());
  Result<net::Endpoint> after = net::ParseEndpoint(new_server);
  if (!after) return Fail(after.error());
  return Succession{std::move(*before), std::move(*after)};
}

Result<Place> FindPlace(const View& view, const Succession& asked) {
  const std::string before = asked.old_server.name();
  const std::string after = asked.new_server.name();
  std::string servers;
  Place place{-1, false};
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    const Member& slot = view.members[i];
    servers += (servers.empty() ? "" : ", ") + slot.server();
    const bool done =
        before != after && slot.server() == after && Had(slot, before);
    if (done || slot.server() == before) {
      place = {static_cast<int>(i), done};
      if (done) return place;
    }
  }
  if (place.member < 0) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("{} is none of the servers of this cluster, which "
                            "are {}",
                            before, servers));
  }
  const Member& slot = view.members[static_cast<std::size_t>(place.member)];
  for (const Member& other : view.members) {
    if (other.server() != after && (&other == &slot || !Had(other, after))) {
      continue;
    }
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("{} is, or was, the server in the place of {}: "
                            "name another",
                            after, other.name));
  }
  if (asked.new_server.weight != 1 && asked.new_server.weight != slot.weight) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("{} takes over the weight of {}, which is {}: give "
                            "that, or none",
                            after, before, slot.weight));
  }
  return place;
}

Task<Result<std::string>> MarkOfEmpty(Session& session,
                                      std::shared_ptr<const View> view,
                                      int member, const Succession& asked,
                                      std::uint64_t& taken) {
  const std::string name = asked.new_server.name();
  const std::unique_ptr<net::ServerLink> link =
      session.NewStrangerLink(member, asked.new_server);
  net::Request read;
  read.verb = net::Verb::kGet;
  read.key = kViewKey;
  Batch batch(session.runtime());
  batch.Send(SendStep::kAskMark, *link, read);
  co_await batch;
  const std::string mark = link->facts().boot_mark;
  if (mark.empty() || !net::Answered(read.outcome)) {
    const std::string why =
        link->last_error().empty() ? "no answer" : link->last_error();
    co_return Fail(
        StatusCode::kUnavailable,
        fmt::format("{} cannot be used: {}; nothing is changed: start "
                    "an empty memcached there, or name another",
                    name, why));
  }
  if (read.outcome == net::Outcome::kOk) {
    const Result<View> there = DecodeView(read.value);
    const bool has_place =
        there && SameSlots(*there, *view) &&
        there->members[static_cast<std::size_t>(member)].server() == name;
    if (has_place) taken = there->epoch;
    co_return Fail(StatusCode::kInvalidArgument,
                   fmt::format("{} is, or was, a server of a cluster: restart "
                               "it, so that it is empty",
                               name));
  }
  // Before it, memcached takes no other command.
  std::uint64_t items = 0;
  net::Request list;
  list.verb = net::Verb::kMetadump;
  list.on_line = CountLine;
  list.line_context = &items;
  batch.Send(SendStep::kAskMark, *link, list);
  co_await batch;
  if (list.outcome != net::Outcome::kOk) {
    const std::string_view why =
        list.value.empty() ? link->last_error() : list.value;
    co_return Fail(StatusCode::kUnavailable,
                   fmt::format("{} cannot list its keys: {}: try again", name,
                               why.empty() ? "no answer" : why));
  }
  // The mark is one.
  if (items > 1) {
    co_return Fail(StatusCode::kInvalidArgument,
                   fmt::format("{} holds {} items: restart it, so that it is "
                               "empty",
                               name, items - 1));
  }
  co_return mark;
}

void GiveSlot(Member& slot, const std::string& server) {
  slot.previous = std::exchange(slot.address, server);
  if (server == slot.name) slot.address.clear();
}

}  // namespace ers::store
