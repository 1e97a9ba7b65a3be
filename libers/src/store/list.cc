#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/batch.h"
#include "store/home_chain.h"
#include "store/keys.h"
#include "store/store.h"
#include "store/view_changer.h"
#include "store/wakeup.h"

namespace ers::store {
namespace {

using net::Task;

constexpr std::size_t kKeysAtOnce = 64;
// Between two tries to dump a server that is busy with another dump.
constexpr net::Duration kBusyNap = std::chrono::milliseconds(20);

// metadump escapes keys as URLs do.
std::string Unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 3], code, 16).ptr ==
            &text[i + 3]) {
      out.push_back(static_cast<char>(code));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

// Manifests of keys that begin like our own items go under a hash of the key.
bool IsHashedName(std::string_view item) {
  return item.starts_with(std::string(kReservedPrefix) + "k");
}

// "key=<escaped> exp=..." lines: the items that may be manifests, each with a
// member that holds it.
using Items = std::map<std::string, int>;
void CollectKeys(std::string_view dump, int member, Items& items) {
  constexpr std::string_view kField = "key=";
  while (!dump.empty()) {
    const std::size_t end = std::min(dump.find('\n'), dump.size());
    std::string_view line = dump.substr(0, end);
    dump.remove_prefix(std::min(end + 1, dump.size()));
    if (!line.starts_with(kField)) continue;
    line.remove_prefix(kField.size());
    std::string key = Unescape(line.substr(0, line.find(' ')));
    const bool own = key.starts_with(kReservedPrefix) && !IsHashedName(key);
    if (!own) items.emplace(std::move(key), member);
  }
}

// The item's manifest on any of the members that dumped it names the key.
struct Listed {
  std::string item;
  int member = 0;
  std::shared_ptr<const Manifest> manifest;
  Status status;
};

// The key of the manifest under a hashed name; empty where it is gone.
Task<std::string> KeyBehind(Session& session, const Listed& listed) {
  net::Request read;
  read.verb = net::Verb::kGet;
  read.key = listed.item;
  Batch batch(session.runtime());
  batch.Submit(session.link(listed.member), read);
  co_await batch;
  const Result<Manifest> manifest = DecodeManifest(read.value);
  co_return manifest ? manifest->key : std::string();
}

Task<void> Look(Session& session, Listed& listed, net::Latch& latch) {
  std::string key = listed.item;
  if (IsHashedName(key)) key = co_await KeyBehind(session, listed);
  if (key.empty()) {
    latch.CountDown();
    co_return;
  }
  HomeChain chain(session, key);
  Result<std::shared_ptr<const Manifest>> manifest = co_await chain.ReadJudge();
  if (manifest) {
    listed.manifest = std::move(*manifest);
  } else if (manifest.error().code() != StatusCode::kNotManaged &&
             manifest.error().code() != StatusCode::kConflict) {
    listed.status = manifest.error();
  }
  latch.CountDown();
}

// A dump has a connection of its own: memcached serves nothing else there
// meanwhile.
struct MemberDump {
  std::unique_ptr<net::ServerLink> link;
  net::Request request;
};

bool IsBusy(const net::Request& dump) {
  return dump.outcome != net::Outcome::kOk && dump.value.starts_with("BUSY");
}

// A listing's dumps of all members.
struct Dumps {
  std::deque<MemberDump> members;
  int needed = 0;  // every manifest is on one of any so many
  int done = 0;
  net::TimePoint deadline;
};

// One dump at a time, says memcached, also while it crawls for itself: it is
// asked again, unless the others are enough.
Task<void> DumpMember(Session& session, Dumps& dumps, MemberDump& dump,
                      net::Latch& latch) {
  for (;;) {
    dump.request.verb = net::Verb::kMetadump;
    Batch batch(session.runtime());
    batch.Submit(*dump.link, dump.request);
    co_await batch;
    const bool in_time = session.runtime().Now() < dumps.deadline;
    if (!IsBusy(dump.request) || dumps.done >= dumps.needed || !in_time) break;
    const std::shared_ptr<Wakeup> nap = Wakeup::New(session.runtime());
    co_await nap->Wait(kBusyNap);
    dump.request = net::Request();
  }
  if (dump.request.outcome == net::Outcome::kOk) ++dumps.done;
  latch.CountDown();
}

// What a dump that failed came to: the server's words, or the connection's.
std::string Failure(const Session& session, const MemberDump& dump) {
  if (dump.request.value.empty()) return session.Describe(*dump.link);
  return fmt::format("{}: {}", session.member_name(dump.link->member()),
                     dump.request.value);
}

Task<Status> Dump(Session& session, Items& items) {
  const std::shared_ptr<const View> view = session.view();
  Dumps dumps;
  dumps.needed = session.members() - view->max_parity;
  dumps.deadline =
      session.runtime().Now() + session.cluster().options.operation_timeout;
  int silent = view->NotFull();
  std::vector<std::string> why;
  net::Latch latch(session.runtime());
  for (int i = 0; i < session.members(); ++i) {
    if (view->members[i].state == MemberState::kDown) continue;
    if (!session.Readable(i)) {  // nobody waits for a dead server twice
      ++silent;
      why.push_back(session.Describe(i));
      continue;
    }
    MemberDump& dump = dumps.members.emplace_back();
    dump.link = session.NewLink(i, session.cluster().options.operation_timeout);
    latch.Add();
    net::Spawn(DumpMember(session, dumps, dump, latch));
  }
  co_await latch;
  for (const MemberDump& dump : dumps.members) {
    if (dump.request.outcome == net::Outcome::kOk) {
      CollectKeys(dump.request.value, dump.link->member(), items);
      continue;
    }
    ++silent;
    why.push_back(Failure(session, dump));
  }
  // Every manifest is on M+1 members, so M may be silent.
  if (silent <= view->max_parity) co_return Status();
  co_return Status(StatusCode::kUnavailable,
                   fmt::format("{} servers cannot list their keys ({}), the "
                               "cluster bears {}",
                               silent, fmt::join(why, "; "), view->max_parity));
}

}  // namespace

Task<Status> Store::List(
    const std::function<bool(std::string_view, const ObjectInfo&)>& visit) {
  Status status = co_await EnsureView(session_, 0);
  if (status.code() == StatusCode::kNotFound) co_return Status();
  Items items;
  if (status.ok()) status = co_await Dump(session_, items);
  if (!status.ok()) co_return status;
  for (auto at = items.begin(); at != items.end();) {
    std::deque<Listed> batch;
    net::Latch latch(session_.runtime());
    for (; at != items.end() && batch.size() < kKeysAtOnce; ++at) {
      Listed& listed = batch.emplace_back();
      listed.item = at->first;
      listed.member = at->second;
      latch.Add();
      net::Spawn(Look(session_, listed, latch));
    }
    co_await latch;
    for (const Listed& listed : batch) {
      if (!listed.status.ok()) co_return listed.status;
      if (!listed.manifest) continue;
      if (!visit(listed.manifest->key, InfoOf(*listed.manifest))) {
        co_return Status();
      }
    }
  }
  co_return Status();
}

}  // namespace ers::store
