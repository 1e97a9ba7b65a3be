#include "store/membership/view_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "store/format/keys.h"
#include "store/format/planted_bug.h"
#include "store/format/record.h"
#include "store/format/view_order.h"
#include "store/membership/batch.h"
#include "store/membership/slots.h"
#include "store/membership/spare_room.h"
#include "store/membership/view_checks.h"
#include "store/membership/view_links.h"
#include "store/support/wakeup.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

struct Reading {
  ViewRecords records;
  std::string text;  // of the best
  // That have shown the best, in `records`.
  std::map<int, std::string>* members = nullptr;
  Status failure;
  int left = 0;
  std::shared_ptr<Wakeup> enough;
};

bool IsInSync(const View& view, int member) {
  const auto at = static_cast<std::size_t>(member);
  return at < view.members.size() &&
         view.members[at].state == MemberState::kInSync;
}

// By that the record need not be read again where its stamp has not moved.
void NoteStamp(Session& session, const net::ServerLink& link,
               const net::Request& read) {
  MemberStamps& stamps = session.cluster().stamps;
  if (read.outcome != Outcome::kOk || read.connection != link.connection()) {
    return;
  }
  const Result<DecodedView> shown = stamps.Decode(read.value);
  if (!shown) return;
  stamps.SetView(link.member(), link.facts().boot_mark,
                 {read.item_token, shown->view->epoch, shown->hash});
}

void Note(Session& session, int member, const net::Request& request,
          Reading& reading) {
  if (request.outcome == Outcome::kMiss) {
    ++reading.records.answered;
    return;
  }
  if (request.outcome != Outcome::kOk) {
    reading.records.silent +=
        (reading.records.silent.empty() ? "" : "; ") + session.Describe(member);
    return;
  }
  const std::string& mark = session.link(member).facts().boot_mark;
  std::optional<View>& best = reading.records.best;
  // The same on most: a record of many members is long to read.
  if (best && request.value == reading.text) {
    ++reading.records.answered;
    reading.members->emplace(member, mark);
    if (IsInSync(*best, member)) ++reading.records.holders;
    return;
  }
  const Result<DecodedView> shown =
      session.cluster().stamps.Decode(request.value);
  if (shown) {
    ++reading.records.answered;
    auto& members = reading.records.shown[request.value];
    members.emplace(member, mark);
    if (!best || best->epoch < shown->view->epoch) {
      best = *shown->view;
      reading.text = request.value;
      reading.members = &members;
      reading.records.holders = 0;
    }
    if (request.value == reading.text && IsInSync(*best, member)) {
      ++reading.records.holders;
    }
  } else if (IsOtherFormat(shown)) {
    reading.failure = OtherFormat(session.link(member), shown.error());
  } else {
    // An empty stub or a broken record is as good as none.
    ++reading.records.answered;
  }
}

Task<void> ReadOne(Session& session, int member,
                   std::shared_ptr<Reading> reading) {
  net::Request request;
  request.verb = net::Verb::kGet;
  request.key = kViewKey;
  Batch batch(session.runtime());
  batch.Send(SendStep::kReadView, session.link(member), request);
  co_await batch;
  Note(session, member, request, *reading);
  NoteStamp(session, session.link(member), request);
  const std::optional<View>& best = reading->records.best;
  const bool enough = best && reading->records.answered >= best->Quorum();
  if (--reading->left == 0 || enough) reading->enough->Callback()();
}

// How many took a record, or would have, and why others did not.
struct Held {
  int count = 0;
  std::string silent;
  Status other_format;  // of a record, which stays

  void Miss(const Session& session, const net::ServerLink& link) {
    if (!silent.empty()) silent += "; ";
    silent += session.Describe(link);
  }
};

// A record to be stored.
struct Record {
  const View& view;
  const StoredAs as;
  const std::set<std::string>& never_in_force;
  const std::string text = EncodeView(view);
};

// Does the view of that text, on the member, stay? On one in sync it may be in
// force, whatever its epoch.
bool Stays(Session& session, int member, const View& there,
           const std::string& text, const Record& record) {
  const View& view = record.view;
  if (record.as == StoredAs::kFirst || there.epoch >= view.epoch) return true;
  const MemberState state =
      view.members[static_cast<std::size_t>(member)].state;
  return record.as == StoredAs::kNext && state == MemberState::kInSync &&
         SameSlots(there, view) &&
         !Includes(view, there, session.WallMicros()) &&
         !record.never_in_force.contains(text) &&
         !Planted(PlantedBug::kPassesOverView) &&
         !Planted(PlantedBug::kSameIncarnation);
}

// Opens once enough members have answered. A record that fewer took could come
// into force nowhere, and would keep all processes from the view in force.
class Gate {
 public:
  explicit Gate(int needed) : needed_(needed) {}

  // One more is asked.
  void Add() { ++asked_; }

  // It answered, or did not: is the record to be stored there?
  Task<bool> Pass(net::Runtime& runtime, bool answered) {
    --asked_;
    if (answered) --needed_;
    if (needed_ > 0 && asked_ > 0) {
      net::Latch latch(runtime, 1);
      waiting_.push_back(&latch);
      co_await latch;
    } else {
      for (net::Latch* latch : std::exchange(waiting_, {})) latch->CountDown();
    }
    if (!answered) co_return false;
    co_return needed_ <= 0;
  }

 private:
  int needed_;
  int asked_ = 0;
  std::vector<net::Latch*> waiting_;
};

// Replaces the record on one member, whatever others do to it meanwhile, unless
// what they put there is as new, or says more.
Task<void> StoreOne(Session& session, int member, net::ServerLink& link,
                    const Record& record, Gate& gate, Held& held,
                    std::optional<View>& newer) {
  const std::string& text = record.text;
  const iovec body{const_cast<char*>(text.data()), text.size()};
  net::Request write;
  net::Request written;
  bool passed = false;
  do {
    net::Request read;
    read.verb = net::Verb::kVivify;
    read.key = kViewKey;
    read.exptime = 0;
    Batch batch(session.runtime());
    batch.Send(SendStep::kPrepareView, link, read);
    co_await batch;
    const bool answered =
        read.outcome == Outcome::kOk || read.outcome == Outcome::kCreated;
    const Result<DecodedView> there =
        session.cluster().stamps.Decode(read.value);
    const bool other_format = answered && IsOtherFormat(there);
    if (!passed) {
      passed = co_await gate.Pass(session.runtime(), answered && !other_format);
    }
    if (!answered) break;
    if (other_format) {
      held.other_format = OtherFormat(link, there.error());
      co_return;
    }
    // Another process is taking it over at the same time.
    if (read.value == text) {
      NoteStamp(session, link, read);
      ++held.count;
      co_return;
    }
    if (there && Stays(session, member, *there->view, read.value, record)) {
      if (!newer || newer->epoch < there->view->epoch) newer = *there->view;
      co_return;
    }
    if (!passed) {
      ++held.count;
      co_return;
    }
    write.verb = net::Verb::kCas;
    write.key = kViewKey;
    write.token = read.item_token;
    write.only_connection = read.connection;
    write.body = {&body, 1};
    written.key = kViewKey;
    written.only_connection = read.connection;
    co_await WriteRecord(session, SendStep::kWriteView, link, write, &written);
  } while (write.outcome == Outcome::kExists);
  if (write.outcome == Outcome::kOk) {
    NoteStamp(session, link, written);
    ++held.count;
  } else {
    held.Miss(session, link);
  }
}

Task<void> StoreOnLatch(Task<void> store, net::Latch& latch) {
  co_await std::move(store);
  latch.CountDown();
}

// Stores it on every member that has that state in its view, all at once.
Task<void> StoreOnAll(Session& session, ViewLinks& links, const Record& record,
                      MemberState state, Gate gate, Held& held,
                      std::optional<View>& newer) {
  net::Latch latch(session.runtime());
  std::vector<int> members;
  for (int i = 0; i < session.members(); ++i) {
    if (record.view.members[i].state != state) continue;
    members.push_back(i);
    gate.Add();
  }
  latch.Add(static_cast<int>(members.size()));
  for (const int i : members) {
    Task<void> store =
        StoreOne(session, i, links.At(i), record, gate, held, newer);
    net::Spawn(StoreOnLatch(std::move(store), latch));
  }
  co_await latch;
}

}  // namespace

Task<Result<ViewRecords>> ReadViewRecords(Session& session) {
  auto reading = std::make_shared<Reading>();
  reading->left = session.members();
  reading->enough = Wakeup::New(session.runtime());
  const std::shared_ptr<Wakeup> enough = reading->enough;
  for (int i = 0; i < session.members(); ++i) {
    session.Detach(ReadOne(session, i, reading));
  }
  // Every request has a deadline of its own; this one is out of reach.
  co_await enough->Wait(session.cluster().options.operation_timeout);
  if (!reading->failure.ok()) co_return Fail(reading->failure);
  co_return reading->records;
}

Task<Result<ViewRecords>> FindViewRecords(Session& session) {
  std::optional<View> newest;
  const Result<View> filed = session.cluster().state_file.Read();
  std::uint64_t placed = 0;  // by the view of this epoch
  for (;;) {
    Result<ViewRecords> records = co_await ReadViewRecords(session);
    if (!records) co_return records;
    if (newest && (!records->best || records->best->epoch < newest->epoch)) {
      records->best = newest;
      records->holders = 0;
    }
    newest = records->best;
    const View* by = newest ? &*newest : nullptr;
    if (filed && (by == nullptr || by->epoch < filed->epoch)) by = &*filed;
    const bool reconciled =
        by == nullptr || by->epoch <= placed || session.view();
    if (reconciled || !CheckMembers(session, session.cluster(), *by).ok()) {
      co_return records;
    }
    if (!session.PlaceMembers(*by)) co_return records;
    placed = by->epoch;
  }
}

Status NoneKnows(const ViewRecords& records, int members) {
  if (records.answered == 0) {
    return {StatusCode::kUnavailable,
            fmt::format("none of the {} servers can be used ({}): start them, "
                        "or give the list of those that are there",
                        members, records.silent)};
  }
  return {StatusCode::kUnavailable,
          fmt::format("{} of {} servers do not answer ({}), and the others "
                      "know of no objects: start what does not answer",
                      members - records.answered, members, records.silent)};
}

Status TooFewAnswer(const ViewRecords& records, int members, int needed) {
  return {
      StatusCode::kUnavailable,
      fmt::format("{} of {} servers do not answer ({}): at least {} must: "
                  "start what does not answer, with or without its "
                  "memory, or give its place to another: ersctl recover",
                  members - records.answered, members, records.silent, needed)};
}

Task<Status> StoreViewRecord(Session& session, const View& view, StoredAs as,
                             std::optional<View>& newer,
                             const std::set<std::string>& never_in_force) {
  if (!session.view()) session.PlaceMembers(view);
  ViewLinks links(session, view);
  const Record record{view, as, never_in_force};
  Held held;
  // One that is in force is to reach each member.
  const Gate gate(as == StoredAs::kAgain ? 0 : view.Quorum());
  co_await StoreOnAll(session, links, record, MemberState::kInSync, gate, held,
                      newer);
  if (!held.other_format.ok()) {
    // Whatever others hold cannot be built upon without this one.
    newer.reset();
    co_return held.other_format;
  }
  if (newer) {
    co_return Status(StatusCode::kUnavailable,
                     "another process changed the view at the same time");
  }
  if (held.count < view.Quorum()) {
    co_return Status(
        StatusCode::kUnavailable,
        fmt::format("only {} of the {} servers needed take the new view ({}): "
                    "start what does not answer",
                    held.count, view.Quorum(), held.silent));
  }
  // What those have counts for nothing, and may be of before they left: where
  // it has a higher epoch, this view is to get one above that.
  std::optional<View> left;
  co_await StoreOnAll(session, links, record, MemberState::kBackfilling,
                      Gate(0), held, left);
  if (!held.other_format.ok()) co_return held.other_format;
  if (left) {
    newer = view;
    newer->epoch = left->epoch;
    co_return Status(StatusCode::kUnavailable,
                     "a server that is backfilled has a later view");
  }
  co_return Status();
}

Task<Result<Base>> FindBase(Session& session, View own, View met,
                            std::uint64_t tried) {
  const Result<ViewRecords> records = co_await ReadViewRecords(session);
  if (!records) co_return Fail(records.error());
  std::vector<ShownView> all;
  for (View* view : {&own, &met}) {
    std::string text = EncodeView(*view);
    if (!records->shown.contains(text)) {
      all.push_back({*view, std::move(text), {}});
    }
  }
  for (const auto& [text, members] : records->shown) {
    Result<View> view = DecodeView(text);
    if (!view || !SameSlots(own, *view)) continue;
    all.push_back({std::move(*view), text, members});
  }
  Base base = ChooseBase(all, tried, session.WallMicros());
  if (Planted(PlantedBug::kPassesOverView)) {
    met.epoch = std::max(base.view.epoch, tried + 1);
    base.view = std::move(met);
  }
  Status tolerated = CheckTolerated(session, base.view);
  if (!tolerated.ok()) co_return Fail(std::move(tolerated));
  co_return base;
}

}  // namespace ers::store
