#include "store/upkeep/slow_servers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>

#include "store/membership/batch.h"
#include "store/membership/view_changer.h"
#include "store/membership/view_checks.h"

namespace ers::store {
namespace {

using net::Duration;
using net::Task;

// A late answer now and then is no slow server: of so many, one after the
// other, so many have to be late.
constexpr int kRounds = 8;
constexpr int kLateRounds = 6;

// A server that returns is asked for some 20 KB at once: a thin link shows. Of
// so many answers one may be late or missing. All but that must be prompt: the
// other one may stand still now and then, which any of many processes may see.
constexpr int kReturnRounds = 5;
constexpr int kLateAtReturn = 1;
constexpr int kReturnRequests = 8;

double Milliseconds(Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

struct Question {
  net::Verb verb;
  int times;  // sent together
};
constexpr Question kShort{net::Verb::kVersion, 1};
constexpr Question kLong{net::Verb::kStats, kReturnRequests};

Task<void> TimeAnswer(Session& session, net::ServerLink& link,
                      Question question, std::optional<Duration>& took,
                      net::Latch& latch) {
  const net::TimePoint begun = session.runtime().Now();
  std::deque<net::Request> requests(static_cast<std::size_t>(question.times));
  Batch batch(session.runtime());
  for (net::Request& request : requests) {
    request.verb = question.verb;
    batch.Send(SendStep::kAskSpeed, link, request);
  }
  co_await batch;
  took.reset();
  if (std::all_of(requests.begin(), requests.end(),
                  [](const net::Request& request) {
                    return Answered(request.outcome);
                  })) {
    took = session.runtime().Now() - begun;
  }
  latch.CountDown();
}

// Both at the same time, so that what this process, or the network, is late
// with is late for both.
struct Pair {
  std::optional<Duration> one;
  std::optional<Duration> other;
};
Task<Pair> TimeBoth(Session& session, net::ServerLink& one,
                    net::ServerLink& other, Question question) {
  Pair pair;
  net::Latch latch(session.runtime(), 2);
  net::Spawn(TimeAnswer(session, one, question, pair.one, latch));
  net::Spawn(TimeAnswer(session, other, question, pair.other, latch));
  co_await latch;
  co_return pair;
}

// The last pair where it is slow; else empty.
Task<std::optional<Pair>> Compare(Session& session, int member, int ordinary) {
  int late = 0;
  Pair last;
  for (int i = 0; i < kRounds; ++i) {
    const Pair pair = co_await TimeBoth(session, session.link(member),
                                        session.link(ordinary), kShort);
    // Silence is another matter.
    if (!pair.one || !pair.other) co_return std::nullopt;
    if (SlowServers::IsOdd(*pair.one, *pair.other)) {
      ++late;
      last = pair;
    } else if (i - late >= kRounds - kLateRounds) {
      co_return std::nullopt;
    }
  }
  co_return last;
}

// All members but this one are in sync, and answer.
bool OthersServe(Session& session, int member) {
  const std::shared_ptr<const View> view = session.view();
  for (int i = 0; i < session.members(); ++i) {
    if (i == member) continue;
    const net::ServerLink& link = session.link(i);
    if (!view->members[static_cast<std::size_t>(i)].InSync() ||
        link.state() != net::ServerLink::State::kUp ||
        link.silence().IsSilent()) {
      return false;
    }
  }
  return true;
}

bool MayLeave(Session& session, int member) {
  const std::shared_ptr<const View> view = session.view();
  return view->members[static_cast<std::size_t>(member)].InSync() &&
         view->max_failures > 0 && OthersServe(session, member);
}

int AnotherInSync(Session& session, int member) {
  const std::shared_ptr<const View> view = session.view();
  std::vector<int> others;
  for (int i = 0; i < session.members(); ++i) {
    if (i != member && view->members[static_cast<std::size_t>(i)].InSync()) {
      others.push_back(i);
    }
  }
  if (others.empty()) return -1;
  return others[session.runtime().Random() % others.size()];
}

}  // namespace

// --- What is slow -----------------------------------------------------------

int SlowServers::Ordinary(const AnswerTimes& times) {
  std::vector<int> members;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i]) members.push_back(static_cast<int>(i));
  }
  if (members.size() < 3 || 2 * (members.size() - 1) < times.size()) return -1;
  const auto middle = members.begin() + (std::ssize(members) - 1) / 2;
  std::nth_element(members.begin(), middle, members.end(),
                   [&times](int one, int other) {
                     return times[static_cast<std::size_t>(one)] <
                            times[static_cast<std::size_t>(other)];
                   });
  return *middle;
}

bool SlowServers::IsOdd(Duration took, Duration others) {
  return took >= std::max(kLeast, kTimesOthers * others);
}

SlowServers::Member& SlowServers::At(int member) {
  const auto at = static_cast<std::size_t>(member);
  if (at >= members_.size()) members_.resize(at + 1);
  return members_[at];
}

void SlowServers::NoteTime(int member, std::optional<Duration> took) {
  const auto at = static_cast<std::size_t>(member);
  if (at >= times_.size()) times_.resize(at + 1);
  times_[at] = took;
}

bool SlowServers::Note(int member, bool is_slow) {
  Member& of = At(member);
  of.slow_scans = is_slow ? of.slow_scans + 1 : 0;
  return of.slow_scans >= kForLong;
}

bool SlowServers::IsSuspect(int member) const {
  const auto at = static_cast<std::size_t>(member);
  return at < members_.size() && members_[at].slow_scans > 0;
}

bool SlowServers::MayTest(int member, net::TimePoint now) const {
  const auto at = static_cast<std::size_t>(member);
  return at >= members_.size() || now >= members_[at].test_at;
}

bool SlowServers::NoteTest(int member, bool is_slow, net::TimePoint now) {
  Member& of = At(member);
  of.slow_scans = 0;
  if (!is_slow) {
    of.pause = {};
    of.test_at = {};
    return false;
  }
  const bool first = of.pause == Duration();
  of.pause = std::clamp(2 * of.pause, kFirstPause, kMaxPause);
  of.test_at = now + of.pause;
  return first;
}

// --- Members ----------------------------------------------------------------

bool AnotherIsMissing(Session& session, int member) {
  const std::shared_ptr<const View> view = session.view();
  for (int i = 0; i < session.members(); ++i) {
    if (i == member) continue;
    const net::ServerLink::State state = session.link(i).state();
    if (!view->members[static_cast<std::size_t>(i)].InSync() ||
        state == net::ServerLink::State::kFailed ||
        state == net::ServerLink::State::kRefused) {
      return true;
    }
  }
  return false;
}

Task<void> LeaveSlow(Session& session, const std::vector<int>& asked,
                     SlowServers& slow) {
  const std::shared_ptr<const View> view = session.view();
  for (int i = 0; i < session.members(); ++i) {
    const bool in_sync = view->members[static_cast<std::size_t>(i)].InSync();
    if (!in_sync) slow.NoteTime(i, std::nullopt);
  }
  AnswerTimes times = slow.times();
  times.resize(view->members.size());
  const int ordinary = SlowServers::Ordinary(times);
  if (ordinary < 0) co_return;
  const Duration usual = *times[static_cast<std::size_t>(ordinary)];
  for (const int member : asked) {
    const auto& took = times[static_cast<std::size_t>(member)];
    std::optional<Pair> pair;
    if (took && SlowServers::IsOdd(*took, usual))
      pair = co_await Compare(session, member, ordinary);
    const bool for_long = slow.Note(member, pair.has_value());
    if (!for_long || !MayLeave(session, member)) continue;
    (void)co_await MarkDown(
        session, member,
        fmt::format("slow: it answers in {:.1f} ms, others in {:.1f} ms",
                    Milliseconds(*pair->one), Milliseconds(*pair->other)));
  }
}

Task<Status> TestReturn(Session& session, int member, SlowServers& slow) {
  const int other = AnotherInSync(session, member);
  if (other < 0 || AnotherIsMissing(session, member)) co_return Status();
  if (!slow.MayTest(member, session.runtime().Now())) {
    co_return Status(StatusCode::kUnavailable,
                     fmt::format("{} answers again, and is slow",
                                 session.member_name(member)));
  }
  const std::unique_ptr<net::ServerLink> link = session.NewStrangerLink(member);
  // The first question of all includes the handshake.
  Pair pair = co_await TimeBoth(session, *link, session.link(other), kShort);
  if (!pair.one) co_return NoReturn(session, *link);
  int late = 0;
  std::string seen = "does not answer all that it is asked";
  for (int i = 0; i < kReturnRounds && late <= kLateAtReturn; ++i) {
    pair = co_await TimeBoth(session, *link, session.link(other), kLong);
    if (!pair.other) {
      co_return Status(
          StatusCode::kUnavailable,
          fmt::format("{} answers again; how fast is not known, as {} does not",
                      session.member_name(member), session.member_name(other)));
    }
    if (pair.one && !SlowServers::IsOdd(*pair.one, *pair.other)) continue;
    ++late;
    if (!pair.one) continue;
    seen = fmt::format("takes {:.1f} ms for what others do in {:.1f} ms",
                       Milliseconds(*pair.one), Milliseconds(*pair.other));
  }
  const bool is_slow = late > kLateAtReturn;
  const bool is_new = slow.NoteTest(member, is_slow, session.runtime().Now());
  if (!is_slow) co_return Status();
  Status status(
      StatusCode::kUnavailable,
      fmt::format("{} answers again, and stays out as long as it is slow: it "
                  "{}",
                  session.member_name(member), seen));
  if (is_new) {
    session.cluster().Log(LogLevel::kWarning, std::string(status.message()));
  }
  co_return status;
}

}  // namespace ers::store
