#include "store/upkeep/eviction_follower.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "store/format/item_line.h"
#include "store/format/keys.h"
#include "store/membership/batch.h"
#include "store/repair/lru_bump.h"
#include "store/repair/repair.h"
#include "store/replicas/replica_copy.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Task;

// Servers report what they evict for as long as the connection stands.
constexpr net::Duration kForEver = std::chrono::hours(24 * 365);
// Between two connections to a server that breaks them: it may have as many
// watchers as it allows.
constexpr net::Duration kMinBetween = std::chrono::seconds(5);
// So that those of one burst are asked for together.
constexpr net::Duration kGather = std::chrono::milliseconds(10);
// Values at a time that are stored again: clients go first.
constexpr int kLanes = 16;

// Idle times are whole seconds, by the server's clock, and servers report what
// they evicted up to a second later.
constexpr std::int64_t kMinIdle = 2;

bool IsAbsent(const net::Request& read) {
  return read.outcome == net::Outcome::kMiss ||
         (read.outcome == net::Outcome::kOk && IsStub(read));
}

// A living value that is in its manifest.
bool IsSmallValue(const View& view, int member, const std::string& key,
                  const net::Request& read) {
  if (read.outcome != net::Outcome::kOk) return false;
  const Result<ReplicaCopy> copy =
      InterpretCopy(view, member, key, PlainItems::kTaken, read);
  return copy && copy->kind == ReplicaCopy::Kind::kManifest &&
         copy->manifest->is_inline && !copy->manifest->tombstone;
}

// What is to become of a value of which a copy was evicted.
enum class Fate { kStays, kIsStoredAgain, kGoes };

}  // namespace

// All replicas are asked, also the one that evicted: it may have it again.
struct EvictionFollower::Question {
  struct Copy {
    int member = 0;
    net::Request read;
    net::Request drop;
  };

  // Not accessed, when the notice came, for at least half as long as what went:
  // it would be next.
  [[nodiscard]] bool IsCold(const Copy& copy, net::TimePoint now) const {
    const auto waited =
        std::chrono::ceil<std::chrono::seconds>(now - gone->heard).count();
    return static_cast<std::int64_t>(copy.read.item_idle) >=
           waited + std::max(kMinIdle, gone->idle_s / 2);
  }
  [[nodiscard]] Fate Decide(const View& view, net::TimePoint now) const {
    bool cold = true;
    for (const Copy& copy : copies) {
      if (IsAbsent(copy.read)) continue;
      if (copy.member == gone->member ||
          !IsSmallValue(view, copy.member, gone->key, copy.read)) {
        return Fate::kStays;
      }
      cold = cold && IsCold(copy, now);
    }
    return cold ? Fate::kGoes : Fate::kIsStoredAgain;
  }

  const Gone* gone = nullptr;
  std::vector<Copy> copies;  // they do not move once asked for
};

struct EvictionFollower::Watch {
  EvictionFollower* follower = nullptr;
  net::TimePoint begun;
  net::Request request;
  std::unique_ptr<net::ServerLink> link;  // goes first: it ends the request
};

EvictionFollower::EvictionFollower(Session& session)
    : session_(session),
      watches_(static_cast<std::size_t>(session.members())) {}

EvictionFollower::~EvictionFollower() = default;

bool EvictionFollower::IsInSync(int member) const {
  return session_.view()->members[static_cast<std::size_t>(member)].state ==
         MemberState::kInSync;
}

// As its connection says that stands now.
bool EvictionFollower::MayEvict(int member) const {
  const net::ServerLink& link = session_.link(member);
  return IsInSync(member) && link.state() == net::ServerLink::State::kUp &&
         link.facts().evictions;
}

void EvictionFollower::Scan() {
  if (stopped_ || !session_.view()) return;
  const bool evict = MayBumpLru(session_);
  for (int member = 0; member < session_.members(); ++member) {
    std::unique_ptr<Watch>& watch = watches_[static_cast<std::size_t>(member)];
    if (!evict || !IsInSync(member)) {
      watch.reset();
      continue;
    }
    const net::TimePoint now = session_.runtime().Now();
    const bool stands =
        watch && watch->request.outcome == net::Outcome::kPending;
    if (stands || (watch && now - watch->begun < kMinBetween)) continue;
    if (!MayEvict(member)) continue;
    watch = std::make_unique<Watch>();
    watch->follower = this;
    watch->begun = now;
    watch->link = session_.NewLink(member, kForEver);
    net::Request& request = watch->request;
    request.verb = net::Verb::kWatch;
    request.key = "evictions";
    request.on_line = [](net::Request& from, std::string_view line) {
      const auto* source = static_cast<Watch*>(from.line_context);
      source->follower->TakeLine(source->link->member(), line);
    };
    request.line_context = watch.get();
    request.done = [](net::Request&) {};
    Send(session_.runtime(), SendStep::kServerStats, *watch->link, request);
  }
}

void EvictionFollower::Stop() {
  stopped_ = true;
  gone_.clear();
  watches_.clear();
  watches_.resize(static_cast<std::size_t>(session_.members()));
}

// "ts=... gid=... type=eviction key=<escaped> fetch=... ttl=... la=<seconds>
// clsid=... size=..."; also "[skipped: 7]".
void EvictionFollower::TakeLine(int member, std::string_view line) {
  std::string key = KeyOfLine(line);
  // Blocks, and the cluster's own records; the few values whose key is
  // hashed stay as they are.
  if (key.empty() || ManifestKey(key) != key) return;
  if (gone_.size() >= kMaxWaiting) return;
  gone_.push_back({member, std::move(key), FieldOfLine(line, "la").value_or(0),
                   session_.runtime().Now()});
  if (at_work_) return;
  at_work_ = true;
  net::Spawn(Work());
}

Task<void> EvictionFollower::Work() {
  while (!gone_.empty()) {
    const std::shared_ptr<Wakeup> nap = Wakeup::New(session_.runtime());
    co_await nap->Wait(kGather);
    while (!gone_.empty()) {
      const std::size_t count = std::min(gone_.size(), kMaxAsked);
      const auto end = gone_.begin() + static_cast<std::ptrdiff_t>(count);
      std::vector<Gone> some(std::make_move_iterator(gone_.begin()),
                             std::make_move_iterator(end));
      gone_.erase(gone_.begin(), end);
      std::deque<std::string> warm;
      co_await DropOthers(std::move(some), warm);
      net::Latch latch(session_.runtime());
      for (int i = 0; i < kLanes && !warm.empty(); ++i) {
        latch.Add();
        net::Spawn(StoreAgain(warm, latch));
      }
      co_await latch;
    }
  }
  at_work_ = false;
}

// Nothing, where a replica does not evict or cannot be asked now.
void EvictionFollower::Ask(const View& view, const Gone& gone,
                           std::deque<Question>& questions, Batch& reads) {
  const std::vector<int> members =
      ReplicasOf(view, session_.ring(), gone.key).members;
  const bool is_replica =
      std::find(members.begin(), members.end(), gone.member) != members.end();
  const bool all = std::all_of(members.begin(), members.end(),
                               [this](int member) { return MayEvict(member); });
  if (!is_replica || !all) return;
  Question& question = questions.emplace_back();
  question.gone = &gone;
  question.copies.resize(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    Question::Copy& copy = question.copies[i];
    copy.member = members[i];
    copy.read.verb = net::Verb::kGet;
    copy.read.key = gone.key;
    copy.read.no_bump = true;
    copy.read.report_access = true;
    reads.Send(SendStep::kReadReplicas, session_.link(copy.member), copy.read);
  }
}

Task<void> EvictionFollower::DropOthers(std::vector<Gone> gone,
                                        std::deque<std::string>& warm) {
  const std::shared_ptr<const View> view = session_.view();
  std::deque<Question> questions;
  Batch reads(session_.runtime());
  for (const Gone& one : gone) Ask(*view, one, questions, reads);
  co_await reads;
  Batch drops(session_.runtime());
  for (Question& question : questions) {
    const Fate fate = question.Decide(*view, session_.runtime().Now());
    if (fate == Fate::kIsStoredAgain) warm.push_back(question.gone->key);
    if (fate != Fate::kGoes) continue;
    for (Question::Copy& copy : question.copies) {
      if (IsAbsent(copy.read)) continue;
      copy.drop.verb = net::Verb::kDelete;
      copy.drop.key = question.gone->key;
      copy.drop.token = copy.read.item_token;
      copy.drop.only_connection = copy.read.connection;
      drops.Send(SendStep::kDropGarbage, session_.link(copy.member), copy.drop);
    }
  }
  co_await drops;
  for (const Question& question : questions) {
    for (const Question::Copy& copy : question.copies) {
      if (copy.drop.outcome != net::Outcome::kOk) continue;
      session_.counters().followed_evictions.Add();
    }
  }
}

// A lane: one after the other.
Task<void> EvictionFollower::StoreAgain(std::deque<std::string>& keys,
                                        net::Latch& latch) {
  while (!keys.empty() && !stopped_) {
    const std::string key = std::move(keys.front());
    keys.pop_front();
    RepairTerms terms;
    // It is in its manifests: there are no blocks to find.
    const std::vector<int> none;
    terms.find = LackingOn(session_, none);
    (void)co_await RepairObject(session_, key, terms);
  }
  latch.CountDown();
}

}  // namespace ers::store
