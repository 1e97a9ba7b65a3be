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

// An item that may be a manifest, with a member that holds it.
struct Item {
  int member = 0;
  std::int64_t last_access = 0;  // of all members' copies
};
using Items = std::map<std::string, Item>;

// The number behind " la=", of a line that memcached made.
std::int64_t LastAccess(std::string_view words) {
  constexpr std::string_view kField = " la=";
  const std::size_t at = words.find(kField);
  std::int64_t seconds = 0;
  if (at != words.npos) {
    words.remove_prefix(at + kField.size());
    std::from_chars(words.data(), words.data() + words.size(), seconds);
  }
  return seconds;
}

// "key=<escaped> exp=... la=..."
void CollectItem(std::string_view line, int member, const ListTerms& terms,
                 Items& items) {
  constexpr std::string_view kField = "key=";
  if (!line.starts_with(kField)) return;
  line.remove_prefix(kField.size());
  const std::string_view escaped = line.substr(0, line.find(' '));
  std::string key = Unescape(escaped);
  const bool hashed = IsHashedName(key);
  if (!hashed && key.starts_with(kReservedPrefix)) return;
  if (!hashed && terms.wanted && !terms.wanted(key)) return;
  Item& item = items[std::move(key)];
  item.member = member;
  item.last_access =
      std::max(item.last_access, LastAccess(line.substr(escaped.size())));
}

// The item's manifest on any of the members that dumped it names the key.
struct Listed {
  std::string name;
  Item item;
  std::string key;  // empty: gone, or not wanted
  std::shared_ptr<const Manifest> manifest;
  Status status;
};

// The key of the manifest under a hashed name; empty where it is gone.
Task<std::string> KeyBehind(Session& session, const Listed& listed) {
  net::Request read;
  read.verb = net::Verb::kGet;
  read.key = listed.name;
  read.uncounted = true;
  Batch batch(session.runtime());
  batch.Submit(session.link(listed.item.member), read);
  co_await batch;
  const Result<Manifest> manifest = DecodeManifest(read.value);
  co_return manifest ? manifest->key : std::string();
}

Task<void> Look(Session& session, const ListTerms& terms, Listed& listed,
                net::Latch& latch) {
  listed.key = listed.name;
  if (IsHashedName(listed.name)) {
    listed.key = co_await KeyBehind(session, listed);
    if (terms.wanted && !terms.wanted(listed.key)) listed.key.clear();
  }
  if (listed.key.empty()) {
    latch.CountDown();
    co_return;
  }
  HomeChain chain(session, listed.key);
  chain.ReadUncounted();
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
  const ListTerms* terms = nullptr;
  Items* items = nullptr;
};

void TakeLine(net::Request& request, std::string_view line) {
  const auto& dump = *static_cast<MemberDump*>(request.line_context);
  CollectItem(line, dump.link->member(), *dump.terms, *dump.items);
}

bool IsBusy(const net::Request& dump) {
  return dump.outcome != net::Outcome::kOk && dump.value.starts_with("BUSY");
}

// A listing's dumps of all members.
struct Dumps {
  std::deque<MemberDump> members;  // they do not move
  int needed = 0;                  // every manifest is on one of any so many
  int done = 0;
  net::TimePoint deadline;
  bool stopped = false;
};

// One dump at a time, says memcached, also while it crawls for itself: it is
// asked again, unless the others are enough.
Task<void> DumpMember(Session& session, Dumps& dumps, MemberDump& dump,
                      net::Latch& latch) {
  for (;;) {
    dump.request.verb = net::Verb::kMetadump;
    dump.request.on_line = TakeLine;
    dump.request.line_context = &dump;
    Batch batch(session.runtime());
    batch.Submit(*dump.link, dump.request);
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
  if (dump.request.outcome == net::Outcome::kOk) ++dumps.done;
  latch.CountDown();
}

// What a dump that failed came to: the server's words, or the connection's.
std::string Failure(const Session& session, const MemberDump& dump) {
  if (dump.request.value.empty()) return session.Describe(*dump.link);
  return fmt::format("{}: {}", session.member_name(dump.link->member()),
                     dump.request.value);
}

// The same item may come from a server whose dump then fails: no harm, it is
// read like the others.
Task<Status> Dump(Session& session, const ListTerms& terms, Items& items) {
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
    dump.terms = &terms;
    dump.items = &items;
    latch.Add();
    net::Spawn(DumpMember(session, dumps, dump, latch));
  }
  if (terms.stop != nullptr) {
    terms.stop->Watch([&dumps] {
      dumps.stopped = true;
      for (MemberDump& dump : dumps.members) dump.link->Abort("stopped");
    });
  }
  co_await latch;
  if (terms.stop != nullptr) terms.stop->Watch({});
  for (const MemberDump& dump : dumps.members) {
    if (dump.request.outcome == net::Outcome::kOk) continue;
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

bool Stopped(const ListTerms& terms) {
  return terms.stop != nullptr && terms.stop->stopped();
}

Status StoppedStatus() {
  return {StatusCode::kUnavailable, "the listing was stopped"};
}

// Takes the items out as it goes: who keeps the keys does not hold them twice.
Task<void> LookAtSome(Session& session, const ListTerms& terms, Items& items,
                      std::deque<Listed>& batch) {
  net::Latch latch(session.runtime());
  while (!items.empty() && batch.size() < kKeysAtOnce) {
    Items::node_type node = items.extract(items.begin());
    Listed& listed = batch.emplace_back();
    listed.name = std::move(node.key());
    listed.item = node.mapped();
    latch.Add();
    net::Spawn(Look(session, terms, listed, latch));
  }
  co_await latch;
}

}  // namespace

Task<Status> Store::ListObjects(
    const ListTerms& terms,
    const std::function<bool(const ListedObject&)>& visit) {
  if (Stopped(terms)) co_return StoppedStatus();
  Status status = co_await EnsureView(session_, 0);
  if (status.code() == StatusCode::kNotFound) co_return Status();
  Items items;
  if (status.ok()) status = co_await Dump(session_, terms, items);
  while (status.ok() && !items.empty()) {
    if (Stopped(terms)) break;
    std::deque<Listed> batch;
    co_await LookAtSome(session_, terms, items, batch);
    for (Listed& listed : batch) {
      if (!listed.status.ok()) {
        if (!terms.unreadable) co_return listed.status;
        terms.unreadable(listed.key, listed.status);
      }
      if (!listed.manifest) continue;
      const ListedObject object{std::move(listed.manifest),
                                listed.item.last_access};
      if (!visit(object)) co_return Status();
    }
  }
  co_return Stopped(terms) ? StoppedStatus() : status;
}

Task<Status> Store::List(
    const std::function<bool(std::string_view, const ObjectInfo&)>& visit) {
  const ListTerms all;
  const auto tell = [&visit](const ListedObject& object) {
    return visit(object.manifest->key, InfoOf(*object.manifest));
  };
  const std::function<bool(const ListedObject&)> each = tell;
  co_return co_await ListObjects(all, each);
}

}  // namespace ers::store
