#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/micros.h"
#include "store/format/keys.h"
#include "store/membership/batch.h"
#include "store/membership/serving.h"
#include "store/membership/view_loader.h"
#include "store/objects/store.h"

namespace ers::store {
namespace {

// What one server is asked, over a connection that was made to the memory that
// the view knows: one that was started again ends it.
struct Question {
  net::Request stats;
  net::Request mark;  // gone where that memory was emptied
};

// Of one that said nothing: it may be that the view knows another memory.
struct Stranger {
  std::unique_ptr<net::ServerLink> link;
  net::Request stats;

  [[nodiscard]] bool answers() const {
    return stats.outcome == net::Outcome::kOk ||
           link->state() == net::ServerLink::State::kRefused;  // too old
  }
};

// Does it answer, with its memory?
bool HasItsMemory(Session& session, int member, const Question& asked,
                  const View* view) {
  if (asked.stats.outcome != net::Outcome::kOk) return false;
  const std::string& boot_mark = session.link(member).facts().boot_mark;
  if (asked.mark.outcome == net::Outcome::kOk &&
      boot_mark.ends_with("/" + asked.mark.value)) {
    return view == nullptr ||
           view->members[static_cast<std::size_t>(member)].boot_mark ==
               boot_mark;
  }
  // The next connection shows what it has now, so that it leaves the view.
  if (net::Answered(asked.mark.outcome)) {
    session.link(member).Abort("its memory was emptied, or its mark evicted");
  }
  return false;
}

net::Task<void> AskAll(Session& session, std::deque<Question>& questions) {
  Batch batch(session.runtime());
  for (int i = 0; i < session.members(); ++i) {
    Question& question = questions.emplace_back();
    question.stats.verb = net::Verb::kStats;
    question.mark.key = kBootKey;
    batch.Send(SendStep::kServerStats, session.link(i), question.stats);
    batch.Send(SendStep::kServerStats, session.link(i), question.mark);
  }
  co_await batch;
}

net::Task<void> AskSilent(Session& session,
                          const std::deque<Question>& questions,
                          std::map<int, Stranger>& strangers) {
  Batch batch(session.runtime());
  for (int i = 0; i < session.members(); ++i) {
    const Question& asked = questions[static_cast<std::size_t>(i)];
    if (asked.stats.outcome == net::Outcome::kOk) continue;
    Stranger& stranger = strangers[i];
    stranger.link = session.NewStrangerLink(i);
    stranger.stats.verb = net::Verb::kStats;
    batch.Send(SendStep::kServerStats, *stranger.link, stranger.stats);
  }
  co_await batch;
}

void SetFacts(const net::ServerFacts& facts, ServerInfo& server) {
  server.version = facts.version;
  server.item_size_max = facts.item_size_max;
  server.evictions = facts.evictions;
}

}  // namespace

// The view is the one of when its lease was got, at which moment it was in
// force; the servers are asked behind that. So what both show was true then.
net::Task<Result<ClusterInfo>> Store::Servers() {
  const Result<bool> unused = co_await IsUnused(session_);
  if (!unused) co_return Fail(unused.error());
  if (!*unused) {
    Status status = co_await EnsureView(session_);
    if (!status.ok()) co_return Fail(std::move(status));
  }
  const std::shared_ptr<const View> view = session_.view();
  std::deque<Question> questions;
  co_await AskAll(session_, questions);
  std::map<int, Stranger> strangers;
  co_await AskSilent(session_, questions, strangers);
  ClusterInfo info;
  info.time = session_.WallMicros() / kMicrosPerSecond;
  if (view) {
    info.epoch = view->epoch;
    info.max_failures = view->max_failures;
  }
  for (int i = 0; i < session_.members(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const net::ServerLink& link = session_.link(i);
    ServerInfo server;
    server.name = session_.member_name(i);
    server.slot = server.name;
    server.weight = link.endpoint().weight;
    server.reachable = HasItsMemory(session_, i, questions[at], view.get());
    server.last_error = link.last_error();
    server.answers = questions[at].stats.outcome == net::Outcome::kOk;
    if (server.answers) SetFacts(link.facts(), server);
    if (const auto other = strangers.find(i); other != strangers.end()) {
      server.answers = other->second.answers();
      const bool all = other->second.stats.outcome == net::Outcome::kOk;
      if (all) SetFacts(other->second.link->facts(), server);
    }
    if (view) {
      const Member& member = view->members[at];
      server.slot = member.name;
      server.state = member.shown_state();
      server.incarnation = member.incarnation;
      server.since = member.since;
    }
    info.servers.push_back(std::move(server));
  }
  co_return info;
}

}  // namespace ers::store
