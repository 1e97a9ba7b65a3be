#include "store/repair/key_dump.h"

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <utility>

#include "store/format/item_line.h"
#include "store/format/manifest.h"
#include "store/format/planted_bug.h"
#include "store/membership/batch.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Task;
using Visit = std::function<void(const DumpedItem&)>;

// Between two tries to dump a server that is busy with another dump.
constexpr net::Duration kBusyNap = std::chrono::milliseconds(20);

// A dump has a connection of its own: memcached serves nothing else there
// meanwhile.
struct MemberDump {
  std::unique_ptr<net::ServerLink> link;
  net::Request request;
  const Visit* visit = nullptr;
  bool in_sync = false;  // by the view; else it counts as silent anyway
  // Where it failed, as it was then: its link tries again while others dump.
  std::string why;
  bool refused = false;
};

// "key=<escaped> exp=... la=... cas=... fetch=... cls=... size=..."
void TakeLine(net::Request& request, std::string_view line) {
  if (!line.starts_with("key=")) return;
  const auto& dump = *static_cast<MemberDump*>(request.line_context);
  const std::string key = KeyOfLine(line);
  DumpedItem item;
  item.member = dump.link->member();
  item.key = key;
  item.expiry = FieldOfLine(line, "exp").value_or(item.expiry);
  item.last_access = FieldOfLine(line, "la").value_or(item.last_access);
  item.bytes =
      static_cast<std::uint64_t>(FieldOfLine(line, "size").value_or(0));
  (*dump.visit)(item);
}

// The server's words, or the connection's.
void NoteFailure(const Session& session, MemberDump& dump) {
  const net::ServerLink& link = *dump.link;
  dump.why = dump.request.value.empty()
                 ? session.Describe(link)
                 : fmt::format("{}: {}", session.member_name(link.member()),
                               dump.request.value);
  dump.refused = link.state() == net::ServerLink::State::kRefused;
}

bool IsBusy(const net::Request& dump) {
  return dump.outcome != net::Outcome::kOk && dump.value.starts_with("BUSY");
}

// The dumps of all members.
struct Dumps {
  std::deque<MemberDump> members;  // they do not move
  int needed = 0;
  int done = 0;  // of members that are in sync
  net::TimePoint deadline;
  bool stopped = false;
};

// One dump at a time, says memcached, also while it crawls for itself: it is
// asked again, unless the others are enough.
Task<void> DumpMember(Session& session, Dumps& dumps, MemberDump& dump,
                      net::Latch& latch) {
  for (;;) {
    dump.request.verb = net::Verb::kMetadump;
    // "all" walks the LRUs, and misses items on their way from one to another.
    if (Planted(PlantedBug::kMetadumpAll)) dump.request.key = "all";
    dump.request.on_line = TakeLine;
    dump.request.line_context = &dump;
    Batch batch(session.runtime());
    batch.Send(SendStep::kListKeys, *dump.link, dump.request);
    co_await batch;
    const bool in_time = session.runtime().Now() < dumps.deadline;
    if (!IsBusy(dump.request) || dumps.done >= dumps.needed || !in_time ||
        dumps.stopped) {
      break;
    }
    const std::shared_ptr<Wakeup> nap = Wakeup::New(session.runtime());
    co_await nap->Wait(kBusyNap);
    dump.request = net::Request();
  }
  if (dump.request.outcome == net::Outcome::kOk) {
    if (dump.in_sync) ++dumps.done;
  } else {
    NoteFailure(session, dump);
  }
  latch.CountDown();
}

}  // namespace

Task<KeyDump> DumpKeys(Session& session, std::shared_ptr<const View> view,
                       int needed, StopToken* stop, const Visit& visit) {
  KeyDump result;
  Dumps dumps;
  dumps.needed = needed;
  dumps.deadline =
      session.runtime().Now() + session.cluster().options.operation_timeout;
  result.silent = view->NotInSync();
  net::Latch latch(session.runtime());
  for (int i = 0; i < session.members(); ++i) {
    if (view->members[i].state == MemberState::kDown) continue;
    const bool in_sync = view->members[i].state == MemberState::kInSync;
    if (!session.Readable(i)) {  // no wait for a dead server twice
      if (in_sync) ++result.silent;
      result.why.push_back(session.Describe(i));
      if (session.link(i).state() == net::ServerLink::State::kRefused) {
        result.refused.push_back(i);
      }
      continue;
    }
    MemberDump& dump = dumps.members.emplace_back();
    dump.link = session.NewLink(i, session.cluster().options.operation_timeout);
    dump.visit = &visit;
    dump.in_sync = in_sync;
    latch.Add();
    net::Spawn(DumpMember(session, dumps, dump, latch));
  }
  if (stop != nullptr) {
    stop->Watch([&dumps] {
      dumps.stopped = true;
      for (MemberDump& dump : dumps.members) dump.link->Abort("stopped");
    });
  }
  co_await latch;
  if (stop != nullptr) stop->Watch({});
  for (MemberDump& dump : dumps.members) {
    if (dump.request.outcome == net::Outcome::kOk) continue;
    if (dump.in_sync) ++result.silent;
    result.why.push_back(std::move(dump.why));
    if (dump.refused) result.refused.push_back(dump.link->member());
  }
  co_return result;
}

Task<Result<std::string>> KeyBehind(Session& session, int member,
                                    std::string_view hashed_name) {
  net::Request read;
  read.verb = net::Verb::kGet;
  read.key = hashed_name;
  read.no_bump = true;
  Batch batch(session.runtime());
  batch.Send(SendStep::kListName, session.link(member), read);
  co_await batch;
  if (!Answered(read.outcome)) {
    co_return Fail(StatusCode::kUnavailable, session.Describe(member));
  }
  const Result<Manifest> manifest = DecodeManifest(read.key, read.value);
  co_return manifest ? manifest->key : std::string();
}

}  // namespace ers::store
