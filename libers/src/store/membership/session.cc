#include "store/membership/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "store/format/keys.h"
#include "store/membership/batch.h"
#include "store/membership/participants.h"

namespace ers::store {
namespace {

// After which silence a server is asked over another connection.
constexpr net::Duration kMinSilence = std::chrono::milliseconds(100);
constexpr int kPartOfTimeout = 10;

}  // namespace

Session::Session(net::Runtime& runtime, std::shared_ptr<ClusterState> cluster,
                 std::size_t cached_manifests,
                 std::shared_ptr<SessionCounters> counters)
    : runtime_(runtime),
      cluster_(std::move(cluster)),
      counters_(counters ? std::move(counters)
                         : std::make_shared<SessionCounters>(
                               cluster_->endpoints.size())),
      change_ids_(runtime, cluster_->clock),
      manifests_(cached_manifests),
      alarms_(runtime),
      late_servers_(counters_->links, cluster_->options.hedge_percent > 0),
      hedge_budget_(cluster_->options.hedge_percent),
      asking_(cluster_->endpoints.size()),
      holding_(runtime) {
  cluster_->lease.AddSession();
  View given;
  given.placement = cluster_->placement.value_or(net::Placement());
  for (const net::Endpoint& endpoint : cluster_->endpoints) {
    Member& member = given.members.emplace_back();
    member.name = endpoint.name();
    member.weight = endpoint.weight;
    member.label = endpoint.label;
    member.position = endpoint.position;
    names_.push_back(member.name);
    links_.push_back(MakeLink(static_cast<int>(links_.size()), endpoint,
                              cluster_->options.request_timeout, this));
  }
  ring_ = cluster_->slots.Of(given);
}

Session::~Session() {
  closing_ = true;
  // While a write is in_doubt, others have to wait until this process counts
  // as gone.
  if (cluster_->lease.RemoveSession() && cluster_->lease.HasEntry() &&
      cluster_->keeper.MembersInDoubt().empty()) {
    Detach(LeaveParticipants(*this));
  }
  for (const auto& link : links_) link->Flush();
  runtime_.RunUntil([this] { return detached_ == 0; });
}

ChangeId Session::NewChangeId() {
  const std::shared_ptr<const View> now = view();
  return change_ids_.Next(now ? now->flush_mark : 0);
}

std::shared_ptr<const View> Session::view() const {
  // The version first: a view that comes in between is met at the next call.
  const std::uint64_t version = cluster_->keeper.version();
  if (version != view_version_) {
    std::shared_ptr<const View> shared = cluster_->keeper.Current();
    const View* view = shared.get();
    if (view != nullptr) PlaceMembers(*view);
    if (view_ && view != nullptr) {
      RetryReturned(*view_, *view);
      LeaveMissed(*view_, *view);
    }
    if (view != nullptr) LeaveStrangers(*view);
    view_ = std::shared_ptr<const View>(
        view, [shared = std::move(shared)](const View*) {});
    view_version_ = version;
  }
  return view_;
}

bool Session::PlaceMembers(const View& view) const {
  ring_ = cluster_->slots.Of(view);
  bool moved = false;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const Member& member = view.members[i];
    if (names_[i] == member.server()) continue;
    names_[i] = member.server();
    links_[i]->MoveTo(EndpointOf(member));
    moved = true;
  }
  return moved;
}

// Their connections were refused under the old view.
void Session::RetryReturned(const View& before, const View& now) const {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (now.members[i].incarnation != before.members[i].incarnation) {
      links_[i]->Retry();
    }
  }
}

// A loop that shares the cluster found that they do not answer: what is under
// way to them ends now, and nothing waits for them again, until a new
// connection shows that they do.
void Session::LeaveMissed(const View& before, const View& now) const {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const bool leaves = now.members[i].state == MemberState::kDown &&
                        before.members[i].state != MemberState::kDown;
    if (leaves && links_[i]->state() == net::ServerLink::State::kUp) {
      links_[i]->Abort("it left the view");
    }
  }
}

// Connections that were made before there was a view may lead to another memory
// than that knows: it may neither be asked nor take anything.
void Session::LeaveStrangers(const View& now) const {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (links_[i]->state() == net::ServerLink::State::kUp &&
        links_[i]->facts().boot_mark != now.members[i].boot_mark) {
      links_[i]->Abort("it was restarted");
    }
  }
}

std::unique_ptr<net::ServerLink> Session::NewLink(
    int member, net::Duration request_timeout) {
  return MakeLink(member, links_[member]->endpoint(), request_timeout, this);
}

std::unique_ptr<net::ServerLink> Session::NewStrangerLink(int member) {
  return NewStrangerLink(member, links_[member]->endpoint());
}

std::unique_ptr<net::ServerLink> Session::NewStrangerLink(
    int member, const net::Endpoint& endpoint, net::LinkGuard* guard) {
  return MakeLink(member, endpoint, cluster_->options.request_timeout, guard);
}

std::unique_ptr<net::ServerLink> Session::MakeLink(
    int member, const net::Endpoint& endpoint, net::Duration request_timeout,
    net::LinkGuard* guard) {
  net::LinkOptions options;
  options.connect_timeout = cluster_->options.connect_timeout;
  options.request_timeout = request_timeout;
  options.silence_timeout =
      std::max<net::Duration>(kMinSilence, request_timeout / kPartOfTimeout);
  options.nonce_key = kBootKey;
  options.counters = &counters_->links[static_cast<std::size_t>(member)];
  return std::make_unique<net::ServerLink>(runtime_, endpoint, member, options,
                                           guard);
}

std::string Session::Describe(const net::ServerLink& link) const {
  std::string error = link.last_error();
  if (error.empty()) {
    const std::shared_ptr<const View> now = view();
    const bool out =
        now && now->members[link.member()].state == MemberState::kDown;
    error = out ? "it has left the view" : "no answer";
  }
  return fmt::format("{}: {}", names_[link.member()], error);
}

bool Session::Readable(int member) const {
  const std::shared_ptr<const View> now = view();
  const net::ServerLink::State state = links_[member]->state();
  if (now && now->members[member].state == MemberState::kDown) {
    return state == net::ServerLink::State::kUp;
  }
  return state != net::ServerLink::State::kFailed &&
         state != net::ServerLink::State::kRefused;
}

bool Session::Writable(int member) const {
  const std::shared_ptr<const View> now = view();
  return Readable(member) &&
         !(now && now->members[member].state == MemberState::kDown);
}

void Session::Detach(net::Task<void> task) {
  net::Spawn(Count(std::move(task)));
}

void Session::DetachHolding(net::Task<void> task) {
  Detach(Hold(std::move(task)));
}

net::Task<void> Session::Hold(net::Task<void> task) {
  BeginHolding();
  co_await std::move(task);
  EndHolding();
}

net::Task<void> Session::Count(net::Task<void> task) {
  ++detached_;
  co_await std::move(task);
  --detached_;
}

bool Session::Accept(int member, const net::ServerFacts& facts,
                     std::string* why) {
  cluster_->clock.Note(runtime_, member, facts.clock_seconds, facts.greeted);
  const std::shared_ptr<const View> now = view();
  if (!now) return true;
  const std::string& known = now->members[member].boot_mark;
  if (known == facts.boot_mark) return true;
  *why =
      known.empty()
          ? "it was not there when the cluster was first used, and is to be "
            "backfilled"
          : "it was restarted and has lost its memory; it is to be backfilled "
            "(docs/guides/operate.md, When a server dies)";
  return false;
}

// A server may leave only where n - f others stay and answer: else it may be
// the network that stands still, and the view could not change either. One that
// nothing is expected of may have fallen silent, too: so each is asked, and
// what it answers counts the next time.
bool Session::MaySuspect(int member, net::TimePoint since) {
  const std::shared_ptr<const View> now = view();
  if (!now) return false;
  if (now->members[member].state == MemberState::kDown) return true;
  const int may_miss = now->max_failures - now->NotInSync() -
                       (now->members[member].InSync() ? 1 : 0);
  if (may_miss < 0) return false;
  int missing = 0;
  for (int i = 0; i < members(); ++i) {
    if (i == member || !now->members[i].InSync()) continue;
    const net::SilenceWatch& other = links_[i]->silence();
    if (other.IsSilent() || other.last_answer() < since) ++missing;
    if (!asking_[i]) Detach(Ask(i));
  }
  return missing <= may_miss;
}

net::Task<void> Session::Ask(int member) {
  asking_[member] = true;
  net::Request ask;
  ask.verb = net::Verb::kVersion;
  Batch batch(runtime_);
  batch.Send(SendStep::kAskOthers, *links_[member], ask);
  co_await batch;
  asking_[member] = false;
}

}  // namespace ers::store
