#include "jobs/member_filler.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <deque>

#include "store/batch.h"
#include "store/keys.h"
#include "store/view_changer.h"
#include "store/view_records.h"

namespace ers::proxy {

using net::Task;

namespace {

// What cannot be filled as others are silent is not listed again and again.
constexpr net::Duration kLeastPause = std::chrono::seconds(1);
constexpr net::Duration kMostPause = std::chrono::seconds(10);

}  // namespace

void MemberFiller::Look() {
  const net::TimePoint now = host_.session.runtime().Now();
  if (at_work_ || host_.stopping || now < not_before_) return;
  at_work_ = true;
  net::Spawn(Work());
}

void MemberFiller::Stop() { stop_.Stop(); }

// One word to every server, so that this loop's connections tell who was
// restarted though nobody asked it for anything.
Task<void> MemberFiller::CallAll() {
  store::Session& session = host_.session;
  std::deque<net::Request> requests(
      static_cast<std::size_t>(session.members()));
  store::Batch batch(session.runtime());
  for (int i = 0; i < session.members(); ++i) {
    net::Request& request = requests[static_cast<std::size_t>(i)];
    request.verb = net::Verb::kHead;
    request.key = store::kViewKey;
    request.uncounted = true;
    batch.Submit(session.link(i), request);
  }
  co_await batch;
}

// A process before this one may have left somebody half filled. A cluster that
// nobody has used yet is none of a filler's.
Task<bool> MemberFiller::KnowView() {
  store::Session& session = host_.session;
  if (session.view()) co_return true;
  const Result<store::ViewRecords> records =
      co_await store::ReadViewRecords(session);
  if (!records || !records->best) co_return false;
  const Status status = co_await store::EnsureView(session, 0);
  co_return status.ok();
}

Task<void> MemberFiller::Work() {
  unfinished_ = false;
  const bool known = co_await KnowView();
  if (known) co_await FillAll();
  pause_ = unfinished_ ? std::clamp(2 * pause_, kLeastPause, kMostPause)
                       : net::Duration();
  not_before_ = host_.session.runtime().Now() + pause_;
  at_work_ = false;
}

Task<void> MemberFiller::FillAll() {
  co_await CallAll();
  store::Session& session = host_.session;
  for (int i = 0; i < session.members() && !host_.stopping; ++i) {
    const bool refused =
        session.link(i).state() == net::ServerLink::State::kRefused;
    MemberState state = session.view()->members[i].state;
    if (refused && state != MemberState::kDown) {
      (void)co_await store::MarkDown(session, i, session.link(i).last_error());
      state = session.view()->members[i].state;
    }
    if (state != MemberState::kFull) co_await Fill(i);
  }
}

Task<void> MemberFiller::Fill(int member) {
  store::FillTerms terms;
  terms.stop = &stop_;
  const Result<store::FillReport> report =
      co_await host_.store.Fill(member, terms);
  const std::string& name = host_.session.member_name(member);
  if (report) {
    spdlog::info("{} is filled: {} blocks of {} objects; {} objects are lost",
                 name, report->blocks, report->objects, report->lost);
  } else {
    // It is tried again, and the view says that it is out.
    const store::View& view = *host_.session.view();
    unfinished_ |= view.members[member].state == MemberState::kFilling;
    spdlog::debug("{} is not filled: {}", name, report.error().message());
  }
}

}  // namespace ers::proxy
